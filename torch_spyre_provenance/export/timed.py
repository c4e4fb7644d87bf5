"""The rows of a profiler's trace: what each device op has of its kernel's time."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define

from ..analysis.attribution import Attribution
from ..analysis.timing import Share, divide, sum_runs
from ..analysis.trace import Clock, Joined
from ..model import spec_path_text
from .tables import TimeRow


@define
class _Sum:
    events: int = 0
    host_ns: int = 0
    device_ns: int = 0


def time_rows(joined: Iterable[Joined], method: Share) -> list[TimeRow]:
    """Return one row for each op of each kernel that a trace has events of.

    Args:
        joined: The events that ran kernels. What was joined to none has no row.
        method: How a kernel's time is divided among its ops.
    """
    sums: dict[tuple[str, str, tuple[int, ...]], _Sum] = {}
    ops: dict[tuple[str, str, tuple[int, ...]], Attribution] = {}
    for runs in sum_runs(joined):
        compile_ = runs.kernel.recorded.name if runs.kernel else ""
        seen = set()
        for part in divide(runs, method):
            if part.found is None:
                continue
            key = (compile_, part.found.kernel, part.found.path)
            ops[key] = part.found
            total = sums.setdefault(key, _Sum())
            total.events += 0 if key in seen else runs.n
            seen.add(key)
            if runs.clock is Clock.DEVICE:
                total.device_ns += part.ns
            else:
                total.host_ns += part.ns
    return [
        TimeRow(
            compile=compile_,
            kernel=kernel,
            spec_path=spec_path_text(path),
            module=ops[compile_, kernel, path].module_path,
            events=total.events,
            host_ns=total.host_ns,
            device_ns=total.device_ns,
        )
        for (compile_, kernel, path), total in sums.items()
    ]
