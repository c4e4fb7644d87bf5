"""Which compiled region of a program an event of a trace lies in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from attrs import frozen

from ..model.trace import TraceEvent

_REGION = re.compile(r"Torch-Compiled Region: (?P<id>\S+)")
_BACKWARD = "CompiledFunctionBackward"


@frozen(kw_only=True)
class Region:
    """A run of one compiled graph, as the profiler marks it.

    Attributes:
        compile_id: Dynamo's id of the compile, ``0/0``; None for a backward graph,
            which is not marked with it.
    """

    compile_id: str | None


def find_regions(events: Iterable[TraceEvent]) -> Mapping[int, Region]:
    """Return the innermost region around each event, by the event's position.

    Events that lie in none are left out.

    Args:
        events: Complete events, in any order.
    """
    threads: dict[tuple[str, str], list[TraceEvent]] = {}
    for event in events:
        threads.setdefault((event.process, event.thread), []).append(event)
    found: dict[int, Region] = {}
    for thread in threads.values():
        if any(_region(event) for event in thread):
            found.update(_walk(thread))
    return found


def _walk(thread: list[TraceEvent]) -> dict[int, Region]:
    """Walk the events of one thread in time; those that are open form a stack."""
    found: dict[int, Region] = {}
    around: list[tuple[int, Region]] = []
    for event in sorted(thread, key=lambda each: (each.start_ns, -each.duration_ns)):
        while around and around[-1][0] <= event.start_ns:
            around.pop()
        if around and event.end_ns <= around[-1][0]:
            found[event.index] = around[-1][1]
        region = _region(event)
        if region is not None:
            around.append((event.end_ns, region))
    return found


def _region(event: TraceEvent) -> Region | None:
    match = _REGION.match(event.name)
    if match is not None:
        return Region(compile_id=match["id"])
    return Region(compile_id=None) if event.name == _BACKWARD else None
