"""The true lines of a program's device ops, known from nothing but their extents.

A generated program gives each of its lines a tensor extent that no other line has, and
of which none divides another. An op's iteration space then tells which line it
computes, whatever the compiler's metadata may say; where several lines share an extent,
the device's name for the op tells them apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property

from attrs import field, frozen

from torch_spyre_provenance.model import Op

MATMUL = "batchmatmul"

_OFFSET = re.compile(r"(c\d+) \+ \d+")

MOVES = frozenset(
    {"ReStickifyOpHBM", "identity", "dl16tofp32", "fp32todl16", "fp8todl16"}
)
"""Device ops that move data and compute nothing: a compiler may have inserted them."""


@frozen(kw_only=True)
class Making:
    """A line that computes the values of one extent.

    Attributes:
        place: The line, as ``file:line``.
        extent: The extent.
        ops: The device's names for what the line computes; empty for all those that no
            other line of the extent claims.
    """

    place: str
    extent: int
    ops: frozenset[str] = frozenset()


@frozen(kw_only=True)
class Value:
    """A tensor of a program, known by the extents that it alone has.

    Attributes:
        extents: Its known extents.
        places: The lines that make it or read it, as ``file:line``.
    """

    extents: frozenset[int]
    places: frozenset[str]


@frozen(kw_only=True)
class Expected:
    """What may be said of one op.

    Attributes:
        allowed: The lines that it may be attributed to; empty where nothing is known.
        needed: The line that has to be among them, or None.
    """

    allowed: frozenset[str]
    needed: str | None = None

    def is_wrong(self, claimed: Iterable[str]) -> bool:
        """Return whether lines that an op is attributed to are not its own.

        An op that is attributed to nothing is missing and not wrong.
        """
        lines = set(claimed)
        if not lines or not self.allowed:
            return False
        return not lines <= self.allowed or (
            self.needed is not None and self.needed not in lines
        )

    def __str__(self) -> str:
        """Return the lines, the needed one alone where there is one."""
        return self.needed or " or ".join(sorted(self.allowed)) or "unknown"


@frozen(kw_only=True, slots=False)
class Truth:
    """What a program's extents say about its ops.

    Attributes:
        makings: The lines that compute something, in program order.
        values: The tensors that lines share or own.
        reducers: For an extent, the line that reduces it without making a later one.
        sums: Extents that are the sum of two others; they may be multiples of others.
        row_lines: The lines that compute something with one element for each row, and
            so without an extent of their own.
    """

    makings: tuple[Making, ...]
    values: tuple[Value, ...] = ()
    reducers: Mapping[int, str] = field(factory=dict)
    sums: frozenset[int] = frozenset()
    row_lines: frozenset[str] = frozenset()

    @cached_property
    def order(self) -> Mapping[int, int]:
        """Return the rank of each known extent: later lines make higher ones.

        The extents of the inputs, which no line makes, are below all others.
        """
        made = dict.fromkeys(making.extent for making in self.makings)
        given = sorted({e for value in self.values for e in value.extents} - set(made))
        extents = dict.fromkeys((*given, *made))
        return {extent: rank for rank, extent in enumerate(extents)}

    @cached_property
    def places(self) -> frozenset[str]:
        """Return all lines that do anything."""
        return frozenset().union(*(value.places for value in self.values))

    def expected(self, op: Op, *, backward: bool = False) -> Expected:
        """Return what may be said of an op.

        Args:
            op: The op.
            backward: Whether it computes gradients. The sum of the gradients of a
                value's readers belongs to all lines that touch the value.
        """
        if not any(dim.extent != "1" for dim in op.iteration_space):
            # A number, as one that gradients are masked with.
            return _one_of(self.places)
        if _is_filling(op):
            return Expected(allowed=self._touching_any(_whole_extents(op)))
        extents = self.known(dim.extent for dim in op.iteration_space)
        if not extents:
            return _one_of(self.row_lines)
        if op.op in MOVES or (backward and op.op == "add"):
            return Expected(allowed=self._touching(extents))
        highest = max(extents, key=self.order.__getitem__)
        if op.op != MATMUL and highest in self.reducers and _reduces(op, highest):
            line = self.reducers[highest]
            return Expected(allowed=frozenset({line}), needed=line)
        return _one_of(self._makers(highest, op.op))

    def known(self, extents: Iterable[str]) -> frozenset[int]:
        """Return the known extents in an iteration space, also of merged dimensions."""
        numbers = [int(text) for text in extents if text.isdecimal()]
        return frozenset(e for number in numbers if number for e in self._parts(number))

    def _parts(self, number: int) -> Iterable[int]:
        if number in self.order:
            return (number,)
        return (e for e in self.order if e not in self.sums and number % e == 0)

    def _makers(self, extent: int, op: str) -> frozenset[str]:
        makings = [making for making in self.makings if making.extent == extent]
        named = [making for making in makings if op in making.ops]
        others = [making for making in makings if not making.ops]
        return frozenset(making.place for making in named or others or makings)

    def _touching_any(self, texts: Iterable[str]) -> frozenset[str]:
        extents = self.known(texts)
        return self._touching(extents) if extents else frozenset()

    def _touching(self, extents: frozenset[int]) -> frozenset[str]:
        exact = [value.places for value in self.values if value.extents == extents]
        highest = max(extents, key=self.order.__getitem__)
        if exact:
            return frozenset().union(*exact)
        alone = [v.places for v in self.values if v.extents == frozenset({highest})]
        makers = [m.place for m in self.makings if m.extent == highest]
        return frozenset(makers).union(*alone)


def _one_of(places: frozenset[str]) -> Expected:
    needed = next(iter(places)) if len(places) == 1 else None
    return Expected(allowed=places, needed=needed)


def _is_filling(op: Op) -> bool:
    """Return whether an op writes one number into a part of a larger buffer."""
    reads = [text for arg in op.args if arg.is_input for text in arg.device_coordinates]
    return op.op in MOVES and set(reads) == {"0"} and bool(_shifted(op))


def _whole_extents(op: Op) -> list[str]:
    """Return the extents of an op that are not what a filling happens to leave over."""
    shifted = _shifted(op)
    return [dim.extent for dim in op.iteration_space if dim.symbol not in shifted]


def _shifted(op: Op) -> frozenset[str]:
    """Return the loop symbols that an op writes at an offset."""
    written = [c for arg in op.args if not arg.is_input for c in arg.device_coordinates]
    return frozenset(found[1] for text in written if (found := _OFFSET.search(text)))


def _reduces(op: Op, extent: int) -> bool:
    """Return whether an op's result has lost a dimension."""
    symbols = {d.symbol for d in op.iteration_space if d.extent == str(extent)}
    written = " ".join(
        text for arg in op.args if not arg.is_input for text in arg.device_coordinates
    )
    return symbols.isdisjoint(re.findall(r"\w+", written))
