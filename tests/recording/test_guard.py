"""The guard: no observation breaks a compile, and none fails unseen."""

from __future__ import annotations

import gc
import logging

import pytest

from torch_spyre_provenance.model import Observation, Stage
from torch_spyre_provenance.recording.guard import Guard, describe
from torch_spyre_provenance.recording.points import Point


def only(guard: Guard) -> Observation:
    """Return the guard's count of one point."""
    (observation,) = guard.observations([Point.KERNEL], {})
    return observation


def test_success_is_counted():
    """A block that ends well counts as fired."""
    guard = Guard()

    with guard.watch(Point.KERNEL):
        pass

    assert Observation(point="define_kernel", stage=Stage.OP_SPEC, fired=1) == only(
        guard
    )


def test_failure_is_counted_and_goes_no_further(caplog):
    """A block that raises is counted with its first error, and logged once."""
    guard = Guard()

    with caplog.at_level(logging.WARNING):
        for text in ("first\nsecond line", "later"):
            with guard.watch(Point.KERNEL):
                raise ValueError(text)

    assert (0, 2, "ValueError: first") == (
        only(guard).fired,
        only(guard).failed,
        only(guard).error,
    )
    assert ["provenance: define_kernel failed: ValueError: first"] == caplog.messages


def test_strict_lets_failures_travel_on():
    """With `strict` the exception is counted and raised."""
    guard = Guard(strict=True)

    with pytest.raises(ValueError, match="boom"), guard.watch(Point.KERNEL):
        raise ValueError("boom")

    assert 1 == only(guard).failed


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_interrupts_are_never_swallowed(error):
    """What is no `Exception` passes through, and is no failure."""
    guard = Guard()

    with pytest.raises(error), guard.watch(Point.KERNEL):
        raise error

    assert 0 == only(guard).failed


def test_unreachable_point_says_why():
    """A point without a seam carries the reason; one that fired does not."""
    guard = Guard()
    with guard.watch(Point.KERNEL):
        pass

    reasons = {"define_kernel": "no seam", "publish": "no disk"}
    kernel, publish = guard.observations([Point.KERNEL, Point.PUBLISH], reasons)

    assert None is kernel.unavailable
    assert "no disk" == publish.unavailable


def test_merge_adds_counts():
    """Counts of two guards add up, and the first error is kept."""
    one, two = Guard(), Guard()
    for guard, text in ((one, "a"), (two, "b")):
        with guard.watch(Point.KERNEL):
            raise KeyError(text)

    one.merge(two)

    assert (2, "KeyError: 'a'") == (only(one).failed, only(one).error)


def test_description_is_one_bounded_line():
    """An exception without text is its type; a long one is cut."""
    assert "RuntimeError" == describe(RuntimeError())
    assert 520 > len(describe(RuntimeError("x" * 10_000)))


@pytest.mark.parametrize("collects", [True, False])
def test_the_collector_waits_and_is_as_it_was(collects):
    """Inside it is off, within another block too; behind it is as it was before."""
    guard = Guard()
    was_on = gc.isenabled()
    try:
        gc.enable() if collects else gc.disable()
        with guard.watch(Point.LOAD):
            with guard.watch(Point.FILES):
                assert not gc.isenabled()
                raise ValueError
            assert not gc.isenabled()
        assert gc.isenabled() is collects
    finally:
        gc.enable() if was_on else gc.disable()
