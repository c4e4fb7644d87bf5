"""What recording costs, counted in calls: no machine disturbs them."""

from __future__ import annotations

import cProfile
import pstats
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from process import run_python
from torch import nn
from torch._inductor.utils import fresh_cache

import torch_spyre_provenance
from torch_spyre_provenance.frontends import reference
from torch_spyre_provenance.measuring.conditions import CONDITIONS
from torch_spyre_provenance.measuring.workloads import compile_samples, job_of
from torch_spyre_provenance.recording.points import Point

MOST = 1.08
"""Bound on the calls of a recorded compile of 12 layers, against a plain one."""

MOST_HIT = 1.15
"""The same for a compile that comes from the cache."""


@pytest.fixture(scope="module")
def calls():
    """Count the calls of a compile and of a cache hit, off twice and on."""
    reference.register()
    model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(12)))
    job = job_of("model", model, (torch.ones(2, 64),))
    counted: dict[str, list[int]] = {}
    # Once for nothing: much is done only once in a process.
    for condition in (*CONDITIONS[:3], *CONDITIONS[:3]):
        counted[condition.name] = []
        samples = compile_samples(job, condition)
        for _ in range(2):
            profile = cProfile.Profile()
            profile.enable()
            next(samples)
            profile.disable()
            counted[condition.name].append(pstats.Stats(profile).total_calls)
        samples.close()
    return counted


def test_calls_count_alike_when_nothing_differs(calls):
    """Off and off again differ by less than a tenth of what on may cost: the floor."""
    for one, other in zip(calls["off"], calls["off again"], strict=True):
        assert abs(other / one - 1) < (MOST - 1) / 10


def test_a_compile_makes_few_calls_more(calls):
    """Recording adds a bounded share to the calls of a compile and of a hit."""
    fresh, hit = (on / off for on, off in zip(calls["on"], calls["off"], strict=True))

    assert 1 < fresh < MOST
    assert 1 < hit < MOST_HIT


def double(x):
    """Return twice the input."""
    return x + x


def test_reports_wait_for_the_end_of_the_recording(tmp_path):
    """The bundle is there as the compile ends; the report comes with the last line."""
    torch._dynamo.reset()
    with torch_spyre_provenance.record(out=tmp_path, strict=True) as recording:
        torch.compile(double)(torch.ones(2, 64).to("spyre"))
        (done,) = recording.bundles
        early = sorted(path.name for path in done.path.iterdir())
    late = sorted(path.name for path in done.path.iterdir())

    assert ["bundle.json"] == early
    assert ["bundle.json", "report.md"] == late
    (kernel,) = done.bundle.run.files
    assert (Path(kernel.directory) / "provenance.json").is_file()


def test_recording_knows_what_it_took(tmp_path):
    """Every point that fired has taken some time, and rendering is one of them."""
    torch._dynamo.reset()
    recorded = torch_spyre_provenance.record(out=tmp_path, strict=True)
    with fresh_cache(), recorded as recording:
        torch.compile(double)(torch.ones(2, 64).to("spyre"))
    (done,) = recording.bundles
    fired = {each.point for each in done.bundle.all_observations if each.fired}

    assert {*fired, Point.EMBED, Point.PUBLISH, Point.RENDER} <= set(recording.spent())
    assert all(seconds > 0 for seconds in recording.spent().values())


PROGRAM = """
import os, signal, sys
import torch
import torch_spyre_provenance
torch_spyre_provenance.enable(out=sys.argv[1])
def double(x):
    return x + x
torch.compile(double)(torch.ones(2, 64).to("spyre"))
if sys.argv[2] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("end", "code", "expected"),
    [
        ("killed", -signal.SIGKILL, ["bundle.json"]),
        ("of itself", 0, ["bundle.json", "report.md"]),
    ],
)
def test_what_a_process_leaves(tmp_path, end, code, expected):
    """A process that ends writes its reports; one that is killed leaves the bundle.

    From the bundle the command makes the same report.
    """
    done = run_python(PROGRAM, tmp_path / "out", end, cache=tmp_path / "cache")
    assert code == done.returncode, done.stderr
    (directory,) = (tmp_path / "out").iterdir()

    assert expected == sorted(path.name for path in directory.iterdir())
    printed = subprocess.run(
        [sys.executable, "-m", "torch_spyre_provenance", "report", directory],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "## " in printed
    if "report.md" in expected:
        assert (directory / "report.md").read_text() == printed
