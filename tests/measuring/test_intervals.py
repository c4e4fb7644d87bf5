"""Medians and slopes with intervals."""

from __future__ import annotations

import pytest

from torch_spyre_provenance.measuring.intervals import (
    Interval,
    median_interval,
    slope_interval,
)


def test_equal_values_have_no_width():
    """Where there is no noise, the interval is the figure."""
    assert Interval(value=1.5, low=1.5, high=1.5) == median_interval([1.5] * 7)


def test_interval_holds_the_median_and_lies_within_the_values():
    """Resampling leaves the median between the extremes."""
    values = [1.0, 1.01, 1.02, 1.03, 1.1]
    found = median_interval(values)

    assert 1.02 == found.value
    assert 1.0 <= found.low <= 1.02 <= found.high <= 1.1


def test_more_values_are_surer():
    """The interval of the same spread narrows with the number of values."""
    few = median_interval([1 + n / 100 for n in range(6)])
    many = median_interval([1 + n / 100 / 20 for n in range(120)])

    assert many.high - many.low < few.high - few.low


def test_same_values_give_the_same_interval():
    """A second look at the same samples says the same."""
    values = [1.0, 1.3, 1.1, 0.9, 1.2]

    assert median_interval(values) == median_interval(values)


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_slope_is_the_power(power):
    """A cost that grows with a power of the size has that power as its slope."""
    points = [(n, 3e-6 * n**power) for n in (10, 100, 1_000)]
    found = slope_interval(points)

    assert pytest.approx(power) == found.value
    assert pytest.approx(power) == found.low
    assert pytest.approx(power) == found.high


def test_one_size_has_no_slope():
    """There is nothing to say then."""
    with pytest.raises(ValueError, match="no such figure"):
        slope_interval([(10, 1.0), (10, 2.0)])
