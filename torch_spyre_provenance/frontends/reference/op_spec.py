"""What one Spyre kernel is made of, with torch-spyre's names, fields and order.

Generated modules build these values, so the classes are plain dataclasses whose `repr`
and keyword arguments are stable. `DebugHandle` and `SourceLoc` are the model's own.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy
from sympy import Expr, Symbol

from torch_spyre_provenance.model import DebugHandle, ProvenanceTransform, SourceLoc

from ..host.layout import DataFormats

__all__ = [
    "DebugHandle",
    "LoopSpec",
    "OpSpec",
    "ProvenanceTransform",
    "SourceLoc",
    "Spec",
    "TensorArg",
    "UnimplementedOp",
    "find_unimplemented",
    "size_symbols",
    "sympify",
    "tile_steps",
    "walk",
]


@functools.lru_cache(maxsize=4096)
def sympify(text: str) -> Expr:
    """Return an expression from its text.

    A model repeats the same coordinates in every layer, and sympy's parser is slow.
    """
    expression: Expr = sympy.sympify(text)
    return expression


@dataclass
class TensorArg:
    """One tensor that an op reads or writes.

    Attributes:
        is_input: Whether the op reads it.
        arg_index: Position among the kernel's runtime arguments.
        device_dtype: Format of the elements.
        device_size: Extents of the device dimensions, outermost first; the stick last.
        device_coordinates: For each device dimension, the coordinate as a function of
            the op's loop symbols.
        allocation: Where it lives: ``{"hbm": argument index}``.
        stride_map: Host elements that one step along each device dimension moves; -1
            for a dimension that the host does not have.
        per_tile_fixed: Whether the address stays where it is inside a counted loop.
        name: Name of the buffer, for index tensors only.
    """

    is_input: bool
    arg_index: int
    device_dtype: DataFormats
    device_size: list[int]
    device_coordinates: list[Expr]
    allocation: dict[str, int] = field(default_factory=dict)
    stride_map: list[int] = field(default_factory=list)
    per_tile_fixed: bool = False
    name: str | None = None


@dataclass
class OpSpec:
    """One device op.

    Attributes:
        op: The device's name for it.
        is_reduction: Whether it reduces.
        iteration_space: For each loop symbol its extent, inside a counted loop that of
            one tile, and the number of cores that share it; output dimensions first,
            reduced ones last.
        args: Its tensors, inputs first, the output last.
        op_info: Parameters; ``constants`` holds the numbers that go to the device.
        tiled_symbols: For each enclosing loop, innermost first, the symbols it tiles.
        symbolic_dim_bounds: For each symbolic extent, as text, its maximum and its
            granularity. Without a declared maximum it is the size seen when compiling.
        debug_handle: Where the op came from, or None.
    """

    op: str
    is_reduction: bool
    iteration_space: dict[Symbol, tuple[Expr, int]]
    args: Sequence[TensorArg]
    op_info: dict[str, Any] = field(default_factory=dict)
    tiled_symbols: list[list[Symbol]] = field(default_factory=list)
    symbolic_dim_bounds: dict[str, tuple[int, int]] = field(default_factory=dict)
    debug_handle: DebugHandle | None = None


@dataclass
class UnimplementedOp:
    """An op that the device lacks; a kernel that holds one cannot run."""

    op: str


@dataclass
class LoopSpec:
    """A counted loop over specs."""

    count: Expr
    body: list[Spec]


Spec = OpSpec | UnimplementedOp | LoopSpec
"""A node of a kernel's tree of specs."""


def tile_steps(spec: OpSpec, argument: TensorArg) -> tuple[dict[Symbol, int], ...]:
    """Return how far one trip moves an argument, along the op's own loop symbols.

    There is one entry for each enclosing counted loop, innermost first.
    """
    return tuple(
        {symbol: int(spec.iteration_space[symbol][0]) for symbol in tiled}
        if not argument.per_tile_fixed
        else {}
        for tiled in spec.tiled_symbols
    )


def walk(specs: Sequence[Spec]) -> Iterator[OpSpec | UnimplementedOp]:
    """Yield the leaves of a tree of specs, depth first."""
    for spec in specs:
        if isinstance(spec, LoopSpec):
            yield from walk(spec.body)
        else:
            yield spec


def find_unimplemented(specs: Sequence[Spec]) -> UnimplementedOp | None:
    """Return the first op that the device lacks, or None."""
    for spec in walk(specs):
        if isinstance(spec, UnimplementedOp):
            return spec
    return None


def size_symbols(specs: Sequence[Spec]) -> list[str]:
    """Return the names of the sizes that a kernel gets when it runs, sorted."""
    return sorted(
        {
            symbol.name
            for spec in walk(specs)
            if isinstance(spec, OpSpec)
            for extent, _ in spec.iteration_space.values()
            for symbol in extent.free_symbols
        }
    )
