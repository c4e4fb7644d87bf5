"""The command ``trace``: a decoder's step in the profiler, joined to its bundles."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
from collections import Counter
from itertools import pairwise
from pathlib import Path

import jsonschema
import pytest
import torch
from attrs import frozen
from models.architectures import WIDTH, WORDS, words
from process import run_python
from torch.profiler import ProfilerActivity, profile

import torch_spyre_provenance
from torch_spyre_provenance.cli import main
from torch_spyre_provenance.commands.conventions import ExitCode

MARK = "launch_jobplan:"
DOC = Path(__file__).parents[1] / "docs" / "trace.md"


@frozen(kw_only=True)
class Profiled:
    """A step of a decoder that was profiled.

    Attributes:
        bundles: The directory of the bundles: the prompt's, and the step's.
        names: Names of the bundles' directories, in the order of their compiles.
        trace: The profiler's trace of one step.
    """

    bundles: Path
    names: tuple[str, ...]
    trace: Path

    @property
    def events(self) -> list[dict]:
        """Return the events of the trace."""
        return json.loads(self.trace.read_text())["traceEvents"]

    @property
    def launches(self) -> list[dict]:
        """Return the events that ran kernels."""
        return [each for each in self.events if each["name"].startswith(MARK)]


@pytest.fixture(scope="module")
def profiled(tmp_path_factory) -> Profiled:
    """A small Llama that has read a prompt says the next word, under the profiler."""
    transformers = pytest.importorskip("transformers")
    root = tmp_path_factory.mktemp("profiled")
    torch._dynamo.reset()
    config = transformers.LlamaConfig(
        vocab_size=WORDS,
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=32,
    )
    model = transformers.LlamaForCausalLM(config).eval()
    compiled = torch.compile(model, fullgraph=True)
    cache = transformers.StaticCache(config=config, max_cache_len=16)

    def step(text: torch.Tensor, position: list[int]) -> None:
        compiled(
            input_ids=text.to("spyre"),
            past_key_values=cache,
            cache_position=torch.tensor(position).to("spyre"),
            use_cache=True,
        )

    with (
        torch_spyre_provenance.record(out=root / "bundles", strict=True) as recording,
        torch.no_grad(),
    ):
        model.to("spyre")
        step(words(1, 4), [0, 1, 2, 3])
        step(words(1, 1), [4])
        with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler:
            step(words(1, 1), [5])
    profiler.export_chrome_trace(str(root / "trace.json"))
    return Profiled(
        bundles=root / "bundles",
        names=tuple(done.path.name for done in recording.bundles),
        trace=root / "trace.json",
    )


def run(capsys, *args: object) -> dict:
    """Run the command and return what it prints as JSON."""
    assert ExitCode.OK == main(["trace", *map(str, args), "--json"])
    return json.loads(capsys.readouterr().out)


def nanoseconds(events: list[dict]) -> int:
    """Return the sum of the durations of some events."""
    return sum(round(each["dur"] * 1000) for each in events)


def test_every_kernel_event_of_a_decoders_step_is_joined(capsys, profiled):
    """All of them, to the compile of the step and not to that of the prompt."""
    facts = run(capsys, profiled.bundles, profiled.trace)
    launched = Counter(each["name"].removeprefix(MARK) for each in profiled.launches)
    prompt, step = profiled.names

    assert launched
    assert facts["unjoined"] == []
    assert facts["events"] == facts["joined"]["events"] == launched.total()
    assert {Path(each["bundle"]).name for each in facts["kernels"]} == {step}
    assert launched == Counter(
        {each["kernel"]: each["events"] for each in facts["kernels"]}
    )
    assert prompt != step


def test_the_prompts_bundle_alone_explains_nothing_wrongly(capsys, profiled):
    """Kernels of the same name ran in another compile, and so have no line."""
    facts = run(capsys, profiled.bundles / profiled.names[0], profiled.trace)

    assert facts["kernels"] == []
    assert sum(each["events"] for each in facts["unjoined"]) == len(profiled.launches)


@pytest.mark.parametrize("method", ["iterations", "ops"])
def test_sums_agree_with_the_trace(capsys, profiled, method):
    """To the nanosecond: by kernel, by line, by module, by event."""
    facts = run(capsys, profiled.bundles, profiled.trace, "--share", method)
    whole = nanoseconds(profiled.launches)

    assert facts["share"] == method
    assert facts["joined"]["host_ns"] == whole
    for rows in ("kernels", "lines", "modules"):
        assert sum(each["host_ns"] for each in facts[rows]) == whole
    root = next(each for each in facts["modules"] if each["module"] == "")
    assert root["inside"]["host_ns"] == whole
    for each in facts["kernels"]:
        own = [e for e in profiled.launches if e["name"] == MARK + each["kernel"]]
        assert each["host_ns"] == nanoseconds(own)


def test_lines_are_those_of_the_model(capsys, profiled):
    """Time ends up in the model's file; nothing is without a line."""
    facts = run(capsys, profiled.bundles, profiled.trace)
    files = {Path(each["file"] or "none").name for each in facts["lines"]}

    assert "modeling_llama.py" in files
    assert "none" not in files


def test_an_annotated_trace_has_only_grown(capsys, profiled, tmp_path):
    """Fields and order stay; each kernel event has its source, module, ops, bundle."""
    out = tmp_path / "annotated.json.gz"
    run(capsys, profiled.bundles, profiled.trace, "--out", out)
    annotated = json.loads(gzip.decompress(out.read_bytes()))["traceEvents"]

    assert len(profiled.events) == len(annotated)
    for before, after in zip(profiled.events, annotated, strict=True):
        added = set(after.get("args", {})) - set(before.get("args", {}))
        is_ours = before["name"].startswith(MARK)
        expected = {"source", "module", "ops", "bundle", "provenance"}
        assert added == (expected if is_ours else set())
        left = {n: v for n, v in after.get("args", {}).items() if n not in added}
        grown = {**after, "args": left} if "args" in after else after
        assert json.dumps(before) == json.dumps(grown)
    first = next(each for each in annotated if each["name"].startswith(MARK))
    assert "modeling_llama.py:" in first["args"]["source"]
    assert first["args"]["bundle"] == str(profiled.bundles / profiled.names[1])
    assert first["args"]["ops"].endswith(("(measured)", "(inferred)"))


READ = """
import sys
import warnings
warnings.simplefilter("ignore")  # it uses what pandas is about to drop
from hta.trace_analysis import TraceAnalysis
for path in sys.argv[1:]:
    frame = TraceAnalysis(trace_files={0: path}).t.get_trace(0)
    print(len(frame), frame["dur"].sum(), file=sys.stderr)
"""


def test_another_analyser_reads_the_annotated_trace(capsys, profiled, tmp_path):
    """HolisticTraceAnalysis finds the same events in both."""
    if importlib.util.find_spec("hta") is None:
        message = "the annotated trace is not read by HolisticTraceAnalysis: not there"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
    out = tmp_path / "annotated.json"
    run(capsys, profiled.bundles, profiled.trace, "--out", out)
    done = run_python(READ, profiled.trace, out)
    before, after = done.stderr.splitlines()[-2:]

    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stderr.splitlines() if line.count(" ") == 1]
    assert len(set(rows)) == 1, (before, after)


SPEEDSCOPE = {
    "type": "object",
    "required": ["$schema", "shared", "profiles", "exporter", "name"],
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "shared": {
            "properties": {
                "frames": {
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string"},
                            "file": {"type": "string"},
                            "line": {"type": "integer"},
                        },
                        "additionalProperties": False,
                    }
                }
            },
            "required": ["frames"],
        },
        "profiles": {
            "minItems": 1,
            "items": {
                "required": [
                    "type",
                    "name",
                    "unit",
                    "startValue",
                    "endValue",
                    "samples",
                    "weights",
                ],
                "properties": {
                    "type": {"const": "sampled"},
                    "name": {"type": "string"},
                    "startValue": {"const": 0},
                    "endValue": {"type": "integer"},
                    "unit": {"const": "nanoseconds"},
                    "samples": {"items": {"items": {"type": "integer", "minimum": 0}}},
                    "weights": {"items": {"type": "integer", "minimum": 0}},
                },
                "additionalProperties": False,
            },
        },
    },
}
"""The part of speedscope's format that we write, from its documentation."""


def test_the_flame_graph_is_speedscopes(capsys, profiled, tmp_path):
    """Module, inner module, line, kernel; the whole is the time of the trace."""
    out = tmp_path / "flame.speedscope.json"
    run(capsys, profiled.bundles, profiled.trace, "--flame", out)
    document = json.loads(out.read_text())
    jsonschema.validate(document, SPEEDSCOPE)
    (flame,) = document["profiles"]
    names = [frame["name"] for frame in document["shared"]["frames"]]
    stacks = [[names[n] for n in sample] for sample in flame["samples"]]

    assert sum(flame["weights"]) == flame["endValue"] == nanoseconds(profiled.launches)
    assert len(flame["samples"]) == len(flame["weights"])
    for stack in stacks:
        root, *modules, place, kernel = stack
        assert root == "(the root)"
        assert all(b.startswith(f"{a}.") for a, b in pairwise(modules))
        assert ":" in place
        assert kernel.startswith("sdsc_")


def test_the_text_has_the_method_and_the_most_expensive(capsys, profiled):
    """What is an estimate says so."""
    code = main(["trace", str(profiled.bundles), str(profiled.trace)])
    printed = capsys.readouterr().out
    n = len(profiled.launches)

    assert code == ExitCode.OK
    assert printed.startswith(f"{n} of {n} kernel events joined\nby kernel-name {n}")
    assert "time by kernel\n" in printed
    assert (
        "time by line, shared among a kernel's ops by the size of their iteration "
        "spaces: an estimate\n"
    ) in printed


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Profiled:
    """A training step under the profiler: a forward graph, and a backward one."""
    root = tmp_path_factory.mktemp("trained")
    torch._dynamo.reset()
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU())
    with torch_spyre_provenance.record(out=root / "bundles", strict=True) as recording:
        compiled = torch.compile(model.to("spyre"))
        inputs = torch.randn(2, 64).to("spyre")
        compiled(inputs).sum().backward()
        with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiler:
            compiled(inputs).sum().backward()
    profiler.export_chrome_trace(str(root / "trace.json"))
    return Profiled(
        bundles=root / "bundles",
        names=tuple(done.path.name for done in recording.bundles),
        trace=root / "trace.json",
    )


def test_a_training_step_is_joined_to_both_graphs(capsys, trained):
    """They have one compile id; forward and backward are told apart by their kind."""
    facts = run(capsys, trained.bundles, trained.trace)

    assert facts["unjoined"] == []
    assert facts["joined"]["events"] == len(trained.launches)
    assert len({each["bundle"] for each in facts["kernels"]}) == 2


@pytest.mark.parametrize("kind", ["forward", "backward"])
def test_one_graph_alone_explains_its_own_kernels(capsys, trained, kind):
    """The other graph's have no line, and their time is not shared out."""
    (name,) = (each for each in trained.names if kind in each)
    facts = run(capsys, trained.bundles / name, trained.trace)
    bundle = torch_spyre_provenance.load(trained.bundles / name)

    assert {each["kernel"] for each in facts["kernels"]} == {
        kernel.name for kernel in bundle.kernels
    }
    missed = sum(each["host_ns"] for each in facts["unjoined"])
    assert missed + facts["joined"]["host_ns"] == nanoseconds(trained.launches)
    assert missed > 0


def test_no_trace_is_an_error(capsys, profiled):
    """Exit code 1, and one line."""
    code = main(["trace", str(profiled.bundles), __file__])

    assert code == ExitCode.ERROR
    assert capsys.readouterr().err.rstrip().endswith("[trace-format]")


def test_the_docs_show_the_command():
    """What the page says can be typed."""
    assert "spyre-provenance trace bundles/ trace.json --out" in DOC.read_text()
