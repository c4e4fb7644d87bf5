"""Passes that choose a stick layout for every buffer.

The rules are simple on purpose: each op keeps the stick of its largest input where it
can, and a matrix product has the sticks that the hardware wants. Where an op's input
lies the other way round, a `restickify` buffer is put in between.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch
from attrs import evolve
from torch._inductor import ir
from torch._inductor.graph import SubgraphLowering

from . import op_table
from .coordinates import NotOnDeviceError, host_coordinates
from .ir import spyre_loops
from .layouts import (
    SPARSE,
    FixedTiledLayout,
    buffer_of,
    host_shape,
    layout_of,
    moments,
    order_with_stick,
    stick_coordinate,
    strides_of,
    tiled,
)
from .plan import Choice, Need, Plan
from .rewriting import add_buffer, add_node, copy_of, exchange_loads, fx_node_of
from .tracing import Body, Load, trace

if TYPE_CHECKING:
    import sympy
    from torch._inductor.graph import GraphLowering


def propagate_spyre_tensor_layouts(graph: GraphLowering, plan: Plan) -> None:
    """Choose a stick layout for the inputs and for every operation, in order.

    A 2-D parameter that a matrix product reads the other way round gets its stick
    along dimension 0, as `model.to("spyre")` lays out linear weights.

    Provenance: none of it changes.
    """
    bodies = {b.get_name(): trace(b) for b in plan.visit(spyre_loops(graph))}
    _lay_out_weights(graph, bodies)
    for buffer in plan.visit(spyre_loops(graph)):
        name = buffer.get_name()
        body = bodies[name]
        choice = _choose(body, buffer.get_layout())
        plan.choices[name] = choice
        if body.reduction == op_table.EXX2:
            buffer.layout = moments(buffer.get_layout())
        elif not isinstance(buffer.get_layout(), ir.MutationLayoutSHOULDREMOVE):
            # Readers further down look at the layout that the buffer will have.
            buffer.layout = tiled(buffer.get_layout().as_fixed(), choice.dim_order)


def finalize_layouts(graph: GraphLowering, plan: Plan) -> None:
    """Check that every loop nest has the layout that was chosen for it.

    Provenance: none of it changes.
    """
    for name, choice in plan.choices.items():
        layout = buffer_of(name).get_layout()
        if isinstance(layout, FixedTiledLayout) and (
            layout.dim_order != choice.dim_order
        ):
            raise AssertionError(f"{name} lost its layout")


def insert_restickify(graph: GraphLowering, plan: Plan) -> None:
    """Put a copy with the wanted stick before each op whose input has another.

    Provenance: the copy's one origin is a new `spyre.restickify` node without a source;
    its `origin_node` is that node. The op keeps its buffer, origins and origin node.
    """
    for buffer in plan.visit(spyre_loops(graph)):
        choice = plan.choices.get(buffer.get_name())
        if choice is not None and choice.needs:
            _insert(graph, buffer, choice.needs)


def _insert(
    graph: GraphLowering, consumer: ir.ComputedBuffer, needs: tuple[Need, ...]
) -> None:
    replacements: dict[Load, Load] = {}
    for need in needs:
        source = layout_of(need.load.buffer)
        producer = fx_node_of(need.load.buffer)
        target = torch.ops.spyre.restickify.default
        node = add_node(graph, target, (producer,))
        copy = add_buffer(graph, node, partial(copy_of, need.load.buffer), consumer)
        stride = strides_of(source)
        layout = tiled(source, order_with_stick(stride, need.stick_dim))
        layout.offset = 0
        copy.layout = layout
        replacements[need.load] = evolve(need.load, buffer=copy.get_name())
    exchange_loads(consumer, replacements)


def _choose(body: Body, layout: ir.Layout) -> Choice:
    if isinstance(layout, ir.MutationLayoutSHOULDREMOVE):
        fixed = layout_of(body.buffer)
        symbol = _only_symbol(stick_coordinate(fixed, body.output, body.extents))
        return Choice(dim_order=fixed.dim_order, needs=tuple(_needs(body, symbol)))
    symbol = _stick_symbol(body)
    own = tiled(layout.as_fixed())
    stride = strides_of(own)
    order = own.dim_order
    if body.unknown is not None:
        return Choice(dim_order=order)
    if body.reduction == op_table.EXX2:
        order = (*range(len(stride)), SPARSE)
    elif symbol is not None:
        dim = _dim_of(symbol, body.output, own, body)
        order = order_with_stick(stride, SPARSE if dim is None else dim)
    elif _is_sparse_throughout(body):
        order = order_with_stick(stride, SPARSE)
    return Choice(dim_order=order, needs=tuple(_needs(body, symbol)))


def _stick_symbol(body: Body) -> sympy.Symbol | None:
    """Return the loop along which the op's sticks should lie."""
    if body.reduction == op_table.MATMUL:
        return _matmul_symbols(body)[1]
    if body.reduction in op_table.ACROSS_STICKS:
        return _surviving_symbol(body)
    by_size = sorted(body.loads, key=lambda load: -len(load.index.free_symbols))
    for load in by_size:
        symbol = _load_symbol(load, body)
        if symbol is not None:
            return symbol
    return None


def _surviving_symbol(body: Body) -> sympy.Symbol | None:
    """Return the innermost loop that a reduction reads along and does not reduce."""
    (load,) = body.loads
    present = _load_symbol(load, body)
    moving = [s.symbol for s in body.loops if s.symbol in load.index.free_symbols]
    return present if present in moving or not moving else moving[-1]


def _matmul_symbols(body: Body) -> tuple[sympy.Symbol | None, sympy.Symbol | None]:
    """Return the loops along which x and y should have their sticks."""
    x, y = body.loads
    columns = y.index.free_symbols - x.index.free_symbols
    inner = [loop.symbol for loop in body.reduced]
    outer = [loop.symbol for loop in body.loops if loop.symbol in columns]
    return (inner[0] if inner else None), (outer[-1] if outer else None)


def _needs(body: Body, symbol: sympy.Symbol | None) -> list[Need]:
    wanted = dict.fromkeys(range(len(body.loads)), symbol)
    if body.reduction == op_table.MATMUL:
        wanted = dict(enumerate(_matmul_symbols(body)))
    needs = []
    for position, load in enumerate(body.loads):
        need = _need(load, wanted[position], body)
        if need is not None and need not in needs:
            needs.append(need)
    return needs


def _need(load: Load, symbol: sympy.Symbol | None, body: Body) -> Need | None:
    present = _load_symbol(load, body)
    if symbol is None or present in (None, symbol):
        return None
    dim = _dim_of(symbol, load.index, layout_of(load.buffer), body)
    return None if dim is None else Need(load=load, stick_dim=dim)


def _load_symbol(load: Load, body: Body) -> sympy.Symbol | None:
    try:
        coordinate = stick_coordinate(layout_of(load.buffer), load.index, body.extents)
    except NotOnDeviceError:
        return None
    return _only_symbol(coordinate)


def _only_symbol(coordinate: sympy.Expr | None) -> sympy.Symbol | None:
    symbols = set() if coordinate is None else coordinate.free_symbols
    return next(iter(symbols)) if len(symbols) == 1 else None


def _dim_of(
    symbol: sympy.Symbol, index: sympy.Expr, layout: FixedTiledLayout, body: Body
) -> int | None:
    """Return the host dimension in which one loop alone moves within a stick."""
    stick = layout.device_layout.elems_per_stick()
    try:
        coordinates = host_coordinates(index, host_shape(layout), body.extents)
    except NotOnDeviceError:
        return None
    moved = [d for d, c in enumerate(coordinates) if symbol in c.free_symbols]
    alone = [d for d in moved if (coordinates[d] % stick).free_symbols == {symbol}]
    return alone[-1] if alone else None


def _is_sparse_throughout(body: Body) -> bool:
    """Return whether every input that varies has one element per stick."""
    varying = [load for load in body.loads if load.index.free_symbols]
    return bool(varying) and all(
        layout_of(load.buffer).dim_order[-1:] == (SPARSE,) for load in varying
    )


def _lay_out_weights(graph: GraphLowering, bodies: dict[str, Body]) -> None:
    static = _static_inputs(graph)
    for body in bodies.values():
        if body.reduction != op_table.MATMUL:
            continue
        _, y = body.loads
        need = _need(y, _matmul_symbols(body)[1], body)
        layout = layout_of(y.buffer)
        if need and y.buffer in static and len(layout.size) == 2:
            order = order_with_stick(strides_of(layout), need.stick_dim)
            buffer_of(y.buffer).layout = tiled(layout, order)


def _static_inputs(graph: GraphLowering) -> set[str]:
    """Return the names of the inputs that are parameters or buffers of the model."""
    context = torch._guards.TracingContext.try_get()
    if context is None or context.fw_metadata is None or graph.is_backward:
        return set()
    if isinstance(graph, SubgraphLowering):
        return set()  # the context speaks of the inputs of the graph around it
    names = graph.graph_input_names
    indices = context.fw_metadata.static_input_indices
    return {names[index] for index in indices if index < len(names)}
