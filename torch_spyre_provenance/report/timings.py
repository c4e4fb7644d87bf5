"""Where the time of a trace went, as lines of text and as plain values for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from ..analysis.timing import Place, Share, Spent, TraceTimes
from ..analysis.trace import Joined
from ..model import Evidence
from .escape import visible

SCHEMA_VERSION = 1
"""Version of the JSON form."""

_LONGEST = 4096
_MOST_ROWS = 20
_METHODS = {
    Share.ITERATIONS: "shared among a kernel's ops by the size of their iteration "
    "spaces: an estimate",
    Share.OPS: "shared evenly among a kernel's ops: an estimate",
}
NO_LINE = "(no line)"
ROOT = "(the root)"


def times_text(joined: tuple[Joined, ...], times: TraceTimes) -> str:
    """Return where the time went as lines of text, the most expensive rows of each.

    Args:
        joined: The events that ran kernels, or claim to.
        times: Their times.
    """
    return "\n".join(visible(line, _LONGEST) for line in _lines(joined, times))


def times_facts(joined: tuple[Joined, ...], times: TraceTimes) -> dict[str, Any]:
    """Return where the time went as plain values for JSON; times in nanoseconds."""
    return {
        "schema_version": SCHEMA_VERSION,
        "share": times.method.value,
        "shared_evenly": list(times.fell_back),
        "events": len(joined),
        "joined": _spent(times.total),
        "clues": dict(sorted(_clues(joined).items())),
        "unjoined": [
            {"reason": reason, **_spent(spent)}
            for reason, spent in times.unjoined.items()
        ],
        "kernels": [
            {
                "bundle": ref.recorded.name,
                "kernel": ref.kernel.name,
                "directory": ref.recorded.directories.get(ref.kernel.name),
                **_spent(spent),
            }
            for ref, spent in times.kernels.items()
        ],
        "lines": [
            {"file": place.file or None, "line": place.line or None, **_spent(spent)}
            for place, spent in times.lines.items()
        ],
        "modules": [
            {
                "module": path,
                **_spent(times.modules.get(path, _NOTHING)),
                "inside": _spent(spent),
            }
            for path, spent in times.inside.items()
        ],
    }


def additions(joined: Iterable[Joined]) -> dict[int, dict[str, str]]:
    """Return the arguments to add to each joined event, by its position.

    ``source`` has the lines, ``module`` the modules, ``ops`` each op with its line and
    how that is known, and ``bundle`` the compile. An event that was not joined gets the
    reason as ``provenance``.
    """
    known: dict[object, dict[str, str]] = {}
    found = {}
    for each in joined:
        key = (each.kernel, each.clues, each.reason)
        if key not in known:
            known[key] = _arguments(each)
        found[each.event.index] = known[key]
    return found


def _arguments(joined: Joined) -> dict[str, str]:
    ref = joined.kernel
    if ref is None:
        return {"provenance": visible(f"not joined: {joined.reason}", _LONGEST)}
    places = [place for op in ref.ops for place in op.locations]
    modules = [op.module_path or ROOT for op in ref.ops]
    ops = (
        f"{op.op}: {', '.join(p.where for p in op.locations) or op.reason}"
        + ("" if op.evidence is Evidence.MISSING else f" ({op.evidence})")
        for op in ref.ops
    )
    texts = {
        "source": ", ".join(dict.fromkeys(place.where for place in places)) or NO_LINE,
        "module": ", ".join(dict.fromkeys(modules)),
        "ops": "; ".join(ops),
        "bundle": ref.recorded.name,
        "provenance": f"joined by {', '.join(joined.clues)}",
    }
    return {name: visible(text, _LONGEST) for name, text in texts.items()}


_NOTHING = Spent(events=0, host_ns=0, device_ns=0)


def _spent(spent: Spent) -> dict[str, int]:
    return {
        "events": spent.events,
        "host_ns": spent.host_ns,
        "device_ns": spent.device_ns,
    }


def _clues(joined: Iterable[Joined]) -> Counter[str]:
    return Counter(str(clue) for each in joined for clue in each.clues)


def _lines(joined: tuple[Joined, ...], times: TraceTimes) -> Iterator[str]:
    yield f"{times.total.events} of {len(joined)} kernel events joined"
    clues = (f"{clue} {n}" for clue, n in sorted(_clues(joined).items()))
    if times.total.events:
        yield f"by {', '.join(clues)}"
    for reason, spent in times.unjoined.items():
        ms = _ms(spent.host_ns + spent.device_ns)
        yield f"not joined: {spent.events} events, {ms} ms: {reason}"
    kernels = [(ref.kernel.name, spent) for ref, spent in times.kernels.items()]
    yield from _table("time by kernel", kernels, times.total)
    method = _METHODS[times.method]
    lines = [(_where(place), spent) for place, spent in times.lines.items()]
    yield from _table(f"time by line, {method}", lines, times.total)
    modules = [(path or ROOT, spent) for path, spent in times.inside.items()]
    title = f"time by module, those inside it included, {method}"
    yield from _table(title, modules, times.total)
    if times.fell_back:
        yield ""
        yield f"shared evenly, for want of known sizes: {', '.join(times.fell_back)}"


def _table(title: str, rows: list[tuple[str, Spent]], total: Spent) -> Iterator[str]:
    on_device = total.device_ns > 0
    yield ""
    yield title
    yield f"{'device ms' if on_device else 'host ms':>12}{'share':>8}{'events':>8}"
    whole = total.device_ns if on_device else total.host_ns
    for name, spent in rows[:_MOST_ROWS]:
        ns = spent.device_ns if on_device else spent.host_ns
        yield f"{_ms(ns):>12}{ns / (whole or 1):>8.1%}{spent.events:>8}  {name}"
    if len(rows) > _MOST_ROWS:
        yield f"{'':>28}  … and {len(rows) - _MOST_ROWS} more: see --json"


def _ms(ns: int) -> str:
    return f"{ns / 1_000_000:.3f}"


def _where(place: Place) -> str:
    if not place.file:
        return NO_LINE
    path = PurePosixPath(place.file)
    return f"{'/'.join(path.parts[-2:])}:{place.line}"
