"""ATen operators that the device has whole, or that it decomposes in its own way.

A kernel registered for the device's autograd key sees the operator before torch takes
it apart. What it calls instead is traced in its place, with the operator named as its
origin. Where a gradient is wanted and the device's form has none, the kernel runs the
operator's own decomposition, which autograd can follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import set_original_aten_op

aten = torch.ops.aten

Tensor = torch.Tensor

_KEY = "AutogradPrivateUse1"
_FLOAT_TYPES = (torch.float16, torch.bfloat16, torch.float32)
_library = torch.library.Library("aten", "IMPL")
_registered: set[str] = set()


def register() -> None:
    """Register the kernels; the second call does nothing."""
    for name, kernel in _KERNELS.items():
        if name not in _registered:
            # Where Dynamo compiles no frame of the caller, it would try this one.
            _library.impl(name, torch.compiler.disable(kernel), _KEY)
            _registered.add(name)


def _composite(op: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Run an operator's own decomposition."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    return op._op_dk(key, *args, **kwargs)


def _wants_gradient(*tensors: Tensor | None) -> bool:
    return torch.is_grad_enabled() and any(
        tensor is not None and tensor.requires_grad for tensor in tensors
    )


def _is_half(x: Tensor) -> bool:
    return x.dtype in (torch.float16, torch.bfloat16)


def _linear(*args: Any, **kwargs: Any) -> Tensor:
    with set_original_aten_op(aten.linear.default):
        result: Tensor = _composite(aten.linear.default, *args, **kwargs)
        return result


def _gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    with set_original_aten_op(aten.gelu.default):
        result: Tensor = torch.ops.spyre.gelu(x, approximate)
        return result


def _silu(x: Tensor) -> Tensor:
    with set_original_aten_op(aten.silu.default):
        result: Tensor = torch.ops.spyre.silu(x)
        return result


def _softplus(x: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    with set_original_aten_op(aten.softplus.default):
        result: Tensor = torch.ops.spyre.softplus(x, beta, threshold)
        return result


def _clamp(x: Tensor, low: float | None = None, high: float | None = None) -> Tensor:
    with set_original_aten_op(aten.clamp.default):
        result: Tensor = torch.ops.spyre.clamp(x, low, high)
        return result


def _softmax(x: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    op = aten.softmax.int
    whole = dtype is None and x.dtype in _FLOAT_TYPES and x.dim() > 0 and x.numel() > 0
    if not whole or _wants_gradient(x):
        result: Tensor = _composite(op, x, dim, dtype)
        return result
    # In half precision throughout, as the device computes it. Inductor has a pattern
    # that multiplies into the exponent what `aten.amax` and its operand are scaled by;
    # the device gains nothing by that.
    with set_original_aten_op(aten._softmax.default):
        powers = torch.exp(x - torch.ops.spyre.amax(x, [dim], True))
        return powers / torch.sum(powers, dim, keepdim=True)


def _attention(  # noqa: PLR0917 - torch's signature
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    op = aten.scaled_dot_product_attention.default
    tensors = (query, key, value)
    same = len({(t.dtype, t.dim()) for t in tensors}) == 1
    if (
        not (same and query.dtype in _FLOAT_TYPES and query.dim() >= 3)
        or dropout_p > 0
        or (is_causal and attn_mask is not None)
        or _wants_gradient(*tensors, attn_mask)
    ):
        result: Tensor = _composite(
            op,
            *(query, key, value, attn_mask, dropout_p, is_causal),
            scale=scale,
            enable_gqa=enable_gqa,
        )
        return result
    with set_original_aten_op(op):
        if enable_gqa:
            key, value = (_repeat_heads(t, query.size(-3)) for t in (key, value))
        if is_causal:
            shape = (query.size(-2), key.size(-2))
            attn_mask = torch.ones(shape, dtype=torch.bool, device=query.device).tril()
        factor = query.size(-1) ** -0.5 if scale is None else scale
        scores = torch.matmul(query * factor, key.transpose(-2, -1))
        return torch.matmul(_attention_weights(scores, attn_mask), value)


def _repeat_heads(tensor: Tensor, count: int) -> Tensor:
    """Repeat each head so that there are `count` of them."""
    each = count // tensor.size(-3)
    if each == 1:
        return tensor
    *batch, heads, length, width = tensor.shape
    wide = tensor.unsqueeze(-3).expand(*batch, heads, each, length, width)
    return wide.reshape(*batch, count, length, width)


def _attention_weights(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Return the softmax over the last dimension; zeros where a mask leaves nothing."""
    if mask is None:
        powers = torch.exp(scores - torch.ops.spyre.amax(scores, [-1], True))
        return powers / torch.sum(powers, -1, keepdim=True)
    limits = torch.finfo(scores.dtype)
    if mask.dtype is torch.bool:
        nothing = torch.full((), -torch.inf, dtype=scores.dtype, device=scores.device)
        scores = torch.where(mask, scores, nothing)
    else:
        scores = scores + mask
    largest = torch.ops.spyre.amax(scores, [-1], True)
    powers = torch.exp(scores - torch.clamp_min(largest, limits.min))
    total = torch.sum(powers, -1, keepdim=True)
    return powers / torch.clamp_min(total, limits.tiny)


def _layer_norm(
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    *_: bool,
) -> Tensor:
    op = aten.layer_norm.default
    whole = len(normalized_shape) == 1 and x.dtype in _FLOAT_TYPES and x.numel() > 0
    result: Tensor
    if not whole or _wants_gradient(x, weight, bias):
        result = _composite(op, x, normalized_shape, weight, bias, eps)
        return result
    with set_original_aten_op(op):
        moments = torch.ops.spyre.exx2(x)
        scale = torch.ops.spyre.layernormscale(moments, eps)
        result = torch.ops.spyre.layernormnorm(x, moments, scale, weight, bias)
        return result


def _rms_norm(
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    op = aten.rms_norm.default
    if len(normalized_shape) != 1 or not _is_half(x) or _wants_gradient(x, weight):
        result: Tensor = _composite(op, x, normalized_shape, weight, eps)
        return result
    with set_original_aten_op(op):
        tiny = torch.finfo(x.dtype).eps if eps is None else eps
        mean = torch.mean(x * x, -1, keepdim=True)
        normed = torch.rsqrt(mean + tiny) * x
        return normed if weight is None else normed * weight


_KERNELS: dict[str, Callable[..., Tensor]] = {
    "clamp": _clamp,
    "gelu": _gelu,
    "layer_norm": _layer_norm,
    "linear": _linear,
    "rms_norm": _rms_norm,
    "scaled_dot_product_attention": _attention,
    "silu": _silu,
    "softmax.int": _softmax,
    "softplus": _softplus,
}
