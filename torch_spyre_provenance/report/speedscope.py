"""A flame graph of a trace's time, in the format of speedscope.

Module, inner module, line, kernel: each stack has the time that its kernel's ops on
that line have of the kernel's events.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from attrs import define, field

from ..analysis.timing import Part, Share, divide, sum_runs
from ..analysis.trace import Clock, Joined
from .escape import visible
from .timings import NO_LINE, ROOT

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_EXPORTER = "torch_spyre_provenance"
_TITLES = {Clock.HOST: "host", Clock.DEVICE: "device"}


def render(joined: Iterable[Joined], method: Share, name: str) -> bytes:
    """Return the flame graph as JSON, one profile for each clock that has time.

    Args:
        joined: The events that ran kernels.
        method: How to divide a kernel's time among its ops.
        name: What to call it: the trace's file.
    """
    stacks: dict[Clock, Counter[tuple[int, ...]]] = {}
    frames = _Frames()
    for runs in sum_runs(joined):
        times = stacks.setdefault(runs.clock, Counter())
        kernel = runs.kernel.kernel.name if runs.kernel else ""
        for part in divide(runs, method):
            times[frames.stack(part, kernel)] += part.ns
    document = {
        "$schema": _SCHEMA,
        "exporter": _EXPORTER,
        "name": visible(name),
        "activeProfileIndex": 0,
        "shared": {"frames": frames.found},
        "profiles": [
            _profile(f"{_TITLES[clock]}, shared by {method}", stacks[clock])
            for clock in sorted(stacks)
        ],
    }
    return json.dumps(document, indent=1).encode("ascii") + b"\n"


def _profile(name: str, times: Counter[tuple[int, ...]]) -> dict[str, Any]:
    # Neighbours with a common beginning are drawn as one.
    rows = sorted(times.items())
    return {
        "type": "sampled",
        "name": name,
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum(times.values()),
        "samples": [list(stack) for stack, _ in rows],
        "weights": [ns for _, ns in rows],
    }


@define
class _Frames:
    """Frames by number, each kept once."""

    found: list[dict[str, Any]] = field(factory=list)
    _numbers: dict[tuple[str, str, int], int] = field(factory=dict)

    def stack(self, part: Part, kernel: str) -> tuple[int, ...]:
        """Return the frames of a part, outermost first."""
        names = part.module.split(".") if part.module else []
        modules = [ROOT, *(".".join(names[: n + 1]) for n in range(len(names)))]
        place = part.place
        short = f"{PurePosixPath(place.file).name}:{place.line}"
        return (
            *(self._number(module) for module in modules),
            self._number(short if place.file else NO_LINE, place.file, place.line),
            self._number(kernel),
        )

    def _number(self, name: str, file: str = "", line: int = 0) -> int:
        key = (name, file, line)
        if key not in self._numbers:
            self._numbers[key] = len(self.found)
            where = {"file": visible(file, 4096), "line": line} if file else {}
            self.found.append({"name": visible(name), **where})
        return self._numbers[key]
