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
    "own",
    "time",
    "CPU s",
    "peak MiB",
    "KiB written",
    "rounds",
)


def cost_table(comparisons: Iterable[Comparison]) -> str:
    """Return a Markdown table of what each condition costs against the base."""
    return _table([_HEAD, tuple("---" for _ in _HEAD), *map(_cells, comparisons)])


def summary_table(comparisons: Iterable[Comparison], condition: str) -> str:
    """Return a Markdown table of one condition: a row for a model, a column for a work.

    Args:
        comparisons: All comparisons.
        condition: Name of the condition.
    """
    cells = {
        (each.subject, each.workload): _cell(each)
        for each in comparisons
        if each.condition == condition
    }
    subjects = list(dict.fromkeys(subject for subject, _ in cells))
    works = list(dict.fromkeys(work for _, work in cells))
    head = [
        (condition, *works),
        ("---", *("--:" for _ in works)),
    ]
    return _table(
        head + [(s, *(cells.get((s, work), "") for work in works)) for s in subjects]
    )


def facts_text(facts: Mapping[str, str]) -> str:
    """Return the facts of a machine as one line."""
    return "; ".join(f"{name} {value}" for name, value in facts.items())


def percent(ratio: float) -> str:
    """Return a ratio as the change that it is: 1.02 is ``+2.0 %``."""
    return f"{100 * (ratio - 1):+.1f} %"


def range_text(interval: Interval) -> str:
    """Return the ends of an interval of ratios."""
    return f"{percent(interval.low)} to {percent(interval.high)}"


def _cell(found: Comparison) -> str:
    own = f", own {_own(found)}" if found.own else ""
    return f"{percent(found.cpu.value)} ({_ends(found.cpu)}){own}"


def _own(found: Comparison) -> str:
    return f"{100 * found.own:.1f} %" if found.own else ""


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _ends(interval: Interval) -> str:
    return " to ".join(
        f"{100 * (end - 1):+.1f}" for end in (interval.low, interval.high)
    )


def _cells(found: Comparison) -> tuple[str, ...]:
    return (
        found.subject,
        found.workload,
        found.condition,
        percent(found.cpu.value),
        range_text(found.cpu),
        _own(found),
        percent(found.wall.value),
        f"{found.seconds:.3f}",
        f"{found.peak / _MIB:+.1f}",
        f"{found.written / _KIB:.0f}",
        str(found.n_rounds),
    )
