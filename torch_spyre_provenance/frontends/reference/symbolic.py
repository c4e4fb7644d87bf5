"""Sizes that are not known when compiling.

One size of a tensor may be symbolic where no address depends on it: its dimension is
the outermost one in memory, so that every stride is a number. Then only the extents of
loops are symbolic, and a kernel gets them with its arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy
import torch
from torch._inductor.virtualized import V
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

if TYPE_CHECKING:
    from collections.abc import Sequence

GRANULARITY = 1
"""What every symbolic size is a multiple of. Such a loop is not divided over cores."""

MANY = 1 << 40
"""Iterations of a loop whose extent has no upper bound."""

ENDLESS = 1 << 60
"""Elements of a symbolic dimension, for those who ask whether a loop leaves it."""


def is_symbolic(size: Any) -> bool:
    """Return whether a size is not known when compiling."""
    if isinstance(size, torch.SymInt):
        size = size.node.expr
    return not isinstance(size, int | sympy.Integer) and bool(size.free_symbols)


def symbolic_dim(tensor: torch.Tensor) -> int | None:
    """Return the only symbolic dimension of a tensor that is known but for that one.

    None if there is no such dimension, or if addresses depend on its size.
    """
    size, stride = tensor.shape, known_strides(tensor)
    dims = [d for d, n in enumerate(size) if is_symbolic(n)]
    if len(dims) != 1 or any(map(is_symbolic, (*stride, tensor.storage_offset()))):
        return None
    (dim,) = dims
    others = [
        (n, s) for d, (n, s) in enumerate(zip(size, stride, strict=True)) if d != dim
    ]
    reach = sum((n - 1) * s for n, s in others) + 1
    is_outermost = stride[dim] == 0 or stride[dim] >= reach
    return dim if is_outermost and _is_polynomial(size[dim]) else None


def known_strides(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Return the strides of a tensor, any number for a dimension of one element."""
    return tuple(
        MANY if not is_symbolic(n) and n == 1 and is_symbolic(s) else s
        for n, s in zip(tensor.shape, tensor.stride(), strict=True)
    )


def _is_polynomial(size: Any) -> bool:
    expression = size.node.expr
    symbols = expression.free_symbols
    return not free_unbacked_symbols(size) and expression.is_polynomial(*symbols)


def largest(size: Any) -> int:
    """Return the most that a size can be, `MANY` where it has no upper bound."""
    upper = size
    if is_symbolic(size):
        upper = V.graph.sizevars.shape_env.bound_sympy(size).upper
    return int(upper) if isinstance(upper, int | sympy.Integer) else MANY


def planned(size: Any) -> int:
    """Return the size that device memory and the kernel's files are made for.

    A symbolic one is as large as it can be, or as it was seen to be when compiling. It
    counts at least two elements: the device has no dimension of one.
    """
    if not is_symbolic(size):
        return int(size)
    most = largest(size)
    return max(2, most if most < MANY else V.graph.sizevars.optimization_hint(size))


def planned_sizes(sizes: Sequence[Any]) -> tuple[int, ...]:
    """Return the sizes that device memory is made for."""
    return tuple(planned(size) for size in sizes)
