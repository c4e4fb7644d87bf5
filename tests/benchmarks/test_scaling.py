"""The scaling benchmark, on sizes that take no time."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from benchmarks import scaling

ONE = scaling.Figures(
    n_ops=10, seconds=dict.fromkeys(scaling.LIMITED, 1.0), memory=100, packed=10
)


def sizes(power):
    """Return figures whose costs grow with a power of the size."""
    return [
        evolve(ONE, n_ops=n, seconds=dict.fromkeys(scaling.LIMITED, 1e-6 * n**power))
        for n in (10, 100, 1_000)
    ]


def test_slope_of_linear_and_quadratic_costs():
    """The slope tells one from the other."""
    assert pytest.approx(1) == scaling.slope(sizes(1), scaling.RECORDING).value
    assert pytest.approx(2) == scaling.slope(sizes(2), scaling.RECORDING).value


def test_table_shows_costs_per_op():
    """A linear cost is the same in each column, and its slope is 1."""
    rows = list(scaling.table(sizes(1)))

    assert "| per op | 10 ops | 100 ops | 1,000 ops | slope |" == rows[0]
    assert "| recording | 1.0 µs | 1.0 µs | 1.0 µs | 1.00 (1.00 to 1.00) |" == rows[2]


def test_chain_has_an_op_on_each_line():
    """A chain of three ops has three lines, and returns the last value."""
    assert (
        "def chain(x, y):\n    x = x + y\n    x = x * y\n    x = x + y\n    return x\n"
    ) == scaling.chain(3)


def test_a_real_compile_is_measured():
    """Each step of one compile has a cost, and each op its share of the bundle."""
    found = scaling.measure(8, repeats=1)

    assert 8 == found.n_ops
    assert set(scaling.LIMITED) <= set(found.seconds)
    assert {"recording: define_kernel", "report.md", "page"} <= set(found.seconds)
    assert all(seconds >= 0 for seconds in found.seconds.values())
    assert found.memory > found.packed > 0


ROOT = Path(__file__).parents[2]


def test_the_document_has_the_figures_of_the_run(capsys):
    """The benchmark wrote the file; the rows are made of it."""
    document = (ROOT / "docs" / "cost.md").read_text(encoding="utf-8")
    figures = ROOT / "docs" / "figures" / "scaling.json"
    assert scaling.main(["--from", str(figures)]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert {row for row in rows if "recording: async" not in row} <= set(
        document.splitlines()
    )
