"""The ATen kernels that torch-spyre's C extension registers, on host memory.

They make tensors, move data and make views. All other operators are torch-spyre's own
business, in Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..host import allocation
from ..host.eager import run_on_host
from ..host.layout import SpyreTensorLayout
from ..host.tensor_layout import set_layout

_aten = torch.ops.aten
_DEVICE_KEY = "PrivateUse1"
_AUTOGRAD_KEY = "AutogradPrivateUse1"

_VIEWS = (
    _aten.view.default,
    _aten._reshape_alias.default,
    _aten.as_strided.default,
    _aten.unfold.default,
)


def empty(
    size: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    memory_format: torch.memory_format | None = None,
    **options: Any,
) -> torch.Tensor:
    """Make a row-major tensor: ``aten::empty.memory_format``.

    Raises:
        RuntimeError: The device has no format for the dtype, or no such tensors.
    """
    layout = _layout(size, dtype)
    tensor = allocation.empty(size, dtype=dtype, memory_format=memory_format, **options)
    set_layout(tensor, layout)
    return tensor


def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    **options: Any,
) -> torch.Tensor:
    """Make a tensor of given strides: ``aten::empty_strided``.

    Its sticks lie along the last dimension, whatever the strides.

    Raises:
        RuntimeError: The device has no format for the dtype, or no such tensors.
    """
    layout = _layout(size, dtype, stride)
    tensor = allocation.empty_strided(size, stride, dtype=dtype, **options)
    set_layout(tensor, layout)
    return tensor


def resize(
    tensor: torch.Tensor,
    size: Sequence[int],
    *,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    """Change a tensor's shape: ``aten::resize_``; its layout becomes row-major."""
    layout = _layout(size, tensor.dtype)
    allocation.resize(tensor, size, memory_format=memory_format)
    set_layout(tensor, layout)
    return tensor


def _layout(
    size: Sequence[int],
    dtype: torch.dtype | None,
    stride: Sequence[int] | None = None,
) -> SpyreTensorLayout:
    dtype = torch.get_default_dtype() if dtype is None else dtype
    try:
        if stride is None:
            return SpyreTensorLayout(size, dtype)
        return SpyreTensorLayout(size, stride, dtype, range(len(size)))
    except ValueError as error:
        message = f"no Spyre tensor of shape {tuple(size)} and {dtype}: {error}"
        raise RuntimeError(message) from error


def attention(  # noqa: PLR0917 - the operator's signature
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Attend: ``aten::scaled_dot_product_attention``.

    The extension tells torch to use the operator that backends override, for which
    torch-spyre has a decomposition. Python has no way to tell it; calling that operator
    comes to the same.
    """
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        zeros = torch.zeros_like(attn_mask, dtype=query.dtype)
        attn_mask = zeros.masked_fill(attn_mask.logical_not(), float("-inf"))
    result: torch.Tensor = _aten._scaled_dot_product_fused_attention_overrideable(
        query, key, value, attn_mask, dropout_p, is_causal, False, scale=scale
    )[0]
    return result


_KERNELS: dict[str, Callable[..., Any]] = {
    "empty.memory_format": empty,
    "empty_strided": empty_strided,
    "resize_": resize,
    "set_.source_Storage_storage_offset": allocation.set_storage,
    "set_.source_Storage": allocation.set_whole_storage,
    "set_.source_Tensor": allocation.set_tensor,
}


def register() -> torch.library.Library:
    """Register the kernels.

    Returns:
        The registrations; they last as long as this object is kept.
    """
    library = torch.library.Library("aten", "IMPL")
    for name, kernel in _KERNELS.items():
        library.impl(name, kernel, _DEVICE_KEY)
    for op in _VIEWS:
        name = op._schema.name.removeprefix("aten::")
        library.impl(name, functools.partial(run_on_host, op), _DEVICE_KEY)
    for key in (_DEVICE_KEY, _AUTOGRAD_KEY):
        library.impl("scaled_dot_product_attention", attention, key)
    return library


def register_copies() -> torch.library.Library:
    """Register a host kernel for copies over torch-spyre's own.

    On torch ≥ 2.13 Inductor copies tensors of the device while it prepares its pattern
    matcher. torch-spyre's kernel compiles a graph for such a copy, which needs the
    pattern matcher that is being prepared.

    Returns:
        The registration; it lasts as long as this object is kept.
    """
    library = torch.library.Library("aten", "IMPL")
    library.impl("_copy_from", allocation.copy_from, _DEVICE_KEY, allow_override=True)
    return library
