"""Medians and slopes with the intervals that resampling gives them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from statistics import linear_regression, median
from typing import TypeVar

from attrs import frozen

_T = TypeVar("_T")

N_RESAMPLES = 2_000
"""Resamples of one interval: its ends move by less than the noise from there on."""

LEVEL = 0.95
"""Share of the resamples that lie within an interval."""


@frozen(kw_only=True)
class Interval:
    """A figure, and the range in which resampling leaves it.

    Attributes:
        value: The figure.
        low: Lower end of its 95 % interval.
        high: Upper end.
    """

    value: float
    low: float
    high: float


def median_interval(values: Sequence[float], seed: int = 0) -> Interval:
    """Return the median of some values with its bootstrap interval.

    Args:
        values: At least one.
        seed: Of the resampling, so that the same samples give the same interval.
    """
    return _interval(median, values, seed)


def slope_interval(points: Sequence[tuple[float, float]], seed: int = 0) -> Interval:
    """Return the exponent of a power law through some points, with its interval.

    Args:
        points: Pairs of size and cost, all positive, of at least two sizes.
        seed: Of the resampling.
    """
    logs = [(math.log(size), math.log(cost)) for size, cost in points]

    def slope(chosen: Sequence[tuple[float, float]]) -> float | None:
        sizes, costs = zip(*chosen, strict=True)
        if len(set(sizes)) < 2:
            return None
        return linear_regression(sizes, costs).slope

    return _interval(slope, logs, seed)


def _interval(
    figure: Callable[[Sequence[_T]], float | None], values: Sequence[_T], seed: int
) -> Interval:
    found = figure(values)
    if found is None:
        raise ValueError("the values have no such figure")
    random_ = random.Random(seed)  # noqa: S311  no secret depends on it
    drawn = (figure(random_.choices(values, k=len(values))) for _ in range(N_RESAMPLES))
    known = sorted(value for value in drawn if value is not None)
    tail = int(len(known) * (1 - LEVEL) / 2)
    return Interval(value=found, low=known[tail], high=known[-1 - tail])
