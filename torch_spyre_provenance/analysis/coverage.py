"""How many device ops have a line, and how that is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from attrs import frozen

from ..model import Evidence
from .attribution import Attribution
from .origins import Rule


@frozen(kw_only=True)
class Coverage:
    """Counts of device ops.

    Attributes:
        total: All of them.
        measured: Those whose lines were read from the op's own nodes.
        inferred: Those whose lines a named rule concluded.
        missing: Those without a line.
        rules: Pairs of rule and number of ops that it decided, in the rules' order.
    """

    total: int
    measured: int
    inferred: int
    missing: int
    rules: tuple[tuple[Rule, int], ...]

    @property
    def attributed(self) -> int:
        """Return the number of ops with a line."""
        return self.measured + self.inferred


def measure_coverage(attributions: Iterable[Attribution]) -> Coverage:
    """Return the counts for these ops."""
    ops = tuple(attributions)
    evidence = Counter(op.evidence for op in ops)
    rules = Counter(op.rule for op in ops)
    return Coverage(
        total=len(ops),
        measured=evidence[Evidence.MEASURED],
        inferred=evidence[Evidence.INFERRED],
        missing=evidence[Evidence.MISSING],
        rules=tuple((rule, rules[rule]) for rule in Rule if rules[rule]),
    )
