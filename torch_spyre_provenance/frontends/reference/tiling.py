"""The pass that makes counted loops of work that reaches too far in device memory.

A core addresses the operands of one op from a base address each, and not further than
`config.max_span_bytes`. Where the division over cores leaves it more than that, the op
runs tile by tile, and the base addresses move on with every trip.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import sympy
from attrs import frozen

from ..host.layout import STICK_BYTES
from . import config, op_table
from .coordinates import NotOnDeviceError, advance, evaluate, host_coordinates, maximum
from .ir import spyre_loops
from .layouts import FixedTiledLayout, coordinates_of, host_shape, layout_of
from .loop_info import LOOP_INFO, CoarseTileInfo, Tiling, tile
from .tracing import Body, trace
from .work_division import divide

if TYPE_CHECKING:
    from torch._inductor import ir
    from torch._inductor.graph import GraphLowering

    from .plan import Plan


def coarse_tile(graph: GraphLowering, plan: Plan) -> None:
    """Put each op that reaches too far into a counted loop over one output loop.

    It is the one that needs the fewest trips, all of one size; where none is enough,
    the one that helps most, and another inside it. Neighbours that are tiled alike
    share their loops where each trip finds what it reads of the others written.
    Reduced loops are never tiled: an op for which no output loop helps stays whole,
    and so does one of a symbolic size.

    Provenance: none of it changes. Every op keeps its buffer, origins and origin node;
    the buffers keep their full size.
    """
    group = -1
    members: list[_Tiled] = []
    for buffer in plan.visit(spyre_loops(graph)):
        tilings = _tilings(buffer)
        if not tilings:
            members = []
            continue
        found = _tiled(buffer, tilings)
        if not members or not all(found.may_join(other) for other in members):
            group, members = group + 1, []
        members.append(found)
        info = CoarseTileInfo(group=group, tilings=tilings)
        object.__setattr__(buffer, LOOP_INFO, info)


@frozen(kw_only=True)
class _Tiled:
    """One op in counted loops, and what its tiles are.

    Attributes:
        buffer: The buffer that it writes.
        trips: The number of trips of each loop, and the iterations of all of them.
        touched: For each buffer, along which of its host dimensions the tiles lie, for
            each loop: None where an access is any other than the tiled symbol alone.
        has_own_memory: Whether the op writes a buffer that has no other name.
    """

    buffer: str
    trips: tuple[tuple[int, int], ...]
    touched: Mapping[str, frozenset[tuple[int | None, ...]]]
    has_own_memory: bool

    def may_join(self, other: _Tiled) -> bool:
        """Return whether both may be in one nest of loops.

        What one of them writes, the other must touch in the same tiles.
        """
        return (
            self.trips == other.trips
            and self.has_own_memory
            and other.has_own_memory
            and all(self._agrees(other, name) for name in (self.buffer, other.buffer))
        )

    def _agrees(self, other: _Tiled, name: str) -> bool:
        if name not in self.touched or name not in other.touched:
            return True
        dims, *others = self.touched[name] | other.touched[name]
        return not others and None not in dims


def _tiled(buffer: ir.ComputedBuffer, tilings: tuple[Tiling, ...]) -> _Tiled:
    body = trace(buffer)
    loops = [body.loops[each.dim] for each in tilings]
    touched: dict[str, frozenset[tuple[int | None, ...]]] = {}
    for name, index in _accesses(body):
        shape = host_shape(layout_of(name))
        place = dict.fromkeys(loop.symbol for loop in loops) | {
            c: d for d, c in enumerate(host_coordinates(index, shape, body.extents))
        }
        dims = tuple(place[loop.symbol] for loop in loops)
        touched[name] = touched.get(name, frozenset()) | {dims}
    return _Tiled(
        buffer=body.buffer,
        trips=tuple(
            (each.count, loop.extent) for each, loop in zip(tilings, loops, strict=True)
        ),
        touched=touched,
        has_own_memory=isinstance(buffer.get_layout(), FixedTiledLayout),
    )


def _tilings(buffer: ir.ComputedBuffer) -> tuple[Tiling, ...]:
    """Return how to tile an op, outermost loop first; empty where it stays whole."""
    body = trace(buffer)
    overwritten = set(buffer.get_mutation_names())
    if (
        body.unknown is not None
        or body.reduction in op_table.TOPK
        or any(loop.is_symbolic for loop in body.loops)
        or any(load.buffer in overwritten for load in body.loads)
    ):
        return ()
    try:
        return _chosen(body)
    except NotOnDeviceError:
        return ()  # the kernel says what the device cannot address


def _accesses(body: Body) -> Iterator[tuple[str, sympy.Expr]]:
    for load in body.loads:
        yield load.buffer, load.index
    yield body.buffer, body.output


def _chosen(body: Body) -> tuple[Tiling, ...]:
    """Tile one loop after the other until a tile fits; nothing where none would."""
    limit = config.max_span_bytes
    operands = [_operand(name, index, body) for name, index in _accesses(body)]
    if all(operand.size_bytes <= limit for operand in operands):
        return ()
    span = _span(operands, body)
    chosen: list[Tiling] = []
    while span > limit:
        spans = {
            each: _span(operands, tile(body, (*chosen, each)))
            for each in _candidates(operands, body)
            if each.dim not in {other.dim for other in chosen}
        }
        best = next((each for each in spans if spans[each] <= limit), None)
        best = best or min(spans, key=lambda each: spans[each], default=None)
        if best is None or spans[best] >= span:
            return ()
        chosen.append(best)
        span = spans[best]
    return tuple(sorted(chosen, key=lambda each: each.dim))


def _candidates(operands: list[_Operand], body: Body) -> list[Tiling]:
    """Return the ways to tile one output loop evenly, those of the fewest trips first.

    Every operand must move by whole sticks, by the same number in each trip.
    """
    ways = [
        Tiling(dim=dim, count=count)
        for dim, loop in enumerate(body.loops)
        for count in sympy.divisors(loop.extent)[1:]
        if all(o.moves_evenly(loop.symbol, loop.extent // count) for o in operands)
    ]
    return sorted(ways, key=lambda way: way.count)


def _span(operands: list[_Operand], body: Body) -> int:
    """Return the largest number of bytes over which one core's operand extends."""
    outer, inner = divide(body, config.sencores)
    per_core = {
        loop.symbol: -(-loop.extent // cores)
        for loop, cores in zip(
            (*body.loops, *body.reduced), (*outer, *inner), strict=True
        )
    }
    return max(operand.span(per_core) for operand in operands)


@frozen(kw_only=True)
class _Operand:
    """One access of an op: the extents of the device tensor, and where it goes."""

    size: tuple[int, ...]
    coordinates: tuple[sympy.Expr, ...]

    @property
    def size_bytes(self) -> int:
        """Return the bytes of the whole tensor."""
        return math.prod(self.size[:-1]) * STICK_BYTES

    def span(self, extents: Mapping[sympy.Symbol, int]) -> int:
        """Return the bytes from the first stick to the last one."""
        first = dict.fromkeys(extents, 0)
        sticks: int = sum(
            (maximum(coordinate, extents) - evaluate(coordinate, first))
            * math.prod(self.size[position + 1 : -1])
            for position, coordinate in enumerate(self.coordinates[:-1])
        )
        return (sticks + 1) * STICK_BYTES

    def moves_evenly(self, symbol: sympy.Symbol, step: int) -> bool:
        """Return whether every such step moves it by the same number of sticks."""
        *sticks, within = (advance(c, symbol, step) for c in self.coordinates)
        return None not in sticks and within == 0


def _operand(name: str, index: sympy.Expr, body: Body) -> _Operand:
    layout = layout_of(name)
    return _Operand(
        size=tuple(layout.device_layout.device_size),
        coordinates=tuple(coordinates_of(layout, index, body.extents)),
    )
