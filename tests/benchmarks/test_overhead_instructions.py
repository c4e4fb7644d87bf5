"""Counting instructions: reading callgrind's dumps, and the table."""

from __future__ import annotations

import pytest

from benchmarks import overhead_instructions
from benchmarks.overhead_instructions import (
    Count,
    by_library,
    main,
    rows,
)

DUMP = """\
# callgrind format
events: Ir

ob=(1) /usr/lib/libpython3.11.so.1.0
fl=(1) ceval.c
fn=(1) evaluate
12 100
+3 20
cob=(2) /usr/lib/libcrypto.so.3
cfn=(2) sha256
calls=1 7
* 5000
ob=(2)
fl=(2) ???
fn=(2)
0 5000
ob=(1)
fn=(3) other
-2 3
summary: 5123
"""


def test_instructions_are_told_apart_by_library():
    """A row after a call counts the callee, which has rows of its own."""
    assert by_library(iter(DUMP.splitlines(keepends=True))) == (123, 5000)


def counts(workload, off, on, tracked):
    """Return counts of two rounds."""
    values = {"off": off, "on": on, "Inductor, level 1": tracked}
    return [
        Count(condition=name, workload=workload, executed=each, hashing=10**6)
        for name, value in values.items()
        for each in (value, value)
    ]


def test_changes_are_against_off():
    """A row for each kind of work."""
    found = counts("fresh", 10**9, 10**9 + 2 * 10**7, 11 * 10**8)
    found += counts("hit", 10**8, 10**8, 10**8)
    assert list(rows("model", found)) == [
        "| model | fresh | 1,000.0 M | +2.0 % | +10.0 % | 1.0 M | 1.0 M |",
        "| model | hit | 100.0 M | +0.0 % | +0.0 % | 1.0 M | 1.0 M |",
    ]


def test_bad_input_is_refused(monkeypatch, capsys):
    """A model that is not there, and a machine without valgrind."""
    with pytest.raises(SystemExit) as refused:
        main(["no such model"])
    assert refused.value.code == 2
    assert "no model 'no such model'" in capsys.readouterr().err
    monkeypatch.setattr(overhead_instructions.shutil, "which", lambda _: None)
    assert main(["SimpleMLP"]) == overhead_instructions.EXIT_MISSING
    assert "valgrind is not installed" in capsys.readouterr().err
