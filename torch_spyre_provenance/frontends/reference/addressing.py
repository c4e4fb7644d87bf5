"""Which tensors the device can hold, and reach each element of.

A tensor of known sizes may lie anyhow in memory. One size may be symbolic if no address
depends on it; then the views between a buffer and its reader count too, because the
reader's indices are made of all of them.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Node

from ..contract import DEVICE
from .layouts import row_major_order
from .symbolic import is_symbolic, known_strides, symbolic_dim

aten = torch.ops.aten

_MAX_RANK = 6

VIEWS = frozenset(
    {
        aten.alias.default,
        aten.detach.default,
        aten.expand.default,
        aten.permute.default,
        aten.reshape.default,
        aten.select.int,
        aten.slice.Tensor,
        aten.split.Tensor,
        aten.split_with_sizes.default,
        aten.squeeze.default,
        aten.squeeze.dim,
        aten.squeeze.dims,
        aten.t.default,
        aten.transpose.int,
        aten.unbind.int,
        aten.unsqueeze.default,
        aten.view.default,
        aten._unsafe_view.default,
    }
)
"""Operators that only change how the next op's indices are computed."""


def fits(tensor: Any) -> bool:
    """Return whether the device can hold a tensor of known sizes, and reach it all."""
    if not _is_on_device(tensor):
        return False
    numbers = (*tensor.shape, *tensor.stride(), tensor.storage_offset())
    if not all(isinstance(number, int) for number in numbers):
        return False
    return _is_held(tensor.shape, tensor.stride())


def fits_symbolically(tensor: Any) -> bool:
    """Return whether the device can hold a tensor of which one size is symbolic."""
    if not _is_on_device(tensor):
        return False
    dim = symbolic_dim(tensor)
    if dim is None:
        return False
    # It is the outermost dimension in memory, so the others decide.
    size = [1 if d == dim else n for d, n in enumerate(tensor.shape)]
    return _is_held(size, known_strides(tensor))


def is_reachable(node: Node) -> bool:
    """Return whether an op can read what a node stands for, at any symbolic size."""
    values: list[Any] = [link.meta.get("val") for link in chain(node)]
    view, *rest = values
    tensors = [view, *(v for v in rest if not isinstance(v, list | tuple))]
    if not all(fits(tensor) or fits_symbolically(tensor) for tensor in tensors):
        return False
    dim = symbolic_dim(view)
    # A part of symbolic size may end anywhere in a buffer of known size.
    return dim is None or view.stride(dim) == 0 or symbolic_dim(tensors[-1]) is not None


def is_laid_out(tensor: torch.Tensor) -> bool:
    """Return whether a result has the strides that the graph says.

    Where one of them is symbolic, be it of a single element, Inductor lays the result
    out row by row: the symbolic dimension has to be the first.
    """
    dim = symbolic_dim(tensor)
    if dim is None or not any(map(is_symbolic, tensor.stride())):
        return True
    return all(n == 1 for n in tensor.shape[:dim])


def has_known_stick(buffer: Node) -> bool:
    """Return whether the sticks run along a dimension of known size."""
    tensor = buffer.meta["val"]
    dim = symbolic_dim(tensor)
    return dim is None or row_major_order(known_strides(tensor))[-1] != dim


def chain(node: Node) -> tuple[Node, ...]:
    """Return a node, what it is a view of, and so on to the buffer."""
    source = node.all_input_nodes[0] if node.all_input_nodes else node
    is_part = node.target is operator.getitem and source.target in VIEWS
    return (node, *chain(source)) if is_part or node.target in VIEWS else (node,)


def _is_on_device(tensor: Any) -> bool:
    return isinstance(tensor, torch.Tensor) and tensor.device.type == DEVICE


def _is_held(size: Sequence[int], stride: Sequence[int]) -> bool:
    return 0 not in size and len(size) <= _MAX_RANK and not _overlaps(size, stride)


def _overlaps(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether steps along two dimensions can meet in one element."""
    steps = zip(strides, sizes, strict=True)
    reach = 1
    for stride, size in sorted(pair for pair in steps if pair[0] > 0 and pair[1] > 1):
        if stride < reach:
            return True
        reach = stride * size
    return False
