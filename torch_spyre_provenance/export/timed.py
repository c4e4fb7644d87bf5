"""The rows of a profiler's trace: what each device op has of its kernel's time."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define

from ..analysis.attribution import Attribution
from ..analysis.timing import Divider, Share
from ..analysis.trace import Clock, Joined
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
    divider = Divider(method)
    sums: dict[tuple[str, str, tuple[int, ...]], _Sum] = {}
    ops: dict[tuple[str, str, tuple[int, ...]], Attribution] = {}
    for each in joined:
        if each.kernel is None:
            continue
        compile_, seen = each.kernel.recorded.name, set()
        for part in divider.divide(each):
            key = (compile_, part.found.kernel, part.found.path)
            ops[key] = part.found
            total = sums.setdefault(key, _Sum())
            total.events += key not in seen
            seen.add(key)
            if each.clock is Clock.DEVICE:
                total.device_ns += part.ns
            else:
                total.host_ns += part.ns
    return [
        TimeRow(
            compile=compile_,
            kernel=kernel,
            spec_path=".".join(map(str, path)),
            module=ops[compile_, kernel, path].module_path,
            events=total.events,
            host_ns=total.host_ns,
            device_ns=total.device_ns,
        )
        for (compile_, kernel, path), total in sums.items()
    ]
