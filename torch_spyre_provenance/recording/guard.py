"""The one place where an observation may fail."""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Self

from attrs import define, field

from ..model import Observation
from .points import Point

log = logging.getLogger("torch_spyre_provenance")


@define
class _Tally:
    fired: int = 0
    failed: int = 0
    error: str | None = None


@define
class Guard:
    """Runs observations so that none can break a compile, and none fails unseen.

    Every observation is a ``with guard.watch(point):`` block. An exception inside it
    ends the block, is counted, logged once per point, and goes no further; only with
    `strict` does it travel on. `KeyboardInterrupt` and its like always do.

    Attributes:
        strict: Let failures travel on (tests do).
        spent: Processor seconds of this thread in all blocks of each point; a block
            within a block counts for both.
    """

    strict: bool = False
    spent: dict[Point, float] = field(factory=dict)
    _tallies: dict[Point, _Tally] = field(factory=dict, init=False)

    def watch(self, point: Point) -> _Watch:
        """Return the block that counts one observation at `point`."""
        return _Watch(self, point)

    def fired(self, point: Point) -> int:
        """Return how often `point` was observed without a failure."""
        return self._tallies.get(point, _Tally()).fired

    def merge(self, other: Guard) -> None:
        """Add the counts of another guard to these."""
        for point, tally in other._tallies.items():
            mine = self._tallies.setdefault(point, _Tally())
            mine.fired += tally.fired
            mine.failed += tally.failed
            mine.error = mine.error or tally.error

    def observations(
        self, points: Iterable[Point], unavailable: Mapping[str, str]
    ) -> tuple[Observation, ...]:
        """Return the counts of `points`, in their order.

        Args:
            points: The points to report, those that never ran included.
            unavailable: Reasons why a point cannot be reached, by its name; a point
                that did fire is not called unreachable.
        """
        return tuple(
            Observation(
                point=point.value,
                stage=point.stage,
                fired=tally.fired,
                failed=tally.failed,
                error=tally.error,
                unavailable=None if tally.fired else unavailable.get(point.value),
            )
            for point in points
            for tally in (self._tallies.get(point, _Tally()),)
        )

    def _spend(self, point: Point, seconds: float) -> None:
        self.spent[point] = self.spent.get(point, 0.0) + seconds

    def _succeeded(self, point: Point) -> None:
        self._tallies.setdefault(point, _Tally()).fired += 1

    def _failed(self, point: Point, error: Exception) -> None:
        tally = self._tallies.setdefault(point, _Tally())
        tally.failed += 1
        if tally.error is None:
            tally.error = describe(error)
            log.warning("provenance: %s failed: %s", point.value, tally.error)
            log.debug("provenance: %s", point.value, exc_info=error)


class _Watch:
    """The block of one observation: the only place that swallows exceptions.

    The garbage collector waits meanwhile. A record is many small live objects and no
    garbage; what the compiler has left by then would be collected on its account, and
    counted as its cost.
    """

    __slots__ = ("_collects", "_guard", "_is_counted", "_point", "_start")

    def __init__(self, guard: Guard, point: Point) -> None:
        self._guard = guard
        self._point = point
        self._is_counted = True

    def __enter__(self) -> Self:
        self._collects = gc.isenabled()
        gc.disable()
        self._start = time.thread_time()
        return self

    def found_nothing(self) -> None:
        """Say that there was nothing to observe, so that the end counts for nothing."""
        self._is_counted = False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self._guard._spend(self._point, time.thread_time() - self._start)
        if self._collects:
            gc.enable()
        if error is None:
            if self._is_counted:
                self._guard._succeeded(self._point)
            return False
        if not isinstance(error, Exception):
            return False
        self._guard._failed(self._point, error)
        return not self._guard.strict


def describe(error: BaseException) -> str:
    """Return an exception as one line: its type and the first line of its text."""
    rows = str(error).splitlines()
    text = rows[0][:500] if rows else ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
