"""Measuring a block."""

from __future__ import annotations

from torch_spyre_provenance.measuring.machine import machine_facts
from torch_spyre_provenance.measuring.meter import Meter

BIG = 64 << 20


def work():
    """Return a number that takes a while to find."""
    return sum(n * n for n in range(200_000))


def test_more_work_costs_more():
    """Processor time and time grow with what is done."""
    with Meter() as small:
        pass
    with Meter() as large:
        for _ in range(10):
            work()

    assert 0 <= small.cpu < large.cpu
    assert 0 <= small.wall < large.wall


def test_waiting_costs_time_alone():
    """Time that passes without work is no processor time."""
    import time

    with Meter() as meter:
        time.sleep(0.2)

    assert meter.cpu < meter.wall / 2


def test_peak_is_that_of_the_block():
    """Memory that a block held is in its peak; the next block's does not have it."""
    with Meter() as large:
        held = bytearray(BIG)
        held[:: 1 << 12] = b"1" * (BIG >> 12)
        del held
    with Meter() as small:
        pass

    assert large.peak >= small.peak + BIG // 2


def test_machine_is_told_without_names():
    """The facts name the processor and the versions, and no host or user."""
    import socket

    facts = machine_facts()

    assert {"processor", "cores", "memory", "load", "system", "python"} <= set(facts)
    assert "torch" in facts
    assert socket.gethostname() not in " ".join(facts.values())
