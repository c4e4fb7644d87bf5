"""The `spyre` device on host memory: making it known to torch, once."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path

import torch
from torch._dynamo.device_interface import register_interface_for_device
from torch._inductor.codegen.common import register_device_op_overrides
from torch.utils.backend_registration import (
    _DummyDeviceGuard,
    _DummyPrivateUse1Hook,
    _setup_privateuseone_for_python_backend,
)

from ...errors import DeviceTakenError
from ..contract import DEVICE
from . import eager
from .runtime import DeviceModule, HostDeviceInterface, HostDeviceOpOverrides

_UNNAMED = "privateuseone"
_LIBRARIES = ("libc10.so", "libc10.dylib")

_lock = threading.Lock()
_registrations: list[torch.library.Library] = []


def is_active() -> bool:
    """Return whether this process's `spyre` device is the one of this module."""
    return bool(_registrations)


def activate() -> None:
    """Make the `spyre` device known to torch, Dynamo and Inductor.

    The device is part of the process from then on. Once is enough; every further call
    does nothing. No Inductor backend is registered: that is for a front end to do.

    Raises:
        DeviceTakenError: torch has room for one such device, and another backend has
            it. Nothing was changed.
    """
    with _lock:
        if _registrations:
            return
        check_free()
        _make_device()
        _registrations.extend(eager.register())
        register_interface_for_device(DEVICE, HostDeviceInterface)
        register_device_op_overrides(DEVICE, HostDeviceOpOverrides())


def register_runtime() -> None:
    """Give torch's one free device key a runtime in Python, under whatever name.

    Raises:
        DeviceTakenError: It has one already.
    """
    try:
        torch._C._acc.register_python_privateuseone_hook(_DummyPrivateUse1Hook())
        torch._C._acc.register_python_privateuseone_device_guard(_DummyDeviceGuard())
    except RuntimeError as error:
        raise DeviceTakenError(_refusal(error)) from error
    allow_storage_copies()


def _make_device() -> None:
    try:
        _setup_privateuseone_for_python_backend(DEVICE, DeviceModule())
    except RuntimeError as error:
        raise DeviceTakenError(_refusal(error)) from error
    allow_storage_copies()


def _refusal(error: RuntimeError) -> str:
    return f"torch refused the device {DEVICE!r}: {error}"


def allow_storage_copies() -> None:
    """Let `copy.deepcopy` copy tensors of the device.

    torch asks a device's allocator for the memory of a copied storage, and does not
    check that there is one. A device made in Python has none, so the host's allocator
    is named in its place; ``aten::set_`` then takes the host storage that comes of it.
    torch offers this registration to C++ only. Where its symbols are not found, the
    copy stays impossible.
    """
    library = _core_library()
    if library is None:
        return
    kind = ctypes.c_int8
    find = library["_ZN3c1012GetAllocatorERKNS_10DeviceTypeE"]
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.POINTER(kind)]
    name = library["_ZN3c1012SetAllocatorENS_10DeviceTypeEPNS_9AllocatorEh"]
    name.restype, name.argtypes = None, [kind, ctypes.c_void_p, ctypes.c_uint8]
    types = torch._C._autograd.DeviceType
    host, device = kind(types.CPU.value), kind(types.PrivateUse1.value)
    if not find(device):
        name(device, find(host), 0)


def _core_library() -> ctypes.CDLL | None:
    folder = Path(torch.__file__).parent / "lib"
    path = next((folder / n for n in _LIBRARIES if (folder / n).exists()), None)
    return None if path is None else ctypes.CDLL(str(path))


def check_free() -> None:
    """Check that no backend has torch's one free device key.

    Raises:
        DeviceTakenError: One has.
    """
    name = torch._C._get_privateuse1_backend_name()
    if is_active():
        message = (
            f"the device {DEVICE!r} of this process is the reference front end's; "
            "start a process without it"
        )
        raise DeviceTakenError(message)
    if name == DEVICE:
        message = (
            f"another package has registered the device {DEVICE!r} in this process; "
            "use its front end, or start a process without it"
        )
        raise DeviceTakenError(message)
    if name != _UNNAMED or hasattr(torch, _UNNAMED):
        message = (
            f"torch has room for one more device, and the backend {name!r} has it, so "
            f"there can be no {DEVICE!r} device in this process; start one without it"
        )
        raise DeviceTakenError(message)
    if hasattr(torch, DEVICE) or hasattr(torch.Tensor, DEVICE):
        message = f"torch.{DEVICE} exists already, and is not a device of ours"
        raise DeviceTakenError(message)
