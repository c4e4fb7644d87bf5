"""Lowerings of the `spyre` operators to Inductor's loop IR.

Inductor's own lowerings may unroll a short reduction, split a long one, or choose a
library call for a matrix product. The device does each in one op, so the front end's
operators have lowerings that make one buffer, always.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy
import torch
from torch._inductor import ir
from torch._inductor.lowering import lowerings, register_lowering

from . import library, op_table
from .ir import SpyreReduction, realized

if TYPE_CHECKING:
    from collections.abc import Sequence


def register() -> None:
    """Register the lowerings; the second call does nothing."""
    library.define()
    table = {
        torch.ops.spyre.batchmatmul.default: batchmatmul,
        torch.ops.spyre.reduce.default: reduce,
        torch.ops.spyre.restickify.default: restickify,
    }
    for operator, lowering in table.items():
        if operator not in lowerings:
            register_lowering(operator, type_promotion_kind=None)(lowering)


def batchmatmul(x: ir.TensorBox, y: ir.TensorBox) -> ir.TensorBox:
    """Lower a matrix product of ``[…, m, k]`` and ``[…, k, n]``, same batch."""
    x.realize()
    y.realize()
    load_x, load_y = x.make_loader(), y.make_loader()
    *batch, rows, reduced = x.get_size()
    columns = y.get_size()[-1]

    def inner(index: Sequence[Any], reduction: Sequence[Any]) -> tuple[Any, Any]:
        *outer, row, column = index
        (k,) = reduction
        return load_x([*outer, row, k]), load_y([*outer, k, column])

    return realized(
        SpyreReduction(
            device=x.get_device(),
            dtype=x.get_dtype(),
            inner_fn=inner,
            ranges=[*batch, rows, columns],
            reduction_ranges=[reduced],
            reduction_type=op_table.MATMUL,
            src_dtype=x.get_dtype(),
            reduction_hint=ir.ReductionHint.DEFAULT,
            op_info={},
        )
    )


def reduce(
    x: ir.TensorBox, dim: Sequence[int], keepdim: bool, kind: str
) -> ir.TensorBox:
    """Lower a reduction over `dim`, or over all dimensions where that is empty."""
    x.realize()
    load = x.make_loader()
    size = list(x.get_size())
    reduced = sorted({d % len(size) for d in dim} or range(len(size)))
    kept = [d for d in range(len(size)) if d not in reduced]

    def inner(index: Sequence[Any], reduction: Sequence[Any]) -> Any:
        point = [sympy.S.Zero] * len(size)
        outer = [index[d] for d in kept] if keepdim else index
        for d, symbol in (*zip(kept, outer), *zip(reduced, reduction)):
            point[d] = symbol
        return load(point)

    ranges = (
        [sympy.S.One if d in reduced else s for d, s in enumerate(size)]
        if keepdim
        else [size[d] for d in kept]
    )
    return realized(
        SpyreReduction(
            device=x.get_device(),
            dtype=x.get_dtype(),
            inner_fn=inner,
            ranges=ranges,
            reduction_ranges=[size[d] for d in reduced],
            reduction_type=kind,
            src_dtype=x.get_dtype(),
            reduction_hint=ir.ReductionHint.DEFAULT,
            op_info=_reduction_info(kind, [size[d] for d in reduced]),
        )
    )


def _reduction_info(kind: str, extents: Sequence[Any]) -> dict[str, Any]:
    if kind != "mean":
        return {}
    count = int(sympy.prod(extents))
    return {"constants": {"scaling_factor": 1.0 / count}}


def restickify(x: ir.TensorBox) -> ir.TensorBox:
    """Lower a copy to another device layout; the layout is chosen by the pass."""
    x.realize()
    return realized(
        ir.Pointwise(
            device=x.get_device(),
            dtype=x.get_dtype(),
            inner_fn=x.make_loader(),
            ranges=x.get_size(),
        )
    )
