"""Dividing the work of an op over the cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import config, op_table
from .coordinates import NotOnDeviceError
from .ir import spyre_loops
from .layouts import layout_of, stick_coordinate
from .loop_info import one_tile
from .tracing import Body, Loop

if TYPE_CHECKING:
    import sympy
    from torch._inductor.graph import GraphLowering

    from .plan import Plan

SPLITS = "op_it_space_splits"
"""Buffer attribute: the number of cores along each output loop and each reduced one."""


def work_distribution(graph: GraphLowering, plan: Plan) -> None:
    """Divide every op over the cores: large output loops first, then one reduced loop.

    Inside a counted loop it is one tile that the cores share.

    Provenance: none of it changes.
    """
    for buffer in plan.visit(spyre_loops(graph)):
        splits = divide(one_tile(buffer), config.sencores)
        object.__setattr__(buffer, SPLITS, splits)


def divide(body: Body, cores: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the number of cores along each output loop and along each reduced one.

    The largest elements are found by one core.
    """
    if body.unknown is not None or body.reduction in op_table.TOPK:
        return _pick({}, body.loops), _pick({}, body.reduced)
    units = _units(body)
    shares: dict[sympy.Symbol, int] = {}
    left = cores
    for loop in sorted(body.loops, key=lambda loop: -units[loop.symbol]):
        shares[loop.symbol] = _largest_divisor(units[loop.symbol], left)
        left //= shares[loop.symbol]
    if body.reduction == op_table.MATMUL:
        for loop in body.reduced[:1]:
            shares[loop.symbol] = _largest_divisor(units[loop.symbol], left)
    return _pick(shares, body.loops), _pick(shares, body.reduced)


def _pick(shares: dict[sympy.Symbol, int], loops: tuple[Loop, ...]) -> tuple[int, ...]:
    return tuple(shares.get(loop.symbol, 1) for loop in loops)


def _units(body: Body) -> dict[sympy.Symbol, int]:
    """Return each loop's extent, in sticks where a tensor's stick follows it.

    A symbolic loop counts as one: nobody knows what would divide it.
    """
    units = {
        loop.symbol: 1 if loop.is_symbolic else loop.extent
        for loop in (*body.loops, *body.reduced)
    }
    indices = [(load.buffer, load.index) for load in body.loads]
    for name, index in [*indices, (body.buffer, body.output)]:
        layout = layout_of(name)
        try:
            coordinate = stick_coordinate(layout, index, body.extents)
        except NotOnDeviceError:
            continue
        stick = layout.device_layout.elems_per_stick()
        for symbol in coordinate.free_symbols if coordinate is not None else ():
            units[symbol] = min(units[symbol], -(-body.extents[symbol] // stick))
    return units


def _largest_divisor(size: int, limit: int) -> int:
    # A loop without iterations has one core, which does nothing.
    return next((n for n in range(min(size, limit), 0, -1) if size % n == 0), 1)
