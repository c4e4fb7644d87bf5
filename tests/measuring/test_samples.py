"""Comparing samples round by round."""

from __future__ import annotations

import pytest
from attrs import evolve

from torch_spyre_provenance.measuring.samples import AGAIN, BASE, Sample, compare
from torch_spyre_provenance.measuring.table import cost_table, percent, summary_table

ONE = Sample(subject="m", workload="fresh", condition=BASE, round=0, cpu=1.0, wall=2.0)


def rounds(condition, *seconds, **facts):
    """Return one sample of a condition for each round."""
    return [
        evolve(ONE, condition=condition, round=n, cpu=cpu, wall=2 * cpu, **facts)
        for n, cpu in enumerate(seconds)
    ]


def test_ratios_are_taken_within_a_round():
    """A machine that is slow for a round is slow for both sides of it."""
    samples = rounds(BASE, 1.0, 10.0, 1.0) + rounds("on", 1.1, 11.0, 1.1)
    (found,) = compare(samples)

    assert ("on", 3) == (found.condition, found.n_rounds)
    assert pytest.approx(1.1) == found.cpu.value
    assert pytest.approx(1.1) == found.cpu.high
    assert pytest.approx(1.1) == found.wall.value
    assert 1.1 == found.seconds


def test_rounds_without_a_base_are_left_out():
    """A condition that took part more often is compared where both did."""
    samples = rounds(BASE, 1.0, 1.0) + rounds("on", 1.2, 1.2, 9.0)

    assert 2 == compare(samples)[0].n_rounds


def test_no_base_no_comparison():
    """What cannot be compared is not in the result."""
    assert () == compare(rounds("on", 1.0, 1.0))


def test_memory_and_bytes():
    """Memory is a difference, bytes are those of the condition."""
    samples = rounds(BASE, 1.0, peak=100) + rounds("on", 1.0, peak=150, written=7)
    (found,) = compare(samples)

    assert (50, 7) == (found.peak, found.written)


def test_table_has_a_row_for_each():
    """A row tells what a condition costs, as a change, with its interval."""
    samples = rounds(BASE, 1.0, 1.0) + rounds(AGAIN, 1.0, 1.0) + rounds("on", 1.5, 1.5)
    _, _, again, on = cost_table(compare(samples)).splitlines()

    assert "| m | fresh | off again | +0.0 % |" in again
    assert "| m | fresh | on | +50.0 % | +50.0 % to +50.0 % |  | +50.0 % |" in on


def test_own_share():
    """The recorder's own seconds, of those of the same sample."""
    samples = rounds(BASE, 1.0, 1.0) + rounds("on", 2.0, 2.0, own=0.1)
    (found,) = compare(samples)

    assert pytest.approx(0.05) == found.own
    assert "(+100.0 to +100.0), own 5.0 %" in summary_table([found], "on")


def test_summary_has_a_column_for_each_work():
    """One condition; what was not measured is empty."""
    other = [evolve(s, subject="n") for s in rounds(BASE, 1.0) + rounds("on", 1.1)]
    runs = [evolve(s, workload="runs") for s in rounds(BASE, 1.0) + rounds("on", 0.9)]
    found = compare([*rounds(BASE, 1.0), *rounds("on", 1.5), *runs, *other])

    assert summary_table(found, "on").splitlines() == [
        "| on | fresh | runs |",
        "| --- | --: | --: |",
        "| m | +50.0 % (+50.0 to +50.0) | -10.0 % (-10.0 to -10.0) |",
        "| n | +10.0 % (+10.0 to +10.0) |  |",
    ]


def test_percent():
    """A ratio is shown as the change that it is."""
    assert "+2.5 %" == percent(1.025)
    assert "-1.0 %" == percent(0.99)
