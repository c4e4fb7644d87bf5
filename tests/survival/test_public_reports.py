"""What people reported of tools like this one, and how it is here.

Each test is named by what goes wrong elsewhere. Reports on caches, processes and shared
files have theirs in `test_cache_table`, `test_processes` and in
`tests/frontends/test_contract.py`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch
from attrs import evolve
from bundle_factory import RECORDED, recorded
from process import run_python
from scenarios.compiling import record_into

from torch_spyre_provenance.analysis.attribution import attribute
from torch_spyre_provenance.analysis.sdsc import LinkState, link_files
from torch_spyre_provenance.analysis.verification import verify
from torch_spyre_provenance.recording.builder import EMPTY_RUN
from torch_spyre_provenance.report import markdown
from torch_spyre_provenance.store import codec, find_bundles, read_bundle

MAIN = """
import torch

def step(x):
    return torch.softmax(x @ x + 1, dim=-1)

if __name__ == "__main__":
    from torch._inductor.utils import run_and_get_code
    x = torch.ones(64, 64).to("spyre")
    _, code = run_and_get_code(torch.compile(step), x)
    print(*code)
"""


@pytest.fixture
def record(tmp_path):
    """Return a function that compiles, runs and records another one."""
    yield record_into(tmp_path / "out")
    torch._dynamo.reset()


def step(x):
    """Compute one thing of several ops."""
    return torch.softmax(x @ x + 1, dim=-1)


def content(value):
    """Return a bundle without the facts of its run."""
    return evolve(value, run=EMPTY_RUN)


def test_an_id_is_the_same_before_and_after_the_generated_module(record):
    """Symbols lose their assumptions on the way through source code; ids do not."""
    (value,) = record(step, torch.ones(64, 128).T @ torch.ones(64, 128))
    assert {LinkState.OWN} == {link.state for link in link_files(value)}
    by_op = [op.handle.id for _, op in value.ops]
    by_file = [link.file.handle.id for link in link_files(value)]
    assert by_op == by_file
    assert () == verify(value)


@pytest.mark.parametrize("name", RECORDED)
def test_an_id_is_exact_for_readers_that_know_floats_alone(name):
    """JavaScript rounds numbers over 53 bits; as text they come through."""
    text = codec.dumps(recorded(name))
    exact = json.loads(text)
    rounded = json.loads(text, parse_int=lambda digits: int(float(digits)))
    assert exact == rounded


def test_equal_kernels_of_one_program_have_directories_of_their_own(record):
    """The same op in other shapes, and in the same shape twice: one to one."""
    shapes = ((64, 64), (128, 128), (64, 64))
    bundles = [value for shape in shapes for value in record(step, torch.ones(shape))]
    directories = [files.directory for b in bundles for files in b.run.files]
    assert len(bundles) == len(set(directories))
    for value in bundles:
        for files in value.run.files:
            made = json.loads(Path(files.directory, "provenance.json").read_text())
            assert value.run.name == made["compile"]["name"]
            assert files.kernel == made["kernel"]


def test_a_kernels_file_names_where_it_comes_from(record):
    """Nobody has to guess from comments in generated code."""
    (value,) = record(step, torch.ones(64, 64))
    for files in value.run.files:
        made = json.loads(Path(files.directory, "provenance.json").read_text())
        assert {__file__} == {
            place["file"] for op in made["ops"] for place in op["locations"]
        }


def test_a_stage_that_is_empty_is_told_and_not_silently_promised():
    """A bundle without a stage says so wherever the stage would stand."""
    value = evolve(recorded("simple_mlp_torch2.13"), loop_ir_pre=None, kernels=None)
    text = markdown.render(value)
    assert "Nothing was observed" in text or "Not reached" in text
    assert 0 == len(attribute(value))


@pytest.mark.slow
def test_looking_changes_no_name(tmp_path):
    """With recording on, the generated code is the plain one and our own lines."""
    program = tmp_path / "program.py"
    program.write_text(MAIN)
    run = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"
    codes = []
    for number, switch in enumerate(("0", "1")):
        done = run_python(
            run,
            program,
            cache=tmp_path / str(number),
            TORCH_SPYRE_PROVENANCE=switch,
            TORCH_SPYRE_PROVENANCE_FRONTEND="reference",
        )
        assert 0 == done.returncode, done.stderr
        codes.append(done.stdout.replace(str(tmp_path / str(number)), ""))
    plain, recording = (code.splitlines() for code in codes)
    added = [row for row in recording if row not in plain]
    assert plain == [row for row in recording if row not in added]
    ours = r"from torch_spyre_provenance.recording|async_compile(?: = recorded|\.prov)"
    assert [] == [row for row in added if not re.match(ours, row)]
    assert 3 == len(added)


def test_the_order_of_compiles_changes_nothing(record):
    """A map is not empty, nor an id another one, because something came first."""

    def other(x):
        return torch.relu(x) * 2

    (alone,) = record(step, torch.ones(64, 64))
    record(other, torch.ones(64, 64))
    (after,) = record(step, torch.ones(64, 64))
    assert content(alone) == content(after)


def test_ops_of_one_line_stay_several(record):
    """Decomposed ops share a line and an ancestor, and are told apart all the same."""
    (value,) = record(step, torch.ones(64, 64))
    places = [(found.kernel, found.path) for found in attribute(value)]
    assert len(places) == len(set(places)) > 3
    lines = {place.where for found in attribute(value) for place in found.locations}
    assert 1 == len(lines)


@pytest.mark.slow
def test_a_program_that_inductor_wrote_out_is_recorded_like_any_other(record, tmp_path):
    """``fx_graph_runnable.py`` compiles the same ops with recording on.

    Its last statement synchronises the device, which torch cannot do for a device that
    is made in Python: what counts is the bundle. The script sets the variables of the
    process that wrote it, so that one must not record.
    """
    program = tmp_path / "program.py"
    program.write_text(MAIN)
    run = (
        "import os, runpy, sys; _, path, place = sys.argv; os.chdir(place); "
        "del sys.argv[1:]; runpy.run_path(path, run_name='__main__')"
    )
    written = run_python(
        run,
        program,
        tmp_path,
        cache=tmp_path / "cache",
        TORCH_COMPILE_DEBUG="1",
        TORCH_SPYRE_PROVENANCE_FRONTEND="reference",
    )
    assert 0 == written.returncode, written.stderr
    (runnable,) = (tmp_path / "torch_compile_debug").rglob("fx_graph_runnable.py")
    again = run_python(
        run,
        runnable,
        tmp_path,
        TORCH_SPYRE_PROVENANCE="1",
        TORCH_SPYRE_PROVENANCE_DIR=str(tmp_path / "again"),
    )
    assert again.returncode == 0 or "synchroniz" in again.stderr, again.stderr
    (path,) = find_bundles(tmp_path / "again")
    (expected,) = record(step, torch.ones(64, 64))
    found = read_bundle(path)
    assert [op.op for _, op in expected.ops] == [op.op for _, op in found.ops]
