"""The pass that copies inputs into the memory near the cores.

torch-spyre solves for which buffers live there, and at which address. That takes a
model of the chip and tells nothing about provenance; the copies that it inserts do, as
ops without a line. This pass inserts those, and leaves every buffer where it is.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import torch
from attrs import evolve
from torch._inductor import ir

from ..host.layout import STICK_BYTES
from . import config, op_table
from .ir import is_spyre_loops, spyre_loops
from .layouts import layout_of, tiled
from .rewriting import add_buffer, add_node, copy_of, exchange_loads, fx_node_of
from .symbolic import is_symbolic, planned_sizes
from .tracing import Body, trace
from .work_division import SPLITS, divide

if TYPE_CHECKING:
    from torch._inductor.graph import GraphLowering

    from .plan import Plan

BYTES_PER_CORE = 2 * 1024 * 1024
"""Size of the memory near one core."""


def scratchpad_planning(graph: GraphLowering, plan: Plan) -> None:
    """Copy each input that several ops read whole, if `config.lx_planning` is set.

    A matrix product reads other parts on each core, so it gets no copy, nor do inputs
    that a library call reads or that are written, or whose size is symbolic.

    Provenance: the copy's one origin is a new `clone` node without a source, which is
    also its `origin_node`. The readers keep their buffers, origins and origin nodes.
    """
    if not config.lx_planning:
        return
    bodies = [trace(buffer) for buffer in plan.visit(spyre_loops(graph))]
    for name in graph.graph_input_names:
        if not isinstance(graph.graph_inputs[name], ir.TensorBox):
            continue  # a size
        readers = [
            body for body in bodies if any(load.buffer == name for load in body.loads)
        ]
        if len(readers) > 1 and _may_be_copied(graph, name, readers):
            _copy(graph, name, [body.buffer for body in readers])


def _may_be_copied(graph: GraphLowering, name: str, readers: list[Body]) -> bool:
    if any(map(is_symbolic, layout_of(name).size)):
        return False
    size = planned_sizes(layout_of(name).size)
    device_size = layout_of(name).device_layout.device_size
    limit = BYTES_PER_CORE * config.sencores
    return (
        name not in graph.mutated_inputs
        and math.prod(device_size[:-1]) * STICK_BYTES <= limit
        and not _is_read_elsewhere(graph, name)
        and all(_reads_whole(body, name, math.prod(size)) for body in readers)
    )


def _is_read_elsewhere(graph: GraphLowering, name: str) -> bool:
    return any(
        name in {read.name for read in operation.get_read_writes().reads}
        for operation in graph.operations
        if not is_spyre_loops(operation)
    )


def _reads_whole(body: Body, name: str, count: int) -> bool:
    extents = body.extents
    affine = body.unknown is None and body.reduction != op_table.MATMUL
    return affine and all(
        math.prod(extents[symbol] for symbol in load.index.free_symbols) == count
        for load in body.loads
        if load.buffer == name
    )


def _copy(graph: GraphLowering, name: str, readers: list[str]) -> None:
    source = fx_node_of(name)
    node = add_node(graph, torch.ops.aten.clone.default, (source,), name="clone")
    buffers = [buffer for buffer in spyre_loops(graph) if buffer.get_name() in readers]
    copy = add_buffer(graph, node, partial(copy_of, name), buffers[0])
    copy.layout = tiled(copy.get_layout(), layout_of(name).dim_order)
    object.__setattr__(copy, SPLITS, divide(trace(copy), config.sencores))
    for buffer in buffers:
        loads = [load for load in trace(buffer).loads if load.buffer == name]
        exchange_loads(
            buffer, {load: evolve(load, buffer=copy.get_name()) for load in loads}
        )
