"""The order in which samples are taken: round by round, each in a random order."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from attrs import frozen

from .conditions import Condition
from .samples import Sample
from .workloads import Job, compile_samples, run_samples

ALTERNATIVES_EVERY = 3
"""Of so many rounds, alternatives are part of one: their figures may be coarser."""


@frozen(kw_only=True)
class Effort:
    """How much is measured.

    Attributes:
        n_rounds: Rounds of compiles, after one that is discarded.
        n_blocks: Rounds of calls; none are measured where it is 0.
        n_runs: Calls of one block.
        seed: Of the order within each round.
    """

    n_rounds: int
    n_blocks: int = 10
    n_runs: int = 100
    seed: int = 0


def measure(
    job: Job, conditions: Sequence[Condition], effort: Effort
) -> Iterator[Sample]:
    """Measure a model under some conditions, interleaved.

    The first round warms up what the process does only once: it is not yielded.

    Args:
        job: The model.
        conditions: The conditions, the base among them.
        effort: How much is measured.

    Yields:
        The samples as they are taken.
    """
    shuffled = random.Random(effort.seed)  # noqa: S311  no secret depends on it
    for number in range(-1, effort.n_rounds):
        present = [each for each in conditions if _takes_part(each, number)]
        for condition in shuffled.sample(present, len(present)):
            for sample in compile_samples(job, condition, number):
                if number >= 0:
                    yield sample
    # An alternative does not change what a kernel's call does, or is not meant for use.
    regular = [each for each in conditions if not each.is_alternative]
    if effort.n_blocks:
        yield from run_samples(
            job, regular, effort.n_blocks, effort.n_runs, effort.seed
        )


def _takes_part(condition: Condition, number: int) -> bool:
    return not condition.is_alternative or number % ALTERNATIVES_EVERY == 0
