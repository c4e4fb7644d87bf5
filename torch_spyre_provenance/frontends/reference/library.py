"""The operators of the ``torch.ops.spyre`` namespace.

They stand in FX graphs for what the device does in one op where ATen has no operator,
or only a composite one. Each also computes on the host, so that a graph that holds one
can be run and traced anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import op_table

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCHMATMUL = "batchmatmul(Tensor x, Tensor y) -> Tensor"
REDUCE = "reduce(Tensor x, int[] dim, bool keepdim, str kind) -> Tensor"
RESTICKIFY = "restickify(Tensor x) -> Tensor"
CONSTANT = "constant(float value, ScalarType dtype, Device device) -> Tensor"

_library = torch.library.Library("spyre", "FRAGMENT")


def _batchmatmul(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.matmul(x, y)


def _reduce(
    x: torch.Tensor, dim: Sequence[int], keepdim: bool, kind: str
) -> torch.Tensor:
    dims = [d % x.dim() for d in dim] if dim else list(range(x.dim()))
    result = op_table.REDUCTIONS[kind](x, dims)
    if keepdim:
        for d in sorted(dims):
            result = result.unsqueeze(d)
    return result


def _constant(value: float, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return torch.full((), value, dtype=dtype, device=device)


def define() -> None:
    """Define the operators; the second call does nothing."""
    if hasattr(torch.ops.spyre, "restickify"):
        return
    kernels = (
        (BATCHMATMUL, _batchmatmul),
        (REDUCE, _reduce),
        (RESTICKIFY, torch.clone),
        (CONSTANT, _constant),
    )
    for schema, kernel in kernels:
        _library.define(schema)
        name = schema.partition("(")[0]
        _library.impl(name, kernel, "CompositeExplicitAutograd")
