"""Rewriting operations of the graph, and what that does to their provenance.

A buffer whose body changes keeps its name, its operation name, its origins and its
origin node: only the body is exchanged. A buffer that a pass adds has one origin, the
FX node that the pass makes for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import sympy
import torch
from attrs import evolve
from torch._inductor import ir
from torch._inductor.utils import sympy_subs
from torch._inductor.virtualized import V, ops
from torch.fx.traceback import NodeSource, NodeSourceAction
from torch.utils._ordered_set import OrderedSet

from .ir import SpyrePointwise, SpyreReduction, computed, realized
from .layouts import buffer_of, layout_of, strides_of
from .provenance import HISTORY
from .tracing import Apply, Body, Constant, Load, Loop, Value, trace

if TYPE_CHECKING:
    from torch._inductor.graph import GraphLowering

    from torch_spyre_provenance.model import ProvenanceTransform


_B = TypeVar("_B", bound=ir.Buffer)


def add_node(
    graph: GraphLowering,
    target: torch._ops.OpOverload,
    args: tuple[Any, ...],
    before: torch.fx.Node | None = None,
    name: str | None = None,
) -> torch.fx.Node:
    """Add an FX node for a buffer that a pass makes.

    Args:
        graph: The graph being lowered; its FX graph gets the node.
        target: The operator.
        args: Its arguments.
        before: Where to put it; None puts it before the first operation.
        name: Its name; None names it after the operator.

    Returns:
        The node. Its `meta` is empty.
    """
    fx_graph = graph.graph
    anchor = before or next(n for n in fx_graph.nodes if n.op != "placeholder")
    with fx_graph.inserting_before(anchor):
        return fx_graph.create_node("call_function", target, args, name=name)


def descend(node: torch.fx.Node, parent: torch.fx.Node, pass_name: str) -> None:
    """Record that a pass made a node from another one, and where both come from."""
    for key in ("stack_trace", "nn_module_stack", "source_fn_stack"):
        if key in parent.meta:
            node.meta[key] = parent.meta[key]
    node.meta["original_aten"] = node.target
    node.meta["from_node"] = [NodeSource(parent, pass_name, NodeSourceAction.CREATE)]


def record_step(buffer: ir.Buffer, step: ProvenanceTransform) -> None:
    """Append one step to a buffer's rewrite history."""
    history = (*getattr(buffer, HISTORY, ()), step)
    object.__setattr__(buffer, HISTORY, history)


def add_buffer(
    graph: GraphLowering,
    node: torch.fx.Node,
    make: Callable[[], _B],
    before: ir.Operation | None,
) -> _B:
    """Add the buffer of a node to the graph.

    Args:
        graph: The graph being lowered.
        node: The buffer's only origin.
        make: Makes and registers the buffer.
        before: The operation that it must precede; None puts it first.

    Returns:
        The buffer, with `origins` and `origin_node` set to the node.
    """
    origins: OrderedSet[Any] = OrderedSet([node])
    with ir.IRNode.current_origins(origins), graph.set_current_node(node):
        buffer = make()
    buffer._post_init_setattr("origin_node", node)
    operation = graph.operations.pop()
    # By identity: comparing two operations compares all that is in them.
    places = (n for n, other in enumerate(graph.operations) if other is before)
    graph.operations.insert(next(places, 0), operation)
    return buffer


def register(
    graph: GraphLowering, layout: ir.Layout, data: ir.Loops
) -> ir.ComputedBuffer:
    """Make a computed buffer, name it and register it."""
    buffer = ir.ComputedBuffer(name=None, layout=layout, data=data)
    graph.register_buffer(buffer, set_name=True)
    graph.register_operation(buffer)
    return buffer


def pointwise(
    device: torch.device, dtype: torch.dtype, loops: Sequence[Loop], value: Value
) -> ir.Pointwise:
    """Return the loop nest that computes a value at every point of the loops."""
    symbols = [loop.symbol for loop in loops]
    return ir.Pointwise(
        device=device,
        dtype=dtype,
        inner_fn=lambda index: emit(value, dict(zip(symbols, index, strict=True))),
        ranges=[loop.size for loop in loops],
    )


def exchange_body(buffer: ir.ComputedBuffer, body: Body) -> None:
    """Give a buffer a body that computes other values over the same loops."""
    old = buffer.data
    where = _positions(old.get_pointwise_size())
    reduced = _positions(old.get_reduction_size())

    def points(index: Sequence[Any], reduction: Sequence[Any] = ()) -> dict[Any, Any]:
        found = {s.symbol: index[p] for s, p in zip(body.loops, where, strict=True)}
        inner = zip(body.reduced, reduced, strict=True) if reduction else ()
        return found | {s.symbol: reduction[p] for s, p in inner}

    common: dict[str, Any] = {
        "device": old.device,
        "dtype": old.dtype,
        "ranges": old.ranges,
    }
    if isinstance(old, SpyreReduction):
        data: ir.Loops = SpyreReduction(
            **common,
            inner_fn=lambda i, r: _several(
                [emit(value, points(i, r)) for value in body.values]
            ),
            reduction_ranges=old.reduction_ranges,
            reduction_type=old.reduction_type,
            src_dtype=old.src_dtype,
            reduction_hint=old.reduction_hint,
            op_info=old.op_info,
        )
    elif isinstance(old, SpyrePointwise):
        (value,) = body.values
        assert isinstance(value, Apply)  # noqa: S101 - that is how it is traced
        data = named_pointwise(
            **common,
            op=old.op,
            loaders=[
                lambda i, argument=argument: emit(argument, points(i))
                for argument in value.args
            ],
            op_info=old.op_info,
        )
    else:
        (value,) = body.values
        data = ir.Pointwise(**common, inner_fn=lambda i: emit(value, points(i)))
    data._post_init_setattr("origins", old.origins)
    data._post_init_setattr("origin_node", old.origin_node)
    buffer.data = data
    buffer.get_default_sizes_body.clear_cache(buffer)


def exchange_loads(buffer: ir.ComputedBuffer, replacements: dict[Load, Load]) -> None:
    """Give a buffer a body that reads some of its values elsewhere."""
    body = trace(buffer)
    values = tuple(substitute(value, replacements) for value in body.values)
    if values != body.values:
        exchange_body(buffer, evolve(body, values=values))


def copy_of(name: str) -> ir.ComputedBuffer:
    """Copy a buffer as it lies in memory, so that its indices stay valid."""
    source = layout_of(name)
    strides = strides_of(source)
    size = [n if s != 0 else 1 for n, s in zip(source.size, strides, strict=True)]
    storage = ir.StorageBox(buffer_of(name))
    stored = ir.FixedLayout(
        source.device, source.dtype, size, source.stride, source.offset
    )
    load = ir.TensorBox(ir.ReinterpretView(data=storage, layout=stored)).make_loader()
    box = realized(
        ir.Pointwise(
            device=source.device, dtype=source.dtype, inner_fn=load, ranges=size
        )
    )
    copy = computed(box)
    copy.layout = ir.FixedLayout(source.device, source.dtype, size, source.stride)
    return copy


def named_pointwise(
    *, loaders: Sequence[Callable[..., Any]], **fields: Any
) -> SpyrePointwise:
    """Return the loop nest of an op that Inductor has no name for."""

    def inner(index: Sequence[Any]) -> Any:
        # The sum stands for the op: it reads what the op reads.
        first, *rest = (loader(index) for loader in loaders)
        for value in rest:
            first = ops.add(first, value)
        return first

    return SpyrePointwise(inner_fn=inner, loaders=loaders, **fields)


def emit(value: Value, point: dict[sympy.Symbol, Any]) -> Any:
    """Compute a value with the ops handler in force, at one point of the loops."""
    if isinstance(value, Load):
        return ops.load(value.buffer, sympy_subs(sympy.sympify(value.raw), point))
    if isinstance(value, Constant):
        return ops.constant(value.value, value.dtype)
    args = [emit(argument, point) for argument in value.args]
    if value.op == "to_dtype":
        return ops.to_dtype(args[0], value.dtype, src_dtype=value.args[0].dtype)
    return getattr(ops, value.op)(*args)


def substitute(value: Value, replacements: dict[Load, Load]) -> Value:
    """Return a value with some of its loads exchanged."""
    if isinstance(value, Load):
        return replacements.get(value, value)
    if isinstance(value, Constant):
        return value
    args = tuple(substitute(argument, replacements) for argument in value.args)
    return Apply(op=value.op, args=args, dtype=value.dtype, info=value.info)


def fx_node_of(name: str) -> torch.fx.Node | None:
    """Return the FX node that stands for a buffer or a graph input, or None."""
    graph = V.graph
    if name in graph.graph_inputs:
        return next((n for n in graph.graph.nodes if n.name == name), None)
    return getattr(graph.get_buffer(name), "origin_node", None)


def parent_of(buffer: ir.Buffer) -> torch.fx.Node | None:
    """Return the FX node that a rewritten buffer came from, or None."""
    if buffer.origin_node is not None:
        return buffer.origin_node
    return min(buffer.origins, key=lambda node: node.name, default=None)


def _positions(sizes: Sequence[Any]) -> list[int]:
    return [position for position, size in enumerate(sizes) if size != 1]


def _several(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else tuple(values)
