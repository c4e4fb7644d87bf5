"""The figures as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .intervals import Interval
from .samples import Comparison

_MIB = 1 << 20
_KIB = 1 << 10
_HEAD = (
    "model",
    "work",
    "condition",
    "CPU",
    "95 % of it",
    "time",
    "CPU s",
    "peak MiB",
    "KiB written",
    "rounds",
)


def cost_table(comparisons: Iterable[Comparison]) -> str:
    """Return a Markdown table of what each condition costs against the base."""
    rows = [_HEAD, tuple("---" for _ in _HEAD), *map(_cells, comparisons)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def facts_text(facts: Mapping[str, str]) -> str:
    """Return the facts of a machine as one line."""
    return "; ".join(f"{name} {value}" for name, value in facts.items())


def percent(ratio: float) -> str:
    """Return a ratio as the change that it is: 1.02 is ``+2.0 %``."""
    return f"{100 * (ratio - 1):+.1f} %"


def range_text(interval: Interval) -> str:
    """Return the ends of an interval of ratios."""
    return f"{percent(interval.low)} to {percent(interval.high)}"


def _cells(found: Comparison) -> tuple[str, ...]:
    return (
        found.subject,
        found.workload,
        found.condition,
        percent(found.cpu.value),
        range_text(found.cpu),
        percent(found.wall.value),
        f"{found.seconds:.3f}",
        f"{found.peak / _MIB:+.1f}",
        f"{found.written / _KIB:.0f}",
        str(found.n_rounds),
    )
