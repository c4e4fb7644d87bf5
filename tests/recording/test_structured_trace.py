"""PyTorch's trace log, as tlparse shows it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from process import run_python

MAPPINGS = "inductor_provenance_tracking_node_mappings"
STACKS = "inductor_provenance_tracking_kernel_stack_traces"
OPS = "spyre_source_to_kernel"
PROGRAM = """
import sys
import torch
import torch_spyre_provenance
from torch_spyre_provenance.simple_mlp import simple_mlp

model, inputs = simple_mlp()
with torch_spyre_provenance.record(out=sys.argv[1], strict=True), torch.no_grad():
    compiled = torch.compile(model.to("spyre"))
    compiled(*(each.to("spyre") for each in inputs))
"""
LINE_MAPPINGS = re.compile(
    r'<script id="lineMappings" type="application/json">(.*?)</script>', re.DOTALL
)
TAGS = re.compile("<[^>]*>")


def logged(root: Path, cache: Path, **environ: str) -> Path:
    """Compile a model with a trace log, and return that log."""
    done = run_python(
        PROGRAM, root / "bundles", cache=cache, TORCH_TRACE=str(root), **environ
    )
    assert done.returncode == 0, done.stderr
    (log,) = root.glob("*.log")
    return log


def artifacts(log: Path) -> list[tuple[str, str]]:
    """Return the artifacts of a log, each with its payload, in order."""
    found: list[tuple[str, str]] = []
    for row in log.read_text().splitlines():
        if row.startswith("\t") and found:
            name, text = found[-1]
            found[-1] = (name, text + row[1:])
        elif "{" in row:
            record = json.loads(row[row.index("{") :])
            name = record.get("artifact", {}).get("name", next(iter(record)))
            found.append((name, ""))
    return found


def payloads(log: Path, name: str) -> list[str]:
    """Return what a log has of one artifact."""
    return [text for each, text in artifacts(log) if each == name]


@pytest.fixture(scope="module")
def log(tmp_path_factory) -> Path:
    """The log of a fresh compile."""
    root = tmp_path_factory.mktemp("fresh")
    return logged(root, root / "cache")


@pytest.fixture(scope="module")
def warm(log: Path, tmp_path_factory) -> Path:
    """The log of the same program once more, from the caches."""
    return logged(tmp_path_factory.mktemp("warm"), log.parent / "cache")


def test_a_log_has_inductors_artifacts_and_ours(log: Path):
    """Once each, for the one compile; every op has its line."""
    (mappings,), (stacks,), (ops,) = (
        payloads(log, name) for name in (MAPPINGS, STACKS, OPS)
    )
    (kernel,) = json.loads(mappings)["cppCodeToPost"]

    assert list(json.loads(stacks)) == [kernel]
    (rows,) = json.loads(ops).values()
    assert [row["evidence"] for row in rows] == ["measured"] * 5
    assert all(row["lines"][0].split("/")[-1].startswith("simple_mlp") for row in rows)


def test_inductors_own_artifacts_are_left_alone(tmp_path: Path):
    """Where it tracks provenance, there is one mapping, and it is Inductor's."""
    log = logged(tmp_path, tmp_path / "cache", INDUCTOR_PROVENANCE="1")

    assert len(payloads(log, MAPPINGS)) == len(payloads(log, OPS)) == 1


def test_on_a_cache_hit_ours_come_last(log: Path, warm: Path):
    """Inductor's are empty there, and tlparse shows the last ones."""
    hit = [name for name, _ in artifacts(warm) if "cache_hit" in name]

    assert hit
    assert payloads(warm, MAPPINGS)[-1] == payloads(log, MAPPINGS)[0]


def tlparse(log: Path, out: Path) -> Path:
    """Run the real tlparse and return the directory of its output."""
    program = shutil.which("tlparse", path=sysconfig.get_path("scripts"))
    if program is None:
        message = "the trace log is not read: there is no tlparse"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
    command = [program, str(log), "-o", str(out), "--no-browser"]
    command += ["--inductor-provenance", "--strict-compile-id"]
    subprocess.run(command, check=True, capture_output=True)
    return out


@pytest.mark.parametrize("which", ["log", "warm"])
def test_tlparse_maps_our_kernels(which: str, request, tmp_path: Path):
    """Its provenance page leads from each line of a graph to the kernel's call."""
    out = tlparse(request.getfixturevalue(which), tmp_path / "out")
    page = (out / "provenance_tracking_-_0_0_0.html").read_text()
    mappings = json.loads(LINE_MAPPINGS.search(page)[1])
    (code_file,) = (out / "-_0_0_0").glob("inductor_output_code_*.html")
    # The listing begins with a line that the page's numbers do not count.
    code = ["", *TAGS.sub("", code_file.read_text()).splitlines()[1:]]
    (graph_file,) = (out / "-_0_0_0").glob("inductor_post_grad_graph_*.txt")
    graph = ["", *graph_file.read_text().splitlines()]
    post_lines = {int(line) for line in mappings["postToPyCode"]}
    called = [code[int(line)].strip() for line in mappings["pyCodeToPost"]]

    assert any(".run(" in line for line in called), called
    assert all(line.startswith("sdsc_fused_") for line in called)
    assert 7 == len(post_lines)
    assert all(" = torch.ops." in graph[line] for line in post_lines)
    assert post_lines == {int(line) for line in mappings["postToPre"]}
    assert list(out.glob(f"-_0_0_0/{OPS}_*.json"))


COUNTED = (
    PROGRAM.replace(", torch.no_grad():", " as recording, torch.no_grad():")
    + """
counts = {each.point: each.fired for each in recording.observations()}
print(len(recording.bundles), counts["structured_trace"])
"""
)


@pytest.mark.parametrize(("traced", "expected"), [(False, "1 0"), (True, "1 1")])
def test_without_a_log_nothing_is_computed(tmp_path, traced, expected):
    """The artifacts are made when the log asks for them."""
    environ = {"TORCH_TRACE": str(tmp_path)} if traced else {}
    done = run_python(COUNTED, tmp_path, cache=tmp_path / "cache", **environ)

    assert done.stdout.split("\n")[0] == expected
