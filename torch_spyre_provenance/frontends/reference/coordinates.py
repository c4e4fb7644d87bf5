"""Device coordinates: where on the device the element of a host index lies.

A loop body names an element by its offset in host elements, a function of the loop
symbols. The device wants one coordinate for each of its dimensions. The way there is
through the host's dimensions: each term of the offset is given to the dimension with
the largest stride that divides into it, and what a dimension cannot hold is carried to
the next one. Then the stick dimension is cut in two.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import sympy
from attrs import frozen

Extents = Mapping[sympy.Symbol, int]


class NotOnDeviceError(Exception):
    """An index does not fit the dimensions of the tensor that it goes into."""


@frozen(kw_only=True)
class HostShape:
    """The host's view of a buffer: sizes and strides in elements, and its offset."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int = 0

    @property
    def dims(self) -> tuple[int, ...]:
        """Return the dimensions with more than one element, largest stride first."""
        real = (
            d
            for d, (n, s) in enumerate(zip(self.size, self.stride, strict=True))
            if n > 1 and s > 0
        )
        return tuple(sorted(real, key=lambda d: -self.stride[d]))


def host_coordinates(
    index: sympy.Expr, shape: HostShape, extents: Extents
) -> tuple[sympy.Expr, ...]:
    """Return the coordinate of an element in each host dimension.

    Args:
        index: Offset of the element, in host elements.
        shape: The buffer that it is in.
        extents: Number of iterations of each symbol in `index`.

    Returns:
        One expression per dimension; 0 for a dimension of size 1.

    Raises:
        NotOnDeviceError: The offset leaves the buffer, or falls between its elements.
    """
    return _host_coordinates(index, shape, tuple(extents.items()))


# The layers of a model have the same accesses, so most of them have been seen before.
@functools.lru_cache(maxsize=4096)
def _host_coordinates(
    index: sympy.Expr, shape: HostShape, loops: tuple[tuple[sympy.Symbol, int], ...]
) -> tuple[sympy.Expr, ...]:
    extents = dict(loops)
    shares = _share_out(sympy.expand(index - shape.offset), shape)
    coordinates = [sympy.S.Zero] * len(shape.size)
    carry: sympy.Expr = sympy.S.Zero
    dims = shape.dims
    for position in range(len(dims) - 1, -1, -1):
        dim = dims[position]
        total = sympy.expand(shares[dim] + carry)
        size = shape.size[dim]
        carry = sympy.S.Zero
        if maximum(total, extents) >= size:
            outer = dims[position - 1] if position > 0 else None
            if outer is None or shape.stride[outer] != size * shape.stride[dim]:
                raise NotOnDeviceError(f"{index} in {shape}")
            carry = sympy.floor(total / size)
            total = sympy.Mod(total, size)
        coordinates[dim] = total
    return tuple(coordinates)


def device_coordinates(
    host: Sequence[sympy.Expr],
    dim_order: Sequence[int],
    stick: int,
    extents: Extents,
) -> list[sympy.Expr]:
    """Return the coordinate in each device dimension, outermost first.

    Args:
        host: The coordinate in each host dimension.
        dim_order: The host dimensions in the layout's order, the stick dimension last,
            or -1 after all of them where every stick holds one element.
        stick: Elements per stick.
        extents: Number of iterations of each symbol in `host`.
    """
    loops = tuple(extents.items())
    return list(_device_coordinates(tuple(host), tuple(dim_order), stick, loops))


@functools.lru_cache(maxsize=4096)
def _device_coordinates(
    host: tuple[sympy.Expr, ...],
    dim_order: tuple[int, ...],
    stick: int,
    loops: tuple[tuple[sympy.Symbol, int], ...],
) -> list[sympy.Expr]:
    if not host:
        return [sympy.S.Zero, sympy.S.Zero]
    extents = dict(loops)
    order = list(dim_order)
    dims = [*order[1:], order[0], order[-1]] if len(order) > 1 else order * 2
    inner = order[-1]
    in_one_stick = inner != -1 and maximum(host[inner], extents) < stick
    result: list[sympy.Expr] = []
    for dim in dims[:-1]:
        if dim == -1:
            result.append(sympy.S.Zero)
        elif dim == inner:
            tile = sympy.S.Zero if in_one_stick else sympy.floor(host[dim] / stick)
            result.append(tile)
        else:
            result.append(host[dim])
    if inner == -1:
        return [*result, sympy.S.Zero]
    return [*result, host[inner] if in_one_stick else sympy.Mod(host[inner], stick)]


def offset_of(
    coordinates: Sequence[sympy.Expr], stride_map: Sequence[int]
) -> sympy.Expr:
    """Return the host offset that device coordinates stand for, simplified.

    Every remainder is written as what division leaves, so that the parts of one
    dimension add up again and the result is affine wherever it can be.
    """
    return _offset_of(tuple(coordinates), tuple(stride_map))


@functools.lru_cache(maxsize=4096)
def _offset_of(
    coordinates: tuple[sympy.Expr, ...], stride_map: tuple[int, ...]
) -> sympy.Expr:
    total = sympy.S.Zero
    for coordinate, stride in zip(coordinates, stride_map, strict=True):
        if coordinate == 0:
            continue
        total += coordinate * stride
    return without_remainders(total)


@functools.lru_cache(maxsize=4096)
def without_remainders(expression: sympy.Expr) -> sympy.Expr:
    """Return an expression with ``Mod(a, b)`` written as ``a - b*floor(a/b)``.

    Whole numbers are taken out of every floor, so that equal ones look alike.
    """
    floors = expression.replace(sympy.Mod, lambda a, b: a - b * sympy.floor(a / b))
    return sympy.expand(floors.replace(sympy.floor, _floor))


def _floor(expression: sympy.Expr) -> sympy.Expr:
    constant, _ = sympy.expand(expression).as_coeff_Add()
    whole = sympy.floor(constant)
    return sympy.floor(expression - whole) + whole


def advance(coordinate: sympy.Expr, symbol: sympy.Symbol, step: int) -> int | None:
    """Return how far a coordinate moves whenever a symbol grows by a step.

    Returns:
        The distance; None where it is not the same everywhere.
    """
    trip = sympy.Symbol("trip", integer=True, nonnegative=True)
    moved = without_remainders(coordinate.subs(symbol, symbol + step * trip))
    change = sympy.expand(moved - without_remainders(coordinate))
    distance = change.coeff(trip)
    return int(distance) if change == distance * trip else None


def maximum(expression: sympy.Expr, extents: Extents) -> int:
    """Return an upper bound of an expression that never decreases in its symbols."""
    if expression.has(sympy.Mod):
        bounded = expression.replace(sympy.Mod, lambda _, b: b - 1)
        return maximum(bounded, extents)
    last = {
        symbol: extents[symbol] - 1
        for symbol in expression.free_symbols
        if symbol in extents
    }
    return int(sympy.floor(expression.subs(last)))


def evaluate(expression: sympy.Expr, values: Mapping[sympy.Symbol, Any]) -> Any:
    """Evaluate an index expression over integers, or over tensors of integers.

    It knows sums, products, divisions rounded down, and remainders, which is all that
    coordinates are made of, and is much faster than sympy's own substitution.
    """
    if expression.is_Symbol:
        return values[expression]
    if expression.is_Integer:
        return int(expression)
    if isinstance(expression, sympy.floor):
        numerator, denominator = expression.args[0].as_numer_denom()
        return evaluate(numerator, values) // int(denominator)
    parts = [evaluate(part, values) for part in expression.args]
    if isinstance(expression, sympy.Mod):
        return parts[0] % parts[1]
    combine = operator.add if expression.is_Add else operator.mul
    return functools.reduce(combine, parts)


def _share_out(index: sympy.Expr, shape: HostShape) -> dict[int, sympy.Expr]:
    dims = shape.dims
    shares: dict[int, sympy.Expr] = dict.fromkeys(dims, sympy.S.Zero)
    for term in sympy.Add.make_args(index):
        coefficient, factor = term.as_coeff_Mul()
        if not coefficient.is_integer or coefficient < 0:
            raise NotOnDeviceError(f"{index} in {shape}")
        rest = int(coefficient)
        for dim in dims:
            whole, rest = divmod(rest, shape.stride[dim])
            shares[dim] += whole * factor
        if rest:
            raise NotOnDeviceError(f"{index} in {shape}")
    return shares
