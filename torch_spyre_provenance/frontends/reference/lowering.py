"""Lowerings of the `spyre` operators to Inductor's loop IR.

Inductor's own lowerings may unroll a short reduction, split a long one, or choose a
library call for a matrix product. The device does each in one op, so the front end's
operators have lowerings that make one buffer, always.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy
import torch
from torch._inductor import ir
from torch._inductor.lowering import lowerings, register_lowering
from torch._inductor.runtime.hints import ReductionHint
from torch._inductor.virtualized import V

from . import library, op_table
from .ir import SpyreEmptyFallback, SpyreReduction, computed, realized
from .rewriting import named_pointwise

Index = Sequence[Any]
Loader = Callable[[Index], Any]


def register() -> None:
    """Register the lowerings; the second call does nothing."""
    library.define()
    table: dict[Any, Callable[..., Any]] = {
        torch.ops.spyre.batchmatmul.default: batchmatmul,
        torch.ops.spyre.cat.default: cat,
        torch.ops.spyre.reduce.default: reduce,
        torch.ops.spyre.restickify.default: restickify,
        torch.ops.spyre.topkindex.default: topkindex,
        torch.ops.spyre.topkvalue.default: topkvalue,
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
            decorate: Any = register_lowering(operator, type_promotion_kind=None)
            decorate(lowering)


def batchmatmul(x: ir.TensorBox, y: ir.TensorBox) -> ir.TensorBox:
    """Lower a matrix product of ``[…, m, k]`` and ``[…, k, n]``, same batch."""
    x.realize()
    y.realize()
    load_x, load_y = x.make_loader(), y.make_loader()
    *batch, rows, reduced = x.get_size()
    columns = y.get_size()[-1]

    def inner(index: Index, reduction: Index) -> tuple[Any, Any]:
        *outer, row, column = index
        (k,) = reduction
        return load_x([*outer, row, k]), load_y([*outer, k, column])

    return _reduction(op_table.MATMUL, x, inner, [*batch, rows, columns], [reduced])


def reduce(
    x: ir.TensorBox, dim: Sequence[int], keepdim: bool, kind: str
) -> ir.TensorBox:
    """Lower a reduction over `dim`, or over all dimensions where that is empty."""
    x.realize()
    load = x.make_loader()
    size = list(x.get_size())
    reduced = sorted({d % len(size) for d in dim} or range(len(size)))
    kept = [d for d in range(len(size)) if d not in reduced]

    def inner(index: Index, reduction: Index) -> Any:
        point = [sympy.S.Zero] * len(size)
        outer = [index[d] for d in kept] if keepdim else index
        for d, symbol in zip([*kept, *reduced], [*outer, *reduction], strict=True):
            point[d] = symbol
        return load(point)

    ranges = (
        [sympy.S.One if d in reduced else s for d, s in enumerate(size)]
        if keepdim
        else [size[d] for d in kept]
    )
    extents = [size[d] for d in reduced]
    info = _reduction_info(kind, extents)
    return _reduction(kind, x, inner, ranges, extents, op_info=info)


def topkvalue(x: ir.TensorBox, k: int, dim: int) -> ir.TensorBox:
    """Lower the `k` largest elements along a dimension, in falling order."""
    return _topk("topkvalue", x, k, dim, x.get_dtype())


def topkindex(x: ir.TensorBox, k: int, dim: int) -> ir.TensorBox:
    """Lower the positions of the `k` largest elements along a dimension."""
    return _topk("topkindex", x, k, dim, torch.int64)


def _topk(
    kind: str, x: ir.TensorBox, k: int, dim: int, dtype: torch.dtype
) -> ir.TensorBox:
    x.realize()
    load = x.make_loader()
    size = list(x.get_size())
    dim %= len(size)

    def inner(index: Index, reduction: Index) -> Any:
        return load([*index[:dim], *reduction, *index[dim + 1 :]])

    ranges = [sympy.Integer(k) if d == dim else s for d, s in enumerate(size)]
    info = {"k": k}
    return _reduction(kind, x, inner, ranges, [size[dim]], op_info=info, dtype=dtype)


def _reduction_info(kind: str, extents: Sequence[Any]) -> dict[str, Any]:
    if kind != "mean":
        return {}
    count = int(sympy.prod(extents))
    return {"constants": {"scaling_factor": 1.0 / count}}


def _reduction(
    kind: Any,
    like: ir.TensorBox,
    inner: Callable[[Index, Index], Any],
    ranges: Sequence[Any],
    reduced: Sequence[Any],
    *,
    op_info: dict[str, Any] | None = None,
    dtype: torch.dtype | None = None,
) -> ir.TensorBox:
    return realized(
        SpyreReduction(
            device=like.get_device_or_error(),
            dtype=dtype or like.get_dtype(),
            inner_fn=inner,
            ranges=ranges,
            reduction_ranges=reduced,
            reduction_type=kind,
            src_dtype=like.get_dtype(),
            reduction_hint=ReductionHint.DEFAULT,
            op_info=op_info or {},
        )
    )


def cat(tensors: Sequence[ir.TensorBox], dim: int) -> ir.TensorBox:
    """Lower a concatenation: an allocation, and one copy for each of the tensors."""
    first, *_ = tensors
    dim %= len(first.get_size())
    result = V.graph.current_node.meta["val"]
    layout = ir.FixedLayout(
        first.get_device_or_error(),
        result.dtype,
        ir.convert_shape_to_inductor(result.shape),
        ir.convert_shape_to_inductor(result.stride()),
    )
    whole = ir.TensorBox.create(SpyreEmptyFallback(layout))
    start = 0
    for tensor in tensors:
        end = start + int(tensor.get_size()[dim])
        part = lowerings[torch.ops.aten.slice.Tensor](whole, dim, start, end)
        ir.MutationLayoutSHOULDREMOVE.realize_into(tensor, part)
        start = end
    return whole


def restickify(x: ir.TensorBox) -> ir.TensorBox:
    """Lower a copy to another device layout; the layout is chosen by the pass."""
    x.realize()
    return realized(
        ir.Pointwise(
            device=x.get_device_or_error(),
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

    def inner(index: Index, reduction: Index) -> Any:
        return load([*index[:-1], *reduction])

    constants = {"exx2scale": 1.0 / int(columns), "useZeroMean": 0.0}
    box = _reduction(
        op_table.EXX2,
        x,
        inner,
        [*rows, sympy.S.One],
        [columns],
        op_info={"constants": constants},
    )
    size = [*rows, sympy.Integer(len(op_table.MOMENTS))]
    computed(box).layout = ir.FixedLayout(x.get_device_or_error(), x.get_dtype(), size)
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


def _per_row(tensor: ir.TensorBox) -> Loader:
    load = tensor.make_loader()
    return lambda index: load([*index[:-1], sympy.S.Zero])


def _per_column(tensor: ir.TensorBox) -> Loader:
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
    loaders: Sequence[Loader],
    info: dict[str, Any],
) -> ir.TensorBox:
    return realized(
        named_pointwise(
            device=like.get_device_or_error(),
            dtype=like.get_dtype(),
            ranges=size,
            op=op,
            loaders=loaders,
            op_info=info,
        )
    )
