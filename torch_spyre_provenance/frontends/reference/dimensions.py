"""The dimensions of one op as SuperDSC names them, and what they do to each tensor."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from itertools import product

import sympy
from attrs import frozen

from ..host.layout import STICK_BYTES
from . import op_table
from .coordinates import evaluate
from .op_spec import OpSpec, TensorArg

POINTWISE_LABELS = ("mb", "x", "y", "i", "j", "ki", "kj")
"""Labels of all dimensions but the last; the last is ``out``."""

MATMUL_LABELS = ("ki", "kj", "y", "x", "mb", "out", "in")
"""Labels of a matrix product; one of fewer dimensions takes them from the end."""

PRESENT = 1
ABSENT = -1
ABSENT_STICK = -2


@frozen(kw_only=True)
class Dimension:
    """One dimension of an op.

    Attributes:
        label: Its name in SuperDSC.
        symbol: Its loop symbol, or None where it only stands for the stick.
        valid: Number of elements.
        size: The same, padded to whole sticks where a tensor's stick follows it.
        cores: Number of cores that share it.
        symbol_of_size: Text of its size where that is not known when compiling: the
            numbers above are the largest then.
        granularity: What such a size is a multiple of.
    """

    label: str
    symbol: sympy.Symbol | None
    valid: int
    size: int
    cores: int
    symbol_of_size: str | None = None
    granularity: int = 1

    @property
    def per_core(self) -> int:
        """Return the number of elements that one core has."""
        return self.size // self.cores


@frozen(kw_only=True)
class Tensor:
    """One argument of an op, in terms of the op's dimensions.

    Attributes:
        argument: The argument.
        order: Labels of its dimensions, innermost first.
        stick: Label of its stick dimension, or None where a stick holds one element.
        scales: For each label in `order`, whether the tensor has that dimension.
    """

    argument: TensorArg
    order: tuple[str, ...]
    stick: str | None
    scales: tuple[int, ...]

    @property
    def elems_per_stick(self) -> int:
        """Return the number of elements in a stick."""
        return self.argument.device_size[-1]

    @property
    def word_bytes(self) -> int:
        """Return the bytes of one element."""
        return STICK_BYTES // self.elems_per_stick

    def offsets(self, points: Sequence[dict[sympy.Symbol, int]]) -> list[int]:
        """Return the byte offset of the element at each point of the op's loops."""
        sizes = tuple(self.argument.device_size)
        coordinates = tuple(self.argument.device_coordinates)
        starts = tuple(tuple(point.items()) for point in points)
        found = _offsets(sizes, coordinates, starts)
        return [offset * self.word_bytes for offset in found]


@frozen(kw_only=True)
class Geometry:
    """The dimensions and tensors of one op."""

    op: str
    dims: tuple[Dimension, ...]
    tensors: tuple[Tensor, ...]
    stick: str

    @property
    def cores(self) -> int:
        """Return the number of cores that the op uses."""
        total = 1
        for dim in self.dims:
            total *= dim.cores
        return total

    def dim(self, label: str) -> Dimension:
        """Return the dimension with a label."""
        return next(dim for dim in self.dims if dim.label == label)

    def slices(self) -> list[dict[str, int]]:
        """Return which slice of each dimension each core has, by core.

        The first dimension varies fastest; in a matrix product whose reduced dimension
        is shared, that one does.
        """
        dims = list(self.dims)
        if self.op == op_table.MATMUL and dims[-1].cores > 1:
            dims = [dims[-1], *dims[:-1]]
        ranges = [range(dim.cores) for dim in reversed(dims)]
        labels = [dim.label for dim in dims]
        points = product(*ranges)
        return [dict(zip(labels, reversed(point), strict=True)) for point in points]

    def core_offsets(self, tensor: Tensor) -> list[int]:
        """Return the byte offset of each core's part of a tensor, by core."""
        starts = [
            {
                dim.symbol: slices[dim.label] * dim.per_core
                for dim in self.dims
                if dim.symbol is not None
            }
            for slices in self.slices()
        ]
        return tensor.offsets(starts)


# The layers of a model have the same ops, so most of them have been seen before.
@functools.lru_cache(maxsize=4096)
def _offsets(
    sizes: tuple[int, ...],
    coordinates: tuple[sympy.Expr, ...],
    starts: tuple[tuple[tuple[sympy.Symbol, int], ...], ...],
) -> list[int]:
    """Return the device offset of the element at each point."""
    steps = [math.prod(sizes[position + 1 :]) for position in range(len(sizes))]
    return [
        sum(
            evaluate(coordinate, dict(first)) * step
            for coordinate, step in zip(coordinates, steps, strict=True)
        )
        for first in starts
    ]


def geometry(spec: OpSpec) -> Geometry:
    """Return the dimensions and tensors of one op."""
    symbols = list(spec.iteration_space)
    labels = _labels(spec.op, len(symbols))
    names = dict(zip(symbols, labels, strict=True))
    sticks = [_stick_symbol(argument) for argument in spec.args]
    dims = tuple(_dimension(spec, symbol, names[symbol], sticks) for symbol in symbols)
    main = next((s for s in (sticks[-1], *sticks) if s is not None), None)
    if main is None:
        extra = _extra_stick(spec, labels)
        dims = (*dims, extra)
    stick = extra.label if main is None else names[main]
    tensors = tuple(
        _tensor(spec, argument, names, [dim.label for dim in dims], stick)
        for argument in spec.args
    )
    return Geometry(op=spec.op, dims=dims, tensors=tensors, stick=stick)


def _labels(op: str, count: int) -> tuple[str, ...]:
    if op == op_table.MATMUL:
        return MATMUL_LABELS[len(MATMUL_LABELS) - count :]
    return (*POINTWISE_LABELS[: count - 1], "out") if count else ()


def _extra_stick(spec: OpSpec, labels: Sequence[str]) -> Dimension:
    """Return the dimension that stands for the stick where no loop runs along it."""
    label = POINTWISE_LABELS[len(labels)] if labels else "out"
    size = spec.args[-1].device_size[-1]
    return Dimension(label=label, symbol=None, valid=size, size=size, cores=1)


def _dimension(
    spec: OpSpec,
    symbol: sympy.Symbol,
    label: str,
    sticks: Sequence[sympy.Symbol | None],
) -> Dimension:
    extent, cores = spec.iteration_space[symbol]
    text = str(extent)
    bounds = spec.symbolic_dim_bounds.get(text)
    valid, granularity = bounds or (int(extent), 1)
    unit = max(
        (
            argument.device_size[-1]
            for argument, stick in zip(spec.args, sticks, strict=True)
            if stick == symbol
        ),
        default=1,
    )
    size = -(-valid // unit) * unit
    return Dimension(
        label=label,
        symbol=symbol,
        valid=valid,
        size=size,
        cores=cores,
        symbol_of_size=text if bounds else None,
        granularity=granularity,
    )


def _stick_symbol(argument: TensorArg) -> sympy.Symbol | None:
    symbols = sorted(argument.device_coordinates[-1].free_symbols, key=str)
    return symbols[-1] if symbols else None


def _tensor(
    spec: OpSpec,
    argument: TensorArg,
    names: dict[sympy.Symbol, str],
    labels: Sequence[str],
    stick: str,
) -> Tensor:
    own: list[str] = []
    for coordinate in reversed(argument.device_coordinates[:-1]):
        for symbol in sorted(coordinate.free_symbols, key=str):
            if names[symbol] not in own:
                own.append(names[symbol])
    symbol = _stick_symbol(argument)
    own_stick = names[symbol] if symbol is not None else None
    if own_stick is not None and own_stick not in own:
        own.append(own_stick)
    missing = [] if spec.op == op_table.MATMUL else [x for x in labels if x not in own]
    scales = [PRESENT] * len(own) + [
        ABSENT_STICK if label == stick and own_stick is None else ABSENT
        for label in missing
    ]
    return Tensor(
        argument=argument,
        order=(*own, *missing),
        stick=own_stick,
        scales=tuple(scales),
    )
