"""The pass that lengthens what a matrix product sums over to whole sticks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy
import torch
from attrs import evolve
from torch._inductor import ir
from torch._inductor.lowering import lowerings

from . import op_table
from .ir import SpyreConstantFallback, SpyreEmptyFallback, spyre_loops
from .layouts import layout_of, tiled
from .rewriting import (
    add_buffer,
    add_node,
    exchange_body,
    fx_node_of,
    parent_of,
    pointwise,
)
from .tracing import Body, Load, Loop, Value, trace

if TYPE_CHECKING:
    from torch._inductor.graph import GraphLowering

    from .plan import Plan


def insert_bmm_padding(graph: GraphLowering, plan: Plan) -> None:
    """Put zeros under the second operand of products that sum over part of a stick.

    The first operand's sticks run along the summed loop, so the device reads whole ones
    of it, and needs as many rows of the second operand. The loop itself keeps its
    length. A second operand of one column has its sticks along that loop too.

    Provenance: the allocation, the zero, the fill and the copy have one origin, a new
    `constant_pad_nd` node without a source, which is also their `origin_node`. The
    product keeps its buffer, origins and origin node.
    """
    for buffer in plan.visit(spyre_loops(graph)):
        if buffer.get_reduction_type() == op_table.MATMUL:
            _pad(graph, buffer)


def _pad(graph: GraphLowering, product: ir.ComputedBuffer) -> None:
    body = trace(product)
    x, y = body.loads
    columns = y.index.free_symbols - x.index.free_symbols
    stick = layout_of(y.buffer).device_layout.elems_per_stick()
    missing = -body.reduced[0].extent % stick if body.reduced else 0
    if not columns or not missing:
        return
    padded = _Padder(graph, product, body, y).padded(missing)
    exchange_body(product, evolve(body, values=(body.values[0], padded)))


class _Padder:
    """Makes the longer copy of one product's second operand."""

    def __init__(
        self, graph: GraphLowering, product: ir.ComputedBuffer, body: Body, y: Load
    ) -> None:
        self._graph = graph
        self._product = product
        self._y = y
        (self._rows,) = body.reduced
        moving = [loop for loop in body.loops if loop.symbol in y.index.free_symbols]
        *batch, columns = moving
        self._loops = (*batch, self._rows, columns)
        self._dim = len(batch)
        self._device = product.get_device_or_error()

    def padded(self, missing: int) -> Load:
        """Return the load from a copy with `missing` rows of zeros at its end."""
        rows = self._rows.extent
        node = self._node(missing)
        size = [loop.size for loop in self._loops]
        size[self._dim] += missing
        layout = tiled(ir.FixedLayout(self._device, self._y.dtype, size))
        whole = add_buffer(
            self._graph, node, lambda: SpyreEmptyFallback(layout), self._product
        )
        self._write(node, whole, (rows, rows + missing), self._zero(node))
        self._write(node, whole, (0, rows), self._y)
        index = layout.make_indexer()([loop.symbol for loop in self._loops])
        return Load(
            buffer=whole.get_name(), index=index, dtype=self._y.dtype, raw=index
        )

    def _node(self, missing: int) -> torch.fx.Node:
        pad = [0] * (2 * (len(self._loops) - self._dim))
        pad[-1] = missing
        return add_node(
            self._graph,
            torch.ops.aten.constant_pad_nd.default,
            (fx_node_of(self._y.buffer), pad, 0.0),
            parent_of(self._product),
        )

    def _zero(self, node: torch.fx.Node) -> Load:
        layout = ir.FixedLayout(self._device, self._y.dtype, [], [])
        zero = add_buffer(
            self._graph,
            node,
            lambda: SpyreConstantFallback(0.0, layout),
            self._product,
        )
        first = sympy.S.Zero
        return Load(buffer=zero.get_name(), index=first, dtype=self._y.dtype, raw=first)

    def _write(
        self,
        node: torch.fx.Node,
        whole: ir.Buffer,
        rows: tuple[int, int],
        value: Value,
    ) -> None:
        start, end = rows
        loops = list(self._loops)
        loops[self._dim] = Loop(symbol=self._rows.symbol, extent=end - start)
        data = pointwise(self._device, self._y.dtype, loops, value)
        box = ir.TensorBox(ir.StorageBox(whole))
        part = lowerings[torch.ops.aten.slice.Tensor](box, self._dim, start, end)

        def write() -> ir.ComputedBuffer:
            made = ir.MutationLayoutSHOULDREMOVE.realize_into(
                ir.TensorBox.create(data), part
            )
            assert isinstance(made, ir.ComputedBuffer)  # noqa: S101 - it is realized
            return made

        add_buffer(self._graph, node, write, self._product)
