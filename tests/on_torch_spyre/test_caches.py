"""Cache hits on a real torch-spyre, and equal graphs from different lines."""

from __future__ import annotations

import pytest

MODEL = """
import torch

def step(x, y):
    x = torch.relu(x @ y)
    return x + 1.0
"""
N_BLANK = 20
"""Lines by which the second file has everything further down."""

PROGRAM = """
import importlib, json, sys
sys.path.insert(0, sys.argv[2])
import torch
import torch_spyre_provenance
from pathlib import Path
from torch._dynamo.utils import counters
from torch_spyre_provenance.analysis.attribution import attribute
from torch_spyre_provenance.backend import spyre_provenance
from torch_spyre_provenance.errors import LaunchError
from torch_spyre_provenance.store import read_bundle

BACKENDS = {"plain": "inductor", "backend": spyre_provenance}
found = []
with torch_spyre_provenance.record(
    sys.argv[3], torch_spyre=sys.argv[1], strict=True
) as recording:
    for way, backend in BACKENDS.items():
        for name in ("first", "second", "first", "second"):
            torch._dynamo.reset()
            step = importlib.import_module(name).step
            inputs = [torch.ones(64, 64).half().to("spyre") for _ in range(2)]
            try:
                torch.compile(step, backend=backend)(*inputs)
            except LaunchError:
                pass
            done = recording.bundles[-1]
            bundle = done.bundle
            where = [w.frame for each in attribute(bundle) for w in each.locations]
            seen = bundle.all_observations
            found.append({
                "way": way,
                "name": name,
                "cache": bundle.run.cache,
                "lines": sorted({f"{Path(w.file).name}:{w.line}" for w in where}),
                "counts": {str(stage): n for stage, n in bundle.counts().items()},
                "failed": [each.point for each in seen if each.failed],
                "silent": [e.point for e in seen if not e.fired and not e.unavailable],
                "directories": [files.directory for files in bundle.run.files],
                "is_on_disk": read_bundle(done.path) == bundle,
                "ids": [op.handle and op.handle.id for _, op in bundle.ops],
                "ids_on_disk": [
                    file.handle and file.handle.id
                    for files in bundle.run.files for file in files.sdsc
                ],
            })
bypasses = counters["inductor"]["fxgraph_cache_bypass"]
print(json.dumps({"runs": found, "bypasses": bypasses}))
"""


@pytest.fixture(scope="module")
def reports(checkout, json_of, tmp_path_factory):
    """What two processes with one cache recorded, compile by compile.

    On torch 2.13 Inductor leaves every compile of torch-spyre out of its caches, with
    recording and without: it cannot make a key of the decompositions that torch-spyre
    hands it. Then all are misses.
    """
    source = tmp_path_factory.mktemp("source")
    (source / "first.py").write_text(MODEL)
    (source / "second.py").write_text("\n" * N_BLANK + MODEL)
    cache, out = tmp_path_factory.mktemp("cache"), tmp_path_factory.mktemp("out")
    return [
        json_of("-c", PROGRAM, checkout, source, out / str(number), cache=cache)
        for number in range(2)
    ]


@pytest.fixture(scope="module")
def processes(reports):
    """The compiles of each process, in order."""
    return [report["runs"] for report in reports]


@pytest.fixture(scope="module")
def caches(reports):
    """Skip where Inductor does not cache what torch-spyre compiles."""
    if reports[0]["bypasses"]:
        assert 8 == reports[0]["bypasses"]
        pytest.skip("this torch leaves torch-spyre's compiles out of its caches")


@pytest.mark.usefixtures("caches")
def test_the_same_graph_again_is_a_hit(processes):
    """In each way, the third and the fourth compile are served from the cache."""
    states = [run["cache"] for run in processes[0]]
    assert ["miss", "miss", "hit", "hit"] * 2 == states


@pytest.mark.usefixtures("caches")
def test_another_process_hits_the_cache(processes):
    """The second process generates no code at all."""
    assert {"hit"} == {run["cache"] for run in processes[1]}


def test_equal_graphs_keep_their_own_lines(processes):
    """Whatever came before it, a compile shows the lines of its own file."""
    lines = {
        "first": ["first.py:5", "first.py:6"],
        "second": ["second.py:25", "second.py:26"],
    }
    for runs in processes:
        assert [lines[run["name"]] for run in runs] == [run["lines"] for run in runs]


def test_a_hit_yields_the_whole_bundle(processes):
    """All stages are in it, and it is on disk; the failed and the silent are none."""
    before, after = ([dict(run) for run in runs] for runs in processes)
    for run, again in zip(before, after, strict=True):
        assert run["counts"] == again["counts"]
        assert 3 == again["counts"]["op_spec"] == again["counts"]["super_dsc"]
        assert ([], [], True) == (again["failed"], again["silent"], again["is_on_disk"])


def test_a_hit_names_its_own_directories(processes):
    """Each load of a module makes kernel directories of its own, with its handles."""
    runs = [run for each in processes for run in each]
    directories = [name for run in runs for name in run["directories"]]
    assert len(runs) <= len(directories) == len(set(directories))
    assert [run["ids"] for run in runs] == [run["ids_on_disk"] for run in runs]
