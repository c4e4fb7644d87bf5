"""SIGKILL at any moment leaves the old file, the new one, or none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from torch_spyre_provenance.store import find_bundles, read_bundle
from torch_spyre_provenance.store.retention import ABANDONED_AFTER, prune

N_WRITERS = 200
PROGRAM = Path(__file__).with_name("killing.py")


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """What writers reported before each was killed, and where they wrote."""
    root = tmp_path_factory.mktemp("killed")
    done = subprocess.run(
        [sys.executable, PROGRAM, "7", str(N_WRITERS), root],
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)["reported"], root


def test_no_bundle_that_was_reported_is_lost(killed):
    """What `publish` returned is there, and whole."""
    reported, root = killed
    assert len(reported) > N_WRITERS / 2
    assert {Path(path) for path in reported} <= set(find_bundles(root / "out"))


def test_no_file_is_half(killed):
    """Every bundle and every record can be read, reported or not."""
    _, root = killed
    for path in find_bundles(root / "out"):
        read_bundle(path)
        report = path / "report.md"
        assert not report.exists() or report.read_text().endswith("\n")
    record = json.loads((root / "kernel" / "provenance.json").read_text())
    assert 5 == len(record["ops"])


def test_what_the_dead_left_can_be_swept_up(killed):
    """Once it is old, half-written directories go and all bundles stay."""
    _, root = killed
    whole = find_bundles(root / "out")
    later = max(path.stat().st_mtime for path in root.rglob("*")) + ABANDONED_AFTER
    prune(root / "out", len(whole), now=later + 1)
    left = {path for path in (root / "out").iterdir() if path.is_dir()}
    assert set(whole) == left
