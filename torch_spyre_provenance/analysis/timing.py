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
_Weighted = tuple[Attribution, "Place", int]


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
    """What one op of a kernel has of an event's time.

    Attributes:
        found: The op.
        place: One of its lines.
        ns: Nanoseconds.
    """

    found: Attribution
    place: Place
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
    divider = Divider(method)
    total, kernels, unjoined = _Tally[str](), _Tally[KernelRef](), _Tally[str]()
    lines, modules, inside = _Tally[Place](), _Tally[str](), _Tally[str]()
    for each in joined:
        if each.kernel is None:
            unjoined.add(each, [(each.reason, each.event.duration_ns)])
            continue
        parts = divider.divide(each)
        total.add(each, [("", each.event.duration_ns)])
        kernels.add(each, [(each.kernel, each.event.duration_ns)])
        lines.add(each, ((part.place, part.ns) for part in parts))
        modules.add(each, ((part.found.module_path, part.ns) for part in parts))
        inside.add(each, _enclosing(parts))
    return TraceTimes(
        method=method,
        fell_back=tuple(
            sorted(
                {ref.kernel.name for ref in kernels.events if divider.falls_back(ref)}
            )
        ),
        total=total.spent().get("", Spent(events=0, host_ns=0, device_ns=0)),
        kernels=kernels.spent(),
        lines=lines.spent(),
        modules=modules.spent(),
        inside=inside.spent(),
        unjoined=unjoined.spent(),
    )


@frozen(eq=False)
class Divider:
    """Divides the time of kernels among their ops.

    Attributes:
        method: How.
    """

    method: Share
    _known: dict[KernelRef, list[_Weighted]] = field(factory=dict, init=False)

    def divide(self, joined: Joined) -> tuple[Part, ...]:
        """Return what each op of a joined event's kernel has of the event's time.

        An op of several lines has a part for each, all alike. A kernel without ops has
        no parts.
        """
        if joined.kernel is None:
            return ()
        if joined.kernel not in self._known:
            self._known[joined.kernel] = self._weights(joined.kernel)
        weighted = self._known[joined.kernel]
        ns = _shared(joined.event.duration_ns, [weight for _, _, weight in weighted])
        return tuple(
            Part(found=found, place=place, ns=share)
            for (found, place, _), share in zip(weighted, ns, strict=True)
        )

    def falls_back(self, ref: KernelRef) -> bool:
        """Return whether a kernel is divided evenly although the method is another."""
        sizes = [_iterations(op) for op in ref.kernel.ops]
        return self.method is Share.ITERATIONS and (None in sizes or not any(sizes))

    def _weights(self, ref: KernelRef) -> list[_Weighted]:
        is_even = self.method is Share.OPS or self.falls_back(ref)
        sizes = [
            1 if is_even else size or 0 for size in map(_iterations, ref.kernel.ops)
        ]
        places = [_places(found) for found in ref.ops]
        # So that each op's weight can be divided among its lines without a remainder.
        scale = lcm(*map(len, places))
        return [
            (found, place, size * scale // len(lines))
            for found, size, lines in zip(ref.ops, sizes, places, strict=True)
            for place in lines
        ]


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
        names = part.found.module_path.split(".") if part.found.module_path else []
        for n in range(len(names) + 1):
            yield ".".join(names[:n]), part.ns


@define
class _Tally(Generic[_T]):
    """Times while they are added up."""

    events: Counter[_T] = field(factory=Counter)
    host: Counter[_T] = field(factory=Counter)
    device: Counter[_T] = field(factory=Counter)

    def add(self, joined: Joined, parts: Iterable[tuple[_T, int]]) -> None:
        """Add the parts of one event's time; a key may have several."""
        times = self.device if joined.clock is Clock.DEVICE else self.host
        keys: dict[_T, None] = {}
        for key, ns in parts:
            times[key] += ns
            keys[key] = None
        self.events.update(keys.keys())

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
