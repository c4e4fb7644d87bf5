"""Where the time of a trace went: by kernel, by line of the model, by module.

An event covers a whole kernel: its time is the kernel's, to the nanosecond. What a line
or a module has of it is a share, by a method that is named, never a measurement. Shares
are whole nanoseconds and add up to the kernel's time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from math import lcm, prod
from typing import Generic, TypeVar

from attrs import define, field, frozen

from ..model import Op
from .attribution import Attribution
from .recorded import KernelRef
from .trace import Clock, Joined

_T = TypeVar("_T")


class Share(StrEnum):
    """How a kernel's time is divided among its ops.

    ``ITERATIONS``: by the size of each op's iteration space; kernels with a symbolic
    one fall back to ``OPS``: to each op the same.
    """

    ITERATIONS = "iterations"
    OPS = "ops"


@frozen(kw_only=True, order=True)
class Place:
    """A line of the model; the empty file stands for ops whose line is not known.

    Attributes:
        file: The file.
        line: The 1-based line.
    """

    file: str = ""
    line: int = 0


@frozen(kw_only=True)
class Part:
    """What one op of a kernel has of the kernel's time.

    Attributes:
        found: The op; None for the time of a kernel without ops.
        place: One of its lines.
        ns: Nanoseconds.
    """

    found: Attribution | None
    place: Place
    ns: int

    @property
    def module(self) -> str:
        """Return the path of the op's innermost module; "" for the root or none."""
        return self.found.module_path if self.found else ""


@frozen(kw_only=True)
class Runs:
    """All runs of one kernel in a trace, as far as one clock measured them.

    Attributes:
        kernel: The kernel; None where it is not known.
        clock: The clock.
        n: Number of events.
        ns: Nanoseconds of all of them.
    """

    kernel: KernelRef | None
    clock: Clock
    n: int
    ns: int


@frozen(kw_only=True)
class Spent:
    """Time that went somewhere, in nanoseconds.

    Attributes:
        events: Number of events with a part in it.
        host_ns: On the host, which launches a kernel or runs it itself.
        device_ns: On the device.
    """

    events: int
    host_ns: int
    device_ns: int


@frozen(kw_only=True)
class TraceTimes:
    """Where the time of a trace went; each mapping begins with the most.

    Attributes:
        method: How kernels' times are divided.
        fell_back: Names of the kernels that are divided evenly although the method is
            another.
        total: The time of all events that were joined.
        kernels: By kernel.
        lines: By line of the model.
        modules: By the path of the innermost module; "" for the root or none.
        inside: By the path of each module, with the modules inside it.
        unjoined: The time of the events that were not joined, by reason.
    """

    method: Share
    fell_back: tuple[str, ...]
    total: Spent
    kernels: Mapping[KernelRef, Spent]
    lines: Mapping[Place, Spent]
    modules: Mapping[str, Spent]
    inside: Mapping[str, Spent]
    unjoined: Mapping[str, Spent]


def measure_times(joined: Iterable[Joined], method: Share) -> TraceTimes:
    """Return where the time of a trace went.

    Args:
        joined: The events that ran kernels.
        method: How to divide a kernel's time among its ops.
    """
    joined = tuple(joined)
    total, kernels, unjoined = _Tally[str](), _Tally[KernelRef](), _Tally[str]()
    lines, modules, inside = _Tally[Place](), _Tally[str](), _Tally[str]()
    for each in joined:
        if each.kernel is None:
            own = Runs(kernel=None, clock=each.clock, n=1, ns=each.event.duration_ns)
            unjoined.add(own, [(each.reason, own.ns)])
    for runs in sum_runs(joined):
        parts = divide(runs, method)
        total.add(runs, [("", runs.ns)])
        if runs.kernel is not None:
            kernels.add(runs, [(runs.kernel, runs.ns)])
        lines.add(runs, ((part.place, part.ns) for part in parts))
        modules.add(runs, ((part.module, part.ns) for part in parts))
        inside.add(runs, _enclosing(parts))
    return TraceTimes(
        method=method,
        fell_back=tuple(
            sorted(
                {ref.kernel.name for ref in kernels.events if _falls_back(ref, method)}
            )
        ),
        total=total.spent().get("", Spent(events=0, host_ns=0, device_ns=0)),
        kernels=kernels.spent(),
        lines=lines.spent(),
        modules=modules.spent(),
        inside=inside.spent(),
        unjoined=unjoined.spent(),
    )


def sum_runs(joined: Iterable[Joined]) -> tuple[Runs, ...]:
    """Return the runs of each kernel on each clock, in the order of their first."""
    times: dict[tuple[KernelRef, Clock], list[int]] = {}
    for each in joined:
        if each.kernel is not None:
            key = (each.kernel, each.clock)
            times.setdefault(key, []).append(each.event.duration_ns)
    return tuple(
        Runs(kernel=kernel, clock=clock, n=len(durations), ns=sum(durations))
        for (kernel, clock), durations in times.items()
    )


def divide(runs: Runs, method: Share) -> tuple[Part, ...]:
    """Return what each op of a kernel has of the kernel's time.

    An op of several lines has a part for each, all alike. The time of a kernel without
    ops has no line.
    """
    weights = _weights(runs.kernel, method) if runs.kernel else []
    if not weights:
        return (Part(found=None, place=Place(), ns=runs.ns),)
    ns = _shared(runs.ns, [weight for _, _, weight in weights])
    return tuple(
        Part(found=found, place=place, ns=share)
        for (found, place, _), share in zip(weights, ns, strict=True)
    )


def _weights(ref: KernelRef, method: Share) -> list[tuple[Attribution, Place, int]]:
    is_even = method is Share.OPS or _falls_back(ref, method)
    sizes = [1 if is_even else size or 0 for size in map(_iterations, ref.kernel.ops)]
    places = [_places(found) for found in ref.ops]
    # So that each op's weight can be divided among its lines without a remainder.
    scale = lcm(*map(len, places))
    return [
        (found, place, size * scale // len(lines))
        for found, size, lines in zip(ref.ops, sizes, places, strict=True)
        for place in lines
    ]


def _falls_back(ref: KernelRef, method: Share) -> bool:
    sizes = [_iterations(op) for op in ref.kernel.ops]
    return method is Share.ITERATIONS and (None in sizes or not any(sizes))


def _iterations(op: Op) -> int | None:
    """Return the size of an op's iteration space, None where it is symbolic."""
    extents = (*(dim.extent for dim in op.iteration_space), *op.loops)
    if not all(extent.isdecimal() for extent in extents):
        return None
    return prod(int(extent) for extent in extents)


def _places(found: Attribution) -> tuple[Place, ...]:
    places = (Place(file=p.frame.file, line=p.frame.line) for p in found.locations)
    return tuple(places) or (Place(),)


def _shared(amount: int, weights: Sequence[int]) -> list[int]:
    """Divide a number by weights into whole numbers that add up to it.

    What rounding down leaves goes to those that lost most by it.
    """
    whole = sum(weights)
    if not whole:
        return [0] * len(weights)
    shares = [amount * weight // whole for weight in weights]
    lost = [amount * weight % whole for weight in weights]
    most = sorted(range(len(lost)), key=lambda n: -lost[n])
    for n in most[: amount - sum(shares)]:
        shares[n] += 1
    return shares


def _enclosing(parts: Iterable[Part]) -> Iterator[tuple[str, int]]:
    for part in parts:
        names = part.module.split(".") if part.module else []
        for n in range(len(names) + 1):
            yield ".".join(names[:n]), part.ns


@define
class _Tally(Generic[_T]):
    """Times while they are added up."""

    events: Counter[_T] = field(factory=Counter)
    host: Counter[_T] = field(factory=Counter)
    device: Counter[_T] = field(factory=Counter)

    def add(self, runs: Runs, parts: Iterable[tuple[_T, int]]) -> None:
        """Add the parts of some runs' time; a key may have several."""
        times = self.device if runs.clock is Clock.DEVICE else self.host
        keys: dict[_T, None] = {}
        for key, ns in parts:
            times[key] += ns
            keys[key] = None
        for key in keys:
            self.events[key] += runs.n

    def spent(self) -> dict[_T, Spent]:
        """Return the sums, the greatest first."""
        order = sorted(
            self.events, key=lambda key: (-self.device[key], -self.host[key])
        )
        return {
            key: Spent(
                events=self.events[key],
                host_ns=self.host[key],
                device_ns=self.device[key],
            )
            for key in order
        }
