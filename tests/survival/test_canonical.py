"""The same compile gives the same bundle, apart from the facts of the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from process import run_python

PROGRAM = """
import sys
import torch
import torch_spyre_provenance

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 128)
        self.second = torch.nn.Linear(128, 64)

    def forward(self, x):
        return x + self.second(torch.relu(self.first(x)))

with torch_spyre_provenance.record(out=sys.argv[1], strict=True) as recording:
    model = torch.compile(Block().half().to("spyre"), backend="spyre_provenance")
    model(torch.ones(4, 64).half().to("spyre")).sum().backward()
print(*(recorded.path for recorded in recording.bundles), sep="\\n")
"""


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    """The bundles of one program compiled in two processes, each with empty caches."""
    source = tmp_path_factory.mktemp("source") / "program.py"
    source.write_text(PROGRAM)
    runs = []
    for seed in ("1", "2"):
        directory = tmp_path_factory.mktemp("run")
        done = run_python(
            "import runpy, sys; del sys.argv[0]; runpy.run_path(sys.argv[0])",
            source,
            directory / "out",
            cache=directory / "cache",
            PYTHONHASHSEED=seed,
        )
        assert 0 == done.returncode, done.stderr
        paths = (Path(row, "bundle.json") for row in done.stdout.split())
        runs.append([path.read_text() for path in paths])
    return runs


def test_two_processes_write_the_same_bytes_but_for_the_run(twice):
    """Neither hash seeds nor addresses, process ids or cache paths leak elsewhere."""
    first, second = ([without_run(text) for text in run] for run in twice)
    assert 2 == len(first)
    assert first == second


def test_the_facts_of_the_run_do_differ(twice):
    """The block that is left out is the one that tells the two apart."""
    for text, other in zip(*twice, strict=True):
        run, another = json.loads(text)["run"], json.loads(other)["run"]
        assert run["pid"] != another["pid"]
        assert run["files"][0]["directory"] != another["files"][0]["directory"]


def without_run(text: str) -> str:
    """Return a bundle's text up to its run facts, and what follows them."""
    before, _, rest = text.partition('\n"run": {')
    _, _, after = rest.partition("\n},\n")
    assert after.startswith('"sources"')
    return before + after
