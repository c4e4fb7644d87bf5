"""Whatever a bundle holds: it is refused in one way, or read and shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("fuzzing.py")
N_CASES = int(os.environ.get("FUZZ_CASES", "400"))
N_PROCESSES = 2 if N_CASES > 1000 else 1  # the machine of a whole run has two cores
MOST_SECONDS = 1.0
MOST_MEMORY = 256 * 1024  # KiB


@pytest.fixture(scope="module")
def found():
    """What came of damaged bundles, a share of them in each process."""
    share = N_CASES // N_PROCESSES
    running = [
        subprocess.Popen(
            [sys.executable, PROGRAM, str(seed), str(share)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in range(N_PROCESSES)
    ]
    return [json.loads(process.communicate()[0]) for process in running]


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_damaged_bundles_raise_one_error_alone(found):
    """No other exception comes out of reader, verifier, redaction, diff or reports."""
    assert [[]] * N_PROCESSES == [each["failures"] for each in found]
    for each in found:
        assert each["cases"] / 20 < each["accepted"] < each["cases"]


@pytest.mark.slow
def test_damaged_bundles_cost_no_more_than_whole_ones(found):
    """None takes a second of processor time, none the memory of a large program."""
    for each in found:
        assert each["slowest"] < MOST_SECONDS
        assert each["memory"] < MOST_MEMORY
