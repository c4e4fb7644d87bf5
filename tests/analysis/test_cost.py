"""What attribution costs: ten times the ops take about ten times as long."""

from __future__ import annotations

import gc

import pytest

from benchmarks.attribution_cost import SHAPES, bundle_of, measure
from torch_spyre_provenance.analysis.attribution import attribute
from torch_spyre_provenance.model import Evidence

MOST = 30
"""Bound on a ratio that is 10 where cost is linear, and 100 where it is quadratic."""

BUDGET = 2
"""Most seconds of processor time for 10,000 ops; half of it is what it takes."""


def seconds(shape: str, n_ops: int, repeats: int) -> float:
    """Return the least processor time that an attribution took."""
    value = bundle_of(shape, n_ops)
    gc.collect()
    gc.disable()
    try:
        return min(measure(value)[0] for _ in range(repeats))
    finally:
        gc.enable()


@pytest.mark.parametrize("shape", SHAPES)
def test_attribution_is_linear_in_the_number_of_ops(shape):
    """Neither lost traces, nor shared constants, nor chains of copies change that."""
    small, large = seconds(shape, 1_000, 3), seconds(shape, 10_000, 1)

    assert large < MOST * small
    assert large < BUDGET


@pytest.mark.parametrize(
    ("shape", "missing"), [("layers", 0), ("lost", 100), ("constant", 0), ("copies", 0)]
)
def test_the_shapes_are_what_they_are_called(shape, missing):
    """The rules do find the lines there are; only where all is lost they find none."""
    found = attribute(bundle_of(shape, 100))

    assert (100, missing) == (
        len(found),
        sum(each.evidence is Evidence.MISSING for each in found),
    )
