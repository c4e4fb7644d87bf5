"""What recording costs may change, what it records may not: not by one byte."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from attrs import evolve

from torch_spyre_provenance.recording.builder import EMPTY_RUN
from torch_spyre_provenance.store import dumps, read_bundle

TESTS = Path(__file__).parents[1]
GOLDENS = TESTS / "goldens" / "records"
SUBJECTS = ("simple_mlp", "attention", "plain_weight", "twice")
TAG = "torch" + ".".join(torch.__version__.split(".")[:2])


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Bundles of the models in ``tests/bundles``, recorded by another process."""
    out = tmp_path_factory.mktemp("records")
    script = TESTS / "bundles" / "record.py"
    subprocess.run([sys.executable, str(script), TAG, str(out)], check=True)
    return out


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_record_of_a_compile_is_what_it_was(directory, name, update_goldens):
    """All but the facts of the run; `make golden` accepts another front end's work."""
    golden = GOLDENS / f"{name}_{TAG}.json"
    if not update_goldens and not golden.exists():
        pytest.skip(f"there is no record by {TAG}")
    value = read_bundle(directory / golden.name)
    text = dumps(evolve(value, run=EMPTY_RUN))
    if update_goldens:
        golden.parent.mkdir(exist_ok=True)
        golden.write_bytes(text)
    assert text == golden.read_bytes()
