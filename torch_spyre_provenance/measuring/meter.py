"""Measuring one piece of work: processor time, time, memory."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from types import TracebackType
from typing import Self

_PROCESS = Path("/proc/self")
_RESET_PEAK = "5"
_KIB = 1024


class Meter:
    """A block whose cost is measured, after the garbage of what came before is gone.

    Attributes:
        cpu: Processor seconds of the block, all threads of the process.
        wall: Seconds that passed.
        peak: Most memory that the process held meanwhile, bytes; 0 where the system
            does not tell.
    """

    def __init__(self) -> None:
        self.cpu = self.wall = 0.0
        self.peak = 0

    def __enter__(self) -> Self:
        """Start."""
        gc.collect()
        _reset_peak()
        self._wall = time.perf_counter()
        self._cpu = time.process_time()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.cpu = time.process_time() - self._cpu
        self.wall = time.perf_counter() - self._wall
        self.peak = _peak()


def _reset_peak() -> None:
    try:
        (_PROCESS / "clear_refs").write_text(_RESET_PEAK)
    except OSError:
        # Another system, or a kernel that does not allow it: the peak is that of the
        # process's whole life then, and no less true of both sides.
        return


def _peak() -> int:
    try:
        rows = (_PROCESS / "status").read_text().splitlines()
    except OSError:
        return 0
    sizes = (int(row.split()[1]) for row in rows if row.startswith("VmHWM:"))
    return _KIB * next(sizes, 0)
