"""Spyre tensors on host memory: the same bytes under another device name.

Both ways go through DLPack: a capsule names its device, and torch takes its word for
it. Nothing is copied, so a tensor and its namesake on the other device alias.
"""

from __future__ import annotations

import ctypes

import torch

_DLPACK_CPU = 1
_DLPACK_EXTENSION = 12  # what torch calls PrivateUse1

VIEW_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
"""Selects the host's kernels of view operators, which touch no element and therefore
work on tensors of any device."""


class _Device(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("index", ctypes.c_int32))


class _CapsuleHead(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("device", _Device))


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def to_spyre(tensor: torch.Tensor) -> torch.Tensor:
    """Return the `spyre` tensor on a host tensor's memory.

    Args:
        tensor: A strided host tensor of any shape, strides and offset.

    Returns:
        A detached `spyre` tensor of the same shape and strides that shares the memory
        and keeps it alive. A `spyre` tensor comes back as a detached alias.

    Raises:
        RuntimeError: The tensor has no memory of its own (sparse, quantized, fake).
    """
    return _retag(tensor, _DLPACK_EXTENSION)


def to_host(tensor: torch.Tensor) -> torch.Tensor:
    """Return the host tensor on a `spyre` tensor's memory; see `to_spyre`."""
    return _retag(tensor, _DLPACK_CPU)


def _retag(tensor: torch.Tensor, kind: int) -> torch.Tensor:
    # DLPack knows neither conjugated nor negated views: both are flags on plain memory.
    if tensor.is_conj():
        return _retag(tensor.conj(), kind).conj()
    if tensor.is_neg():
        return torch._neg_view(_retag(torch._neg_view(tensor), kind))
    capsule = torch._C._to_dlpack(tensor.detach())
    address = _capsule_pointer(capsule, b"dltensor")
    head = ctypes.cast(address, ctypes.POINTER(_CapsuleHead)).contents
    head.device = _Device(kind, 0)
    result: torch.Tensor = torch._C._from_dlpack(capsule)
    if result.stride() != tensor.stride():
        # DLPack counts the stride of a dimension of size 1 as 1.
        result = torch.ops.aten.as_strided.default.redispatch(
            VIEW_KEYS, result, tensor.size(), tensor.stride(), 0
        )
    return result
