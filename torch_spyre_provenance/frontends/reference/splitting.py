"""Passes over the loop bodies themselves: dead ones, and those of several ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy
import torch
from attrs import evolve
from torch._inductor import ir

from torch_spyre_provenance.model import ProvenanceTransform

from .ir import SpyreConstantFallback, is_spyre_loops, spyre_loops
from .rewriting import (
    add_buffer,
    add_node,
    descend,
    exchange_body,
    exchange_loads,
    fx_node_of,
    parent_of,
    pointwise,
    record_step,
    register,
)
from .tracing import Apply, Body, Constant, Load, Loop, Value, loads_of, trace

if TYPE_CHECKING:
    from torch._inductor.graph import GraphLowering

    from .plan import Plan

_ATEN_OF_HANDLER = {
    "to_dtype": torch.ops.prims.convert_element_type.default,
    "truediv": torch.ops.aten.div.Tensor,
    "where": torch.ops.aten.where.self,
}


def deadcode_elimination(graph: GraphLowering, _: Plan) -> None:
    """Remove the loop nests whose result nobody reads.

    Provenance: the removed buffers' origins go with them; the others keep theirs.
    """
    needed = set(graph.get_output_names())
    kept: list[ir.Operation] = []
    for operation in reversed(graph.operations):
        names = {buffer.get_name() for buffer in operation.get_outputs()}
        if (
            not is_spyre_loops(operation)
            or operation.get_mutation_names()
            or names & needed
        ):
            kept.append(operation)
            needed |= _reads(operation)
    graph.operations[:] = reversed(kept)


def _reads(operation: ir.Operation) -> set[str]:
    if is_spyre_loops(operation):
        body = trace(operation)
        if body.unknown is None:
            return {load.buffer for load in body.loads}
    return {dependency.name for dependency in operation.get_read_writes().reads}


def split_multi_ops(graph: GraphLowering, plan: Plan) -> None:
    """Cut every body that computes more than one op into one buffer per op.

    Provenance: the last op keeps the buffer, with its origins and origin node. Each
    other op has one origin, an FX node made before the original one: it inherits the
    stack trace, its `from_node` names the original, its `original_aten` is its own
    operator. A number becomes a `spyre.constant` node without a source.
    """
    for buffer in plan.visit(spyre_loops(graph)):
        _split(graph, buffer)


def _split(graph: GraphLowering, buffer: ir.ComputedBuffer) -> None:
    body = trace(buffer)
    if body.unknown is not None:
        return  # the kernel says what the device lacks
    splitter = _Splitter(graph, buffer, body)
    values = tuple(splitter.operand_or_root(value) for value in body.values)
    if values == body.values:
        return
    exchange_body(buffer, evolve(body, values=values))
    if not splitter.has_materialized:
        return
    record_step(
        buffer,
        ProvenanceTransform(
            kind="decomposition",
            pass_name=split_multi_ops.__name__,
            reason=f"materialize {_name_of(values[0])}",
        ),
    )


def _name_of(value: Value) -> str:
    return value.op if isinstance(value, Apply) else "load"


class _Splitter:
    """Gives the inner values of one body buffers of their own.

    Attributes:
        has_materialized: Whether one of them was an op, and not only a number.
    """

    def __init__(
        self, graph: GraphLowering, buffer: ir.ComputedBuffer, body: Body
    ) -> None:
        self._graph = graph
        self._buffer = buffer
        self._body = body
        self._parent = parent_of(buffer)
        self.has_materialized = False

    def operand_or_root(self, value: Value) -> Value:
        """Return a stored or reduced value as the device can compute it."""
        if self._body.reduction is None and isinstance(value, Apply):
            return self._flat(value)
        return self._operand(value)

    def _flat(self, value: Apply) -> Apply:
        args = tuple(self._operand(argument) for argument in value.args)
        return Apply(op=value.op, args=args, dtype=value.dtype, info=value.info)

    def _operand(self, value: Value) -> Load:
        if isinstance(value, Load):
            return value
        if isinstance(value, Constant):
            return self._constant(value)
        return self._materialize(self._flat(value))

    def _constant(self, constant: Constant) -> Load:
        device = self._buffer.get_device_or_error()
        target = torch.ops.spyre.constant.default
        args = (float(constant.value), constant.dtype, device)
        node = add_node(self._graph, target, args)
        layout = ir.FixedLayout(device, constant.dtype, [], [])
        buffer = add_buffer(
            self._graph,
            node,
            lambda: SpyreConstantFallback(float(constant.value), layout),
            self._buffer,
        )
        return _first_element(buffer, constant.dtype)

    def _materialize(self, value: Apply) -> Load:
        self.has_materialized = True
        loops = self._loops_of(value)
        target = _aten_of(value.op)
        names = (load.buffer for load in loads_of(value))
        arguments = tuple(fx_node_of(name) or name for name in names)
        node = add_node(self._graph, target, arguments, self._parent)
        if self._parent is not None:
            descend(node, self._parent, split_multi_ops.__name__)
        device = self._buffer.get_device_or_error()
        data = pointwise(device, value.dtype, loops, value)
        layout = ir.FixedLayout(device, value.dtype, list(data.ranges))
        buffer = add_buffer(
            self._graph,
            node,
            lambda: register(self._graph, layout, data),
            self._buffer,
        )
        record_step(
            buffer,
            ProvenanceTransform(
                kind="decomposition",
                pass_name=split_multi_ops.__name__,
                reason=f"materialize {value.op}",
            ),
        )
        index = layout.make_indexer()([loop.symbol for loop in loops])
        return Load(buffer=buffer.get_name(), index=index, dtype=value.dtype, raw=index)

    def _loops_of(self, value: Apply) -> tuple[Loop, ...]:
        symbols = {s for load in loads_of(value) for s in load.index.free_symbols}
        every = (*self._body.loops, *self._body.reduced)
        return tuple(loop for loop in every if loop.symbol in symbols)


def _first_element(buffer: ir.Buffer, dtype: torch.dtype) -> Load:
    zero = sympy.S.Zero
    return Load(buffer=buffer.get_name(), index=zero, dtype=dtype, raw=zero)


def _aten_of(handler: str) -> torch._ops.OpOverload:
    """Return the ATen operator that a handler's operation stands for."""
    if handler in _ATEN_OF_HANDLER:
        return _ATEN_OF_HANDLER[handler]
    packet = getattr(torch.ops.aten, handler)
    overload: torch._ops.OpOverload = getattr(
        packet, "Tensor" if "Tensor" in packet.overloads() else "default"
    )
    return overload


def dedup_and_promote_constants(graph: GraphLowering, plan: Plan) -> None:
    """Merge equal constants and move them to the front of the graph.

    In front they do not cut a kernel in two. Provenance: the first of several equal
    constants survives with its own origins; the others' are dropped.
    """
    survivors: dict[tuple[float, torch.dtype], SpyreConstantFallback] = {}
    renamed: dict[str, str] = {}
    others: list[ir.Operation] = []
    for operation in graph.operations:
        if not isinstance(operation, SpyreConstantFallback):
            others.append(operation)
            continue
        key = (operation.value, operation.get_dtype())
        survivor = survivors.setdefault(key, operation)
        if survivor is not operation:
            renamed[operation.get_name()] = survivor.get_name()
    graph.operations[:] = [*survivors.values(), *others]
    for buffer in plan.visit(spyre_loops(graph)) if renamed else ():
        _rename_loads(buffer, renamed)


def _rename_loads(buffer: ir.ComputedBuffer, renamed: dict[str, str]) -> None:
    loads = [load for load in trace(buffer).loads if load.buffer in renamed]
    exchange_loads(
        buffer, {load: evolve(load, buffer=renamed[load.buffer]) for load in loads}
    )
