"""The benchmark of the compile's cost measures one compile in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.compile_cost import STAGES

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_model_of_one_layer(inductor_cache):
    """It prints time and memory as JSON, and the stages' shares, which are a whole."""
    pytest.importorskip("transformers")
    command = [sys.executable, "-m", "benchmarks.compile_cost"]
    done = subprocess.run(
        [*command, "--device", "spyre", "--layers", "1", "--profile"],
        cwd=ROOT,
        env=os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(inductor_cache)},
        capture_output=True,
        check=True,
        text=True,
    )
    cost = json.loads(done.stdout.splitlines()[-1])
    assert {"device", "seconds", "gigabytes"} == set(cost)
    assert cost["device"] == "spyre"
    assert cost["seconds"] > 0
    assert list(inductor_cache.glob("inductor-spyre/*/sdsc_0.json"))
    rows = [row.split("|") for row in done.stderr.splitlines() if row.endswith("% |")]
    shares = [float(share.strip(" %")) for *_, share, _ in rows]
    assert len(STAGES) == len(shares)
    assert all(share > 0 for share in shares)
    assert sum(shares) == pytest.approx(100, abs=1)
