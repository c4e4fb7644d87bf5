"""What a loop body computes: its values, symbolically.

Inductor keeps the body of a buffer as a Python function of index symbols. Calling it
under the handler below gives the expression that it computes, over the loops that the
lowering asked for: nothing merges or reorders them, as Inductor's own loop bodies do.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import sympy
import torch
from attrs import Factory, evolve, field, frozen
from torch._inductor import ir
from torch._inductor.ops_handler import DefaultHandler
from torch._inductor.virtualized import V
from torch.utils._sympy.functions import FloorDiv, ModularIndexing

from . import op_table
from .ir import SpyrePointwise
from .symbolic import is_symbolic, largest

_TRACED = "_spyre_traced"
"""Buffer attribute: what its body was found to compute."""


@frozen(kw_only=True)
class Load:
    """One element of a buffer.

    Attributes:
        buffer: Name of the buffer.
        index: Offset of the element in host elements, in sympy's own functions.
        dtype: Type of the element.
        raw: The same offset in Inductor's functions, for building loop bodies.
    """

    buffer: str
    index: sympy.Expr
    dtype: torch.dtype
    raw: sympy.Expr = field(eq=False)


@frozen(kw_only=True)
class Constant:
    """A number."""

    value: float
    dtype: torch.dtype


@frozen(kw_only=True)
class Apply:
    """An operation, by handler name, on other values."""

    op: str
    args: tuple[Value, ...]
    dtype: torch.dtype
    info: dict[str, Any] = field(factory=dict, eq=False)


Value = Load | Constant | Apply


@frozen(kw_only=True)
class Loop:
    """One loop.

    Attributes:
        symbol: Its symbol.
        extent: Its number of iterations, of which a tile alone may have one; the most
            there can be where that is not known when compiling.
        size: The same, symbolic where it is not known.
    """

    symbol: sympy.Symbol
    extent: int
    size: sympy.Expr = field(
        default=Factory(lambda loop: sympy.Integer(loop.extent), takes_self=True)
    )

    @property
    def is_symbolic(self) -> bool:
        """Return whether its number of iterations is not known when compiling."""
        return is_symbolic(self.size)


@frozen(kw_only=True)
class Body:
    """The body of one buffer.

    Attributes:
        buffer: Name of the buffer that it writes.
        loops: The output loops, outermost first.
        reduced: The reduced loops.
        output: Offset of the element that one iteration writes, in host elements.
        values: What is stored; two values for a matrix product.
        reduction: The device op that reduces, or None.
        op_info: The parameters of that op.
        unknown: Name of a part of the body that the device has no op for, or None.
    """

    buffer: str
    loops: tuple[Loop, ...]
    reduced: tuple[Loop, ...]
    output: sympy.Expr
    values: tuple[Value, ...]
    reduction: str | None = None
    op_info: dict[str, Any] = field(factory=dict, eq=False)
    unknown: str | None = None

    @property
    def extents(self) -> dict[sympy.Symbol, int]:
        """Return every loop symbol's extent, output loops first."""
        return {loop.symbol: loop.extent for loop in (*self.loops, *self.reduced)}

    @property
    def loads(self) -> tuple[Load, ...]:
        """Return the loads in the order of the arguments."""
        return tuple(load for value in self.values for load in loads_of(value))


def loads_of(value: Value) -> Iterator[Load]:
    """Yield the loads of an expression, left to right."""
    if isinstance(value, Load):
        yield value
    elif isinstance(value, Apply):
        for argument in value.args:
            yield from loads_of(argument)


def trace(buffer: ir.ComputedBuffer) -> Body:
    """Return what the body of a buffer computes.

    The passes look at a body again and again, so it is kept with the buffer, and looked
    at anew only where it or the layout has been exchanged.
    """
    seen = getattr(buffer, _TRACED, None)
    layout = buffer.get_layout()
    if seen is None or seen.data is not buffer.data:
        body, point = _trace(buffer)
    elif seen.layout is layout and isinstance(layout, ir.FixedLayout):
        found: Body = seen.body
        return found
    else:
        body, point = evolve(seen.body, output=_output(layout, seen.point)), seen.point
    traced = _Traced(data=buffer.data, layout=layout, body=body, point=point)
    object.__setattr__(buffer, _TRACED, traced)
    return body


@frozen(kw_only=True)
class _Traced:
    """What a body was traced from, and what it was found to compute."""

    data: ir.Loops
    layout: Any
    body: Body
    point: list[sympy.Expr]


def _output(layout: Any, point: list[sympy.Expr]) -> sympy.Expr:
    return plain(layout.as_fixed().make_indexer()(point))


def _trace(buffer: ir.ComputedBuffer) -> tuple[Body, list[sympy.Expr]]:
    """Return the body, and the place in the output that one iteration writes."""
    data = buffer.data
    reduction = data.get_reduction_type()
    loops, point = _loops(data.get_pointwise_size(), 0)
    reduced, reduced_point = _loops(data.get_reduction_size(), len(loops))
    handler = _Recorder()
    with V.set_ops_handler(handler):
        if isinstance(data, SpyrePointwise):
            arguments = tuple(_value(loader(point)) for loader in data.loaders)
            value = Apply(
                op=data.op, args=arguments, dtype=data.dtype, info=data.op_info
            )
            values: tuple[Value, ...] = (value,)
        elif reduction is None:
            values = (_value(data.make_loader()(point)),)
        else:
            result = data.inner_fn(point, reduced_point)
            several = result if isinstance(result, tuple) else (result,)
            values = tuple(_value(item) for item in several)
    body = Body(
        buffer=buffer.get_name(),
        loops=loops,
        reduced=reduced,
        output=_output(buffer.get_layout(), point),
        values=values,
        reduction=reduction,
        op_info=dict(getattr(data, "op_info", {})),
        unknown=handler.unknown,
    )
    return body, point


# The layers of a model have the same accesses, so most of them have been seen before.
@functools.lru_cache(maxsize=4096)
def plain(index: Any) -> sympy.Expr:
    """Return an index expression in sympy's own functions, expanded."""
    expression = sympy.sympify(index)
    expression = expression.replace(FloorDiv, lambda a, b: sympy.floor(a / b))
    expression = expression.replace(
        ModularIndexing, lambda a, d, m: sympy.Mod(sympy.floor(a / d), m)
    )
    return sympy.expand(expression)


def loop_symbol(number: int) -> sympy.Symbol:
    """Return the symbol of the loop with this number, ``c0``."""
    return sympy.Symbol(f"c{number}", integer=True, nonnegative=True)


def _loops(sizes: Any, first: int) -> tuple[tuple[Loop, ...], list[sympy.Expr]]:
    loops: list[Loop] = []
    point: list[sympy.Expr] = []
    for size in sizes:
        if size == 1:
            point.append(sympy.S.Zero)
            continue
        symbol = loop_symbol(first + len(loops))
        loops.append(
            Loop(symbol=symbol, extent=largest(size), size=sympy.sympify(size))
        )
        point.append(symbol)
    return tuple(loops), point


def _value(item: Any) -> Value:
    # `V.ops` hands out wrapped values; the handler's own are inside.
    value = getattr(item, "value", item) if not _is_value(item) else item
    assert _is_value(value), value  # noqa: S101 - the handler returns nothing else
    result: Value = value
    return result


def _is_value(item: Any) -> bool:
    return isinstance(item, Load | Constant | Apply)


class _Recorder(DefaultHandler):
    """Turns the operations of a loop body into values.

    Attributes:
        unknown: Name of the first operation that the device lacks.
    """

    def __init__(self) -> None:
        super().__init__()
        self.unknown: str | None = None

    def indirect_indexing(self, *args: Any, **kwargs: Any) -> sympy.Symbol:
        self.unknown = self.unknown or "indirect_indexing"
        return sympy.Symbol("indirect", integer=True, nonnegative=True)

    def load(self, name: str, index: sympy.Expr) -> Load:
        dtype = V.graph.get_dtype(name)
        return Load(buffer=name, index=plain(index), dtype=dtype, raw=index)

    def constant(self, value: float, dtype: torch.dtype) -> Constant:
        return Constant(value=value, dtype=dtype)

    def to_dtype(
        self,
        x: Value,
        dtype: torch.dtype,
        src_dtype: torch.dtype | None = None,
        use_compute_types: bool = True,
    ) -> Value:
        if x.dtype == dtype:
            return x
        if isinstance(x, Constant):
            return Constant(value=x.value, dtype=dtype)
        return Apply(op="to_dtype", args=(x,), dtype=dtype)

    def square(self, x: Value) -> Apply:
        return self._default("mul", (x, x), {})

    def logical_and(self, a: Value, b: Value) -> Apply:
        return Apply(op="mul", args=(a, b), dtype=torch.bool)

    def _default(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Apply:
        if name not in op_table.POINTWISE:
            self.unknown = self.unknown or name
        values = tuple(arg for arg in args if _is_value(arg))
        return Apply(op=name, args=values, dtype=_result_dtype(name, values))


def _result_dtype(name: str, args: tuple[Value, ...]) -> torch.dtype:
    row = op_table.POINTWISE.get(name)
    if row is not None and row.is_predicate:
        return torch.bool
    operands = args[1:] if name == "where" else args
    tensors = [arg for arg in operands if not isinstance(arg, Constant)]
    chosen = (tensors or operands)[0] if operands else None
    return chosen.dtype if chosen is not None else torch.float32
