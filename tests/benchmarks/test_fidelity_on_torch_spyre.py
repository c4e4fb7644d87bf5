"""Attributions against the truth on a real torch-spyre, in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = (
    "views:15",  # a product over four dimensions, by an operator of torch-spyre's own
    "views:22",  # the same below a slice
    "identical:3",  # products whose weights are padded, under lines of one text
    "nested:3",  # layers whose addend is added in an op of its own
    "backward:13",  # products that a pass puts in the place of others, unseen
)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """Return the numbers that the benchmark prints for these programs."""
    if not os.environ.get("TORCH_SPYRE_CHECKOUT"):
        pytest.skip("TORCH_SPYRE_CHECKOUT names no torch-spyre checkout")
    keep = tmp_path_factory.mktemp("fidelity")
    only = [f"--only={name}" for name in PROGRAMS]
    done = subprocess.run(
        [
            *(sys.executable, "-W", "ignore", "-m", "benchmarks.fidelity"),
            *("--json", f"--keep={keep}", *only),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert 0 == done.returncode, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.torch_spyre
def test_no_line_is_wrong(numbers):
    """Where torch-spyre's passes leave no trace, an op has its own line or none."""
    assert 0 == numbers["wrong"]
    assert len({name.partition(":")[0] for name in PROGRAMS}) == len(numbers["kinds"])


@pytest.mark.torch_spyre
def test_more_ops_have_a_line_than_by_the_handles(numbers):
    """The ops that its own handles leave without a line are the ones people ask for."""
    theirs = numbers["front_end"]
    attributed = numbers["measured"] + numbers["inferred"]

    assert theirs["measured"] < attributed
    assert numbers["missing"] < theirs["missing"]
