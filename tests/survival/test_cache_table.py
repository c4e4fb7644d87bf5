"""The table of caches in the documentation, found out by compiling.

``pytest tests/survival/test_cache_table.py --update-goldens`` writes its rows anew.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("caching.py")
REMOTE = Path(__file__).with_name("remote")
DOCS = Path(__file__).parents[2] / "docs" / "bundles.md"
NO_AOT = {"TORCHINDUCTOR_AUTOGRAD_CACHE": "0"}
NO_LOCAL = {**NO_AOT, "TORCHINDUCTOR_FX_GRAPH_CACHE": "0"}
WHOLE, PLAIN, NONE = "whole", "no recorder", "does not apply"

KINDS = {
    "Inductor's FX-graph cache, local": (
        NO_AOT,
        ("off", "on", "on", "off", "shape"),
        ("off", "on"),
    ),
    "Inductor's FX-graph cache, remote": (
        {**NO_LOCAL, "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE": "1"},
        ("off", "on", "on", "off"),
        ("off", "on"),
    ),
    "AOTAutograd's cache": ({}, ("off", "on", "on", "off"), ("off", "on")),
    "`torch.compiler.save_cache_artifacts`": (
        {},
        ("off", "on", "on", "off", "save"),
        ("load", "off", "on"),
    ),
    "Dynamo's precompile, `TORCH_CACHING_PRECOMPILE=1`": (
        {"TORCH_CACHING_PRECOMPILE": "1"},
        ("off", "on", "on", "off"),
        ("off", "on"),
    ),
    "Compiled ahead of time, `aot_compile`": ({}, ("compile",), ("run",)),
}
ALONE = ("remote", "save_cache_artifacts", "aot_compile")
"""Kinds whose second process has a cache directory of its own, empty before."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def phases(names, out, cache, environ):
    """Return what each phase of one process found."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", PROGRAM, out, *names],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "TORCHINDUCTOR_CACHE_DIR": str(cache),
            "TORCH_SPYRE_PROVENANCE_FRONTEND": "reference",
            **environ,
        },
    )
    assert 0 == done.returncode, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def cells(kind, tmp_path):
    """Return what became of the bundle, case by case."""
    environ, first, second = KINDS[kind]
    (tmp_path / "redis").mkdir()
    environ = {
        **environ,
        "TORCHINDUCTOR_REDIS_URL": f"file://{tmp_path / 'redis'}",
        "PYTHONPATH": f"{REMOTE}:{os.environ.get('PYTHONPATH', '')}",
    }
    out, other = tmp_path / "out", tmp_path / "other"
    here = phases(first, out, tmp_path / "one", environ)
    shutil.copytree(out, other)
    is_alone = any(word in kind for word in ALONE)
    there = phases(second, other, tmp_path / ("two" if is_alone else "one"), environ)
    recorded = [each for each in here if each["phase"] in ("on", "compile")]
    again = [each for each in there if each["phase"] in ("on", "run")]
    plain = [each for each in here + there if each["phase"] == "off"]
    shapes = [each for each in here if each["phase"] == "shape"]
    miss, *hits = recorded
    return {
        "miss": verdict(miss, miss, "miss"),
        "hit": verdict(hits[0], miss, "hit") if hits else NONE,
        "other process": verdict(again[0], miss, "hit"),
        "on after off": verdict(miss, miss, "miss") if plain else NONE,
        "off after on": plain_verdict(plain) if plain else NONE,
        "new shape": verdict_of_shapes(shapes[0]) if shapes else NONE,
    }


def verdict(found, first, cache):
    """Say whether a bundle is the first one's, with directories of its own."""
    assert [] == found["failed"]
    assert [cache] == found["caches"]
    assert first["contents"] == found["contents"]
    assert first is found or set(first["directories"]).isdisjoint(found["directories"])
    assert found["exist"]
    assert found["ops"] == [3]
    return WHOLE


def plain_verdict(plain):
    """Say whether compiles without recording are without it."""
    assert not any(each["recorder"] for each in plain)
    return PLAIN


def verdict_of_shapes(found):
    """Say whether each shape has its own bundle."""
    assert ["miss", "miss"] == found["caches"]
    assert 2 == len(set(found["directories"]))
    assert [] == found["failed"]
    return WHOLE


def row(kind, found):
    """Return the table's row."""
    return f"| {kind} | {' | '.join(found.values())} |"


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_the_table(kind, tmp_path, update_goldens):
    """What the documentation says of a cache is what happens."""
    made = row(kind, cells(kind, tmp_path))
    text = DOCS.read_text(encoding="utf-8")
    if update_goldens:
        pattern = rf"^\| {re.escape(kind)} \|.*$"
        text = re.sub(pattern, lambda _: made, text, flags=re.MULTILINE)
        DOCS.write_text(text, encoding="utf-8")
    assert made in text.splitlines()
