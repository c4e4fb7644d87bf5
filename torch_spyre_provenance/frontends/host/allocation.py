"""Tensors of the device: making them, moving them, and giving them other memory.

These are the kernels that an operator's schema does not describe, under the names and
with the signatures of the ATen operators.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..contract import DEVICE
from .memory import VIEW_KEYS, to_host, to_spyre

_aten = torch.ops.aten


def empty(
    size: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    """Make an uninitialized `spyre` tensor: ``aten::empty.memory_format``."""
    host = torch.empty(
        size,
        dtype=dtype,
        layout=layout or torch.strided,
        device="cpu",
        memory_format=memory_format or torch.contiguous_format,
    )
    return to_spyre(host)


def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
) -> torch.Tensor:
    """Make an uninitialized `spyre` tensor: ``aten::empty_strided``."""
    return to_spyre(torch.empty_strided(size, stride, dtype=dtype, device="cpu"))


def copy_from(
    source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False
) -> torch.Tensor:
    """Copy between devices or within one, and cast: ``aten::_copy_from``."""
    _host(target).copy_(_host(source))
    return target


def resize(
    tensor: torch.Tensor,
    size: Sequence[int],
    *,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    """Change a tensor's shape, and its memory if it is too small: ``aten::resize_``.

    Memory that must grow is replaced, so views of the old one do not follow.
    """
    resized = empty_on_host(tensor)
    resized.resize_(size, memory_format=memory_format or torch.contiguous_format)
    storage, offset = tensor.untyped_storage(), tensor.storage_offset()
    held = max(storage.nbytes() // tensor.element_size() - offset, 0)
    if resized.numel() > held:
        flat = _aten.as_strided.default.redispatch(VIEW_KEYS, tensor, [held], [1])
        resized.as_strided((held,), (1,)).copy_(to_host(flat))
        storage, offset = to_spyre(resized).untyped_storage(), 0
    return _replace(tensor, storage, offset, resized.size(), resized.stride())


def _replace(
    tensor: torch.Tensor,
    storage: torch.UntypedStorage,
    offset: int | torch.SymInt,
    size: Sequence[int],
    stride: Sequence[int],
) -> torch.Tensor:
    _aten.set_.source_Storage_storage_offset.redispatch(
        VIEW_KEYS, tensor, storage, offset, size, stride
    )
    return tensor


def set_storage(
    tensor: torch.Tensor,
    storage: torch.UntypedStorage,
    offset: int | torch.SymInt,
    size: Sequence[int],
    stride: Sequence[int] = (),
) -> torch.Tensor:
    """Make a tensor a view of a storage: ``aten::set_``.

    Args:
        tensor: The `spyre` tensor to change.
        storage: A storage of the device, or of the host (which torch makes when it
            copies a storage of a device without an allocator of its own).
        offset: First element.
        size: Shape.
        stride: Strides; row-major when empty.

    Returns:
        `tensor`.
    """
    if storage.device.type == "cpu":
        whole = torch.empty(0, dtype=torch.uint8, device="cpu").set_(storage)
        storage = to_spyre(whole).untyped_storage()
    return _replace(tensor, storage, offset, size, stride)


def set_whole_storage(
    tensor: torch.Tensor, storage: torch.UntypedStorage
) -> torch.Tensor:
    """Make a tensor the 1-D view of a whole storage: ``aten::set_.source_Storage``."""
    return set_storage(tensor, storage, 0, (storage.nbytes() // tensor.element_size(),))


def set_tensor(tensor: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """Make a tensor a view of another: ``aten::set_.source_Tensor``."""
    return set_storage(
        tensor,
        source.untyped_storage(),
        source.storage_offset(),
        source.size(),
        source.stride(),
    )


def set_empty(tensor: torch.Tensor) -> torch.Tensor:
    """Make a tensor empty: ``aten::set_``."""
    return set_tensor(tensor, to_spyre(empty_on_host(tensor)))


def empty_on_host(tensor: torch.Tensor) -> torch.Tensor:
    """Make a host tensor of a tensor's dtype and no elements."""
    return torch.empty(0, dtype=tensor.dtype, device="cpu")


def _host(tensor: torch.Tensor) -> torch.Tensor:
    return to_host(tensor) if tensor.device.type == DEVICE else tensor
