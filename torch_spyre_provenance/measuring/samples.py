"""What is measured, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median

from attrs import frozen

from .intervals import Interval, median_interval

BASE, AGAIN = "off", "off again"
"""The condition that others are compared with, and the very same once more: the
difference between the two is the noise floor."""


@frozen(kw_only=True)
class Sample:
    """One measurement.

    Attributes:
        subject: Name of the model.
        workload: What was done with it: ``fresh``, ``hit``, ``recompile`` or ``runs``.
        condition: What was on while it was done.
        round: Samples of one round were taken right after each other.
        cpu: Processor seconds of the whole process, all threads.
        wall: Seconds that passed.
        peak: Most memory that the process held, bytes; 0 where that is not known.
        written: Bytes of the files that a recording left.
        hits: Compiled graphs that came from a cache.
        own: Processor seconds that the recorder itself counted, of `cpu`.
    """

    subject: str
    workload: str
    condition: str
    round: int
    cpu: float
    wall: float
    peak: int = 0
    written: int = 0
    hits: int = 0
    own: float = 0.0


@frozen(kw_only=True)
class Comparison:
    """A condition against the base, for one subject and one workload.

    Attributes:
        subject: As in `Sample`.
        workload: As in `Sample`.
        condition: As in `Sample`.
        cpu: Ratio of processor times: the median over the rounds, with its interval.
        wall: The same for the time that passed.
        seconds: Median of the condition's processor seconds.
        peak: Median of the differences in peak memory, bytes.
        written: Median of the bytes written.
        n_rounds: Rounds in which both were measured.
        own: Median of the recorder's own share of the processor time. It is taken
            within one sample, so that the machine's noise hardly touches it; what
            recording makes others do is not in it.
    """

    subject: str
    workload: str
    condition: str
    cpu: Interval
    wall: Interval
    seconds: float
    peak: int
    written: int
    n_rounds: int
    own: float = 0.0


def compare(samples: Iterable[Sample], base: str = BASE) -> tuple[Comparison, ...]:
    """Return every condition against the base, in the order of first appearance.

    Ratios are taken within a round, so that what slows the machine down for a while
    slows down both.

    Args:
        samples: All samples.
        base: The condition that the others are divided by.
    """
    groups: dict[tuple[str, str, str], dict[int, Sample]] = {}
    for sample in samples:
        key = (sample.subject, sample.workload, sample.condition)
        groups.setdefault(key, {})[sample.round] = sample
    return tuple(
        _compared(key, group, bases)
        for key, group in groups.items()
        if key[2] != base and (bases := groups.get((*key[:2], base)))
        if group.keys() & bases.keys()
    )


def _compared(
    key: tuple[str, str, str], group: Mapping[int, Sample], bases: Mapping[int, Sample]
) -> Comparison:
    pairs = [(group[n], bases[n]) for n in sorted(group.keys() & bases.keys())]
    subject, workload, condition = key
    return Comparison(
        subject=subject,
        workload=workload,
        condition=condition,
        cpu=median_interval([one.cpu / other.cpu for one, other in pairs]),
        wall=median_interval([one.wall / other.wall for one, other in pairs]),
        seconds=median(one.cpu for one, _ in pairs),
        peak=int(median(one.peak - other.peak for one, other in pairs)),
        written=int(median(one.written for one, _ in pairs)),
        n_rounds=len(pairs),
        own=median(one.own / one.cpu for one, _ in pairs),
    )
