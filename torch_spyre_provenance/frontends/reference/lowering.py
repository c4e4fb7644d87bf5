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
from .rewriting import named_pointwise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def register() -> None:
    """Register the lowerings; the second call does nothing."""
    library.define()
    table = {
        torch.ops.spyre.batchmatmul.default: batchmatmul,
        torch.ops.spyre.reduce.default: reduce,
        torch.ops.spyre.restickify.default: restickify,
        torch.ops.spyre.gelu.default: gelu,
        torch.ops.spyre.silu.default: silu,
        torch.ops.spyre.softplus.default: softplus,
        torch.ops.spyre.clamp.default: clamp,
        torch.ops.spyre.exx2.default: exx2,
        torch.ops.spyre.layernormscale.default: layernormscale,
        torch.ops.spyre.layernormnorm.default: layernormnorm,
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


def gelu(x: ir.TensorBox, approximate: str) -> ir.TensorBox:
    """Lower the Gaussian error unit."""
    info = {} if approximate == "none" else {"approximate": approximate}
    return _unary("gelu", x, info)


def silu(x: ir.TensorBox) -> ir.TensorBox:
    """Lower the sigmoid unit."""
    return _unary("silu", x, {})


def softplus(x: ir.TensorBox, beta: float, threshold: float) -> ir.TensorBox:
    """Lower the smooth rectifier."""
    constants = {"softplusBeta": float(beta), "softplusThresh": float(threshold)}
    return _unary("softplus", x, {"constants": constants})


def clamp(x: ir.TensorBox, low: float | None, high: float | None) -> ir.TensorBox:
    """Lower a clamp; a missing bound is the largest number of the type."""
    limits = torch.finfo(x.get_dtype())
    constants = {
        "clipMin": float(limits.min if low is None else low),
        "clipMax": float(limits.max if high is None else high),
    }
    return _unary("clamp", x, {"constants": constants})


def exx2(x: ir.TensorBox) -> ir.TensorBox:
    """Lower the moments along the last dimension.

    The device writes both in one element's place. On the host they lie side by side:
    the loops write the first one, and the op the second one behind it.
    """
    x.realize()
    load = x.make_loader()
    *rows, columns = x.get_size()

    def inner(index: Sequence[Any], reduction: Sequence[Any]) -> Any:
        return load([*index[:-1], *reduction])

    box = realized(
        SpyreReduction(
            device=x.get_device(),
            dtype=x.get_dtype(),
            inner_fn=inner,
            ranges=[*rows, sympy.S.One],
            reduction_ranges=[columns],
            reduction_type=op_table.EXX2,
            src_dtype=x.get_dtype(),
            reduction_hint=ir.ReductionHint.DEFAULT,
            op_info={
                "constants": {"exx2scale": 1.0 / int(columns), "useZeroMean": 0.0}
            },
        )
    )
    buffer = box.data.data
    size = [*rows, sympy.Integer(len(op_table.MOMENTS))]
    buffer.layout = ir.FixedLayout(x.get_device(), x.get_dtype(), size)
    return box


def layernormscale(moments: ir.TensorBox, eps: float) -> ir.TensorBox:
    """Lower one over the standard deviation."""
    load = moments.make_loader()
    size = [*moments.get_size()[:-1], sympy.S.One]
    info = {"constants": {"eps": float(eps)}}
    return _named("layernormscale", moments, size, [load], info)


def layernormnorm(
    x: ir.TensorBox,
    moments: ir.TensorBox,
    scale: ir.TensorBox,
    weight: ir.TensorBox | None,
    bias: ir.TensorBox | None,
) -> ir.TensorBox:
    """Lower the normalization itself."""
    x.realize()
    per_row = [_per_row(tensor) for tensor in (moments, scale)]
    per_column = [
        _per_column(tensor) for tensor in (weight, bias) if tensor is not None
    ]
    loaders = [x.make_loader(), *per_row, *per_column]
    return _named("layernormnorm", x, list(x.get_size()), loaders, {})


def _per_row(tensor: ir.TensorBox) -> Callable[[Sequence[Any]], Any]:
    load = tensor.make_loader()
    return lambda index: load([*index[:-1], sympy.S.Zero])


def _per_column(tensor: ir.TensorBox) -> Callable[[Sequence[Any]], Any]:
    tensor.realize()
    load = tensor.make_loader()
    return lambda index: load([index[-1]])


def _unary(op: str, x: ir.TensorBox, info: dict[str, Any]) -> ir.TensorBox:
    x.realize()
    return _named(op, x, list(x.get_size()), [x.make_loader()], info)


def _named(
    op: str,
    like: ir.TensorBox,
    size: Sequence[Any],
    loaders: Sequence[Callable[[Sequence[Any]], Any]],
    info: dict[str, Any],
) -> ir.TensorBox:
    return realized(
        named_pointwise(
            device=like.get_device(),
            dtype=like.get_dtype(),
            ranges=size,
            op=op,
            loaders=loaders,
            op_info=info,
        )
    )
