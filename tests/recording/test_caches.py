"""Recording with Inductor's caches on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest

MODEL = """
import torch

def step(x):
    return torch.relu(x @ x + 1)
"""

RUN = """
import json, sys
sys.path.insert(0, sys.argv[1])
import torch
import model
import torch_spyre_provenance
with torch_spyre_provenance.record(out=sys.argv[2], strict=True) as recording:
    x = torch.ones(64, 64).to("spyre")
    y = torch.compile(model.step)(x)
assert torch.equal(y.cpu(), torch.full((64, 64), 65.0)), y
(done,) = recording.bundles
bundle = done.bundle
print(json.dumps({
    "cache": bundle.run.cache,
    "counts": {stage.value: n for stage, n in bundle.counts().items()},
    "lines": sorted({f.where for stack in bundle.stacks for f in stack}),
    "directories": [files.directory for files in bundle.run.files],
    "canonical": bundle.compile.graph,
    "failed": [o.point for o in bundle.all_observations if o.failed],
    "unfired": [o.point for o in bundle.all_observations if not o.fired],
}))
"""

PLAIN = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
import model
from torch._inductor.utils import run_and_get_code
x = torch.ones(64, 64).to("spyre")
y, code = run_and_get_code(torch.compile(model.step), x)
assert torch.equal(y.cpu(), torch.full((64, 64), 65.0)), y
print(*code)
OURS = "torch_spyre_provenance.recording"
print(sorted(name for name in sys.modules if name.startswith(OURS)))
"""


def python(program, *args, cache, **environ):
    """Return what a program prints in a fresh process with this Inductor cache."""
    env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache), **environ}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Write the model's module and return its directory."""
    directory = tmp_path_factory.mktemp("source")
    (directory / "model.py").write_text(MODEL)
    return directory


@pytest.fixture(scope="module")
def runs(source, tmp_path_factory):
    """Record the same program twice, in fresh processes with one cache."""
    cache, out = tmp_path_factory.mktemp("cache"), tmp_path_factory.mktemp("out")
    runs = [json.loads(python(RUN, source, out, cache=cache)) for _ in range(2)]
    return (*runs, cache, out)


def test_hit_in_another_process_yields_the_whole_bundle(runs):
    """The second process hits the cache, and its bundle still has every stage."""
    first, second, *_ = runs

    assert ("miss", "hit") == (first["cache"], second["cache"])
    assert first["counts"] == second["counts"]
    assert first["lines"] == second["lines"]
    assert ([], []) == (second["failed"], second["unfired"])


def test_hit_names_its_own_directories(runs):
    """The kernels' directories on a hit are those that this process made."""
    first, second, *_ = runs

    assert set(first["directories"]).isdisjoint(second["directories"])


def test_equal_graph_from_moved_lines_is_no_hit(runs, tmp_path):
    """A cached graph is not shown for other lines than those it was made from."""
    first, _, cache, out = runs
    (tmp_path / "model.py").write_text(textwrap.dedent("\n\n\n") + MODEL)

    moved = json.loads(python(RUN, tmp_path, out, cache=cache))

    assert "miss" == moved["cache"]
    assert set(first["lines"]).isdisjoint(moved["lines"])


def test_entry_made_with_recording_never_reaches_a_run_without(runs, source):
    """A plain run on the same cache generates code of its own, without a recorder."""
    *_, cache, _ = runs

    printed = python(
        PLAIN, source, cache=cache, TORCH_SPYRE_PROVENANCE_FRONTEND="reference"
    )

    assert "provenance.recording" not in printed.split("[]")[0]


def test_entry_made_without_recording_does_not_hide_a_compile(source, tmp_path):
    """Turning recording on with a warm cache records; it does not find nothing."""
    cache, out = tmp_path / "cache", tmp_path / "out"
    python(PLAIN, source, cache=cache, TORCH_SPYRE_PROVENANCE_FRONTEND="reference")

    run = json.loads(python(RUN, source, out, cache=cache))

    assert "miss" == run["cache"]
    assert run["counts"]["op_spec"] > 0


def test_plain_code_is_the_same_bytes_whether_we_are_on_or_off(source, tmp_path):
    """Without the switch the generated code does not depend on us having recorded."""
    first = python(
        PLAIN,
        source,
        cache=tmp_path / "one",
        TORCH_SPYRE_PROVENANCE_FRONTEND="reference",
    )
    python(RUN, source, tmp_path / "out", cache=tmp_path / "two")
    second = python(
        PLAIN,
        source,
        cache=tmp_path / "two",
        TORCH_SPYRE_PROVENANCE_FRONTEND="reference",
    )

    assert first == second
