"""The overhead benchmark: its verdicts, its picture, and the recorder that it has."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import torch
from attrs import evolve

from benchmarks import overhead, overhead_subjects
from benchmarks.overhead_patching import patched
from torch_spyre_provenance.cost import Cost
from torch_spyre_provenance.frontends import reference
from torch_spyre_provenance.measuring.samples import AGAIN, BASE, Sample, compare
from torch_spyre_provenance.measuring.table import summary_table


def samples(*ratios, condition="on", workload="fresh"):
    """Return samples of a condition and of its base that have these ratios."""
    return [
        Sample(
            subject="m", workload=workload, condition=name, round=n, cpu=cpu, wall=cpu
        )
        for n, ratio in enumerate(ratios)
        for name, cpu in ((BASE, 1.0), (condition, ratio))
    ]


def verdict(*groups, most=0.03):
    """Return what is said of some samples."""
    found = compare([sample for group in groups for sample in group])
    return list(overhead.too_costly(found, most))


def test_cost_beyond_limit_and_noise_is_told():
    """Where the whole interval is above both, the line says by how much."""
    (line,) = verdict(samples(1.2, 1.21, 1.22), samples(1, 1, 1, condition=AGAIN))

    assert "m, fresh: at least +20.0%, where 3.0% is most and the noise is" in line


def test_cost_within_limit_is_fine():
    """Nothing is said of what is below the limit."""
    assert [] == verdict(samples(1.01, 1.02, 1.01), samples(1, 1, condition=AGAIN))


def test_cost_within_noise_is_fine():
    """Nothing is said either of what off against off reaches as well."""
    noise = samples(0.9, 1.3, 1.1, condition=AGAIN)

    assert [] == verdict(samples(1.2, 1.2, 1.2), noise)


@pytest.mark.parametrize(("most", "is_told"), [(0.04, True), (0.06, False)])
def test_own_share_beyond_its_limit_is_told(most, is_told):
    """The recorder's own share has a limit of its own, with no noise to hide in."""
    found = [
        evolve(each, own=0.05)
        for workload in ("fresh", "recompile")
        for each in compare(samples(1.0, 1.0, workload=workload))
    ]
    lines = ["m, fresh: recording itself takes 5.0%, where 4.0% is most"]
    assert list(overhead.too_large(found, most)) == (lines if is_told else [])


def test_alternatives_have_no_limit():
    """Only recording, and only compiles, are held against it."""
    assert [] == verdict(samples(1.5, 1.5, condition="patching recorder"))
    assert [] == verdict(samples(1.5, 1.5, workload="runs"))


def test_every_subject_is_known():
    """The names on the command line are those of the models."""
    assert overhead.SUBJECTS == overhead_subjects.SUBJECTS


@pytest.mark.parametrize("name", overhead.SUBJECTS)
def test_subjects_run_on_both_shapes(name):
    """Each model takes both of its inputs, and the shapes differ."""
    model = overhead_subjects.make(name)
    one, other = model.module(*model.inputs), model.module(*model.others)

    assert one.shape != other.shape
    assert one.shape[1:] == other.shape[1:]


def test_subjects_are_the_same_each_time():
    """Two processes measure the same weights."""
    one, other = (overhead_subjects.make("SimpleMLP") for _ in range(2))

    assert torch.equal(one.module.fc1.weight, other.module.fc1.weight)
    assert torch.equal(one.inputs[0], other.inputs[0])


def test_picture_is_reproducible(tmp_path):
    """The same figures give the same file, with a panel's title for each workload."""
    plotting = pytest.importorskip("benchmarks.overhead_plot")
    found = compare(samples(1.1, 1.2) + samples(1.0, 1.1, workload="hit"))
    one, other = tmp_path / "one.svg", tmp_path / "other.svg"
    plotting.plot(found, one)
    plotting.plot(found, other)

    assert one.read_bytes() == other.read_bytes()
    text = "".join(ET.parse(one).getroot().itertext())  # noqa: S314  it is ours
    assert "fresh: processor time against off, %" in text
    assert "hit: processor time against off, %" in text


def step(x):
    """Return something with a product in it."""
    return torch.relu(x @ x)


@pytest.mark.filterwarnings("ignore:dynamo_pgo force disabled")
def test_patching_recorder_captures_all_stages_and_takes_itself_back(tmp_path):
    """It sees what we see, so the comparison is fair, and leaves torch as it was."""
    from torch._inductor import compile_fx

    reference.register()
    torch._dynamo.reset()
    before = compile_fx._recursive_pre_grad_passes
    with patched(tmp_path):
        torch.compile(step)(torch.ones(64, 64).to("spyre"))
        assert before is not compile_fx._recursive_pre_grad_passes
    captured = json.loads((tmp_path / "capture.json").read_text())

    assert before is compile_fx._recursive_pre_grad_passes
    stages = ("pre_grad", "post_grad", "loop_ir_pre", "loop_ir_post", "kernels")
    assert set(stages) == set(captured)
    assert all(captured[stage] for stage in stages)


def test_figures_of_an_earlier_run_are_tabled(tmp_path, capsys):
    """Nothing is measured for it."""
    found = compare(samples(1.5, 1.5))
    cost = Cost(machine={}, samples=(), comparisons=found)
    file = tmp_path / "figures.json"
    file.write_text(json.dumps(cost.facts()))

    assert found == overhead.read_figures(file)
    assert 0 == overhead.main(["--from", str(file)])
    assert "| m | +50.0 % (+50.0 to +50.0) |" in capsys.readouterr().out


ROOT = Path(__file__).parents[2]
SHOWN = {
    ("README.md", "overhead-quiet"): ("on",),
    ("docs/cost.md", "overhead-quiet"): ("off again", "on", "Inductor, level 1"),
    ("docs/cost.md", "overhead"): (
        "off again",
        "on",
        "on, with reports",
        "on, strict",
        "not installed",
        "Inductor, level 1",
        "Inductor, level 2",
        "TORCH_COMPILE_DEBUG",
        "patching recorder",
    ),
}
"""Conditions whose tables a document has, of the figures in a file of a run."""


@pytest.mark.parametrize(("document", "figures"), SHOWN)
def test_documents_have_the_figures_of_the_run(document, figures):
    """The benchmark wrote the file; the tables are made of it."""
    text = (ROOT / document).read_text(encoding="utf-8")
    found = overhead.read_figures(ROOT / "docs" / "figures" / f"{figures}.json")
    for condition in SHOWN[document, figures]:
        assert summary_table(found, condition) in text
