"""The stick layout of a tensor: what was set for its storage, or the default.

Host memory has no sticks, so a layout here is a note beside a storage. All views of a
storage share it, and it goes when the storage does.
"""

from __future__ import annotations

import threading

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ...errors import FrontEndError
from ..contract import DEVICE
from .layout import SpyreTensorLayout

_FIRST_SWEEP = 64


class _Notes:
    """Layouts by storage, held weakly."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._notes: dict[int, tuple[StorageWeakRef, SpyreTensorLayout]] = {}
        self._sweep_at = _FIRST_SWEEP

    def __len__(self) -> int:
        with self._lock:
            self._sweep()
            return len(self._notes)

    def get(self, storage: torch.UntypedStorage) -> SpyreTensorLayout | None:
        # A weak reference keeps the address from being used again, so a note that is
        # found is about this very storage.
        note = self._notes.get(storage._cdata)
        return None if note is None else note[1]

    def set(self, storage: torch.UntypedStorage, layout: SpyreTensorLayout) -> None:
        with self._lock:
            if len(self._notes) >= self._sweep_at:
                self._sweep()
                self._sweep_at = max(2 * len(self._notes), _FIRST_SWEEP)
            self._notes[storage._cdata] = StorageWeakRef(storage), layout

    def _sweep(self) -> None:
        dead = [key for key, (ref, _) in self._notes.items() if ref.expired()]
        for key in dead:
            del self._notes[key]


_notes = _Notes()


def layout_of(tensor: torch.Tensor) -> SpyreTensorLayout:
    """Return the stick layout of a tensor's storage.

    Args:
        tensor: A `spyre` tensor; for a view, the answer is its base's.

    Returns:
        The layout that was set, or the default: the dimensions in the order of their
        strides, the innermost cut into sticks.

    Raises:
        FrontEndError: The tensor is not on the device.
        ValueError: The tensor cannot have a layout: rank above 6, or a dtype without a
            device format.
    """
    _check_device(tensor)
    found = _notes.get(tensor.untyped_storage())
    return default_layout(tensor) if found is None else found


def set_layout(tensor: torch.Tensor, layout: SpyreTensorLayout) -> None:
    """Set the stick layout of a tensor's storage, for all its views.

    Raises:
        FrontEndError: The tensor is not on the device.
    """
    _check_device(tensor)
    _notes.set(tensor.untyped_storage(), layout)


def default_layout(tensor: torch.Tensor) -> SpyreTensorLayout:
    """Return the layout that a tensor has when none is set; see `layout_of`."""
    base = tensor if tensor._base is None else tensor._base
    strides = base.stride()
    order = sorted(range(base.dim()), key=strides.__getitem__, reverse=True)
    return SpyreTensorLayout(base.size(), strides, base.dtype, order)


def linear_weight_layout(weight: torch.Tensor) -> SpyreTensorLayout:
    """Return the layout that torch-spyre gives the weight of a linear layer.

    Its sticks lie along the output features, the way the matrix product of a linear
    layer reads it, so that no conversion is needed first.

    Args:
        weight: Shape ``(out_features, in_features)``, on any device.

    Raises:
        ValueError: The weight has not two dimensions.
    """
    return SpyreTensorLayout(weight.size(), weight.stride(), weight.dtype, [1, 0])


def _check_device(tensor: torch.Tensor) -> None:
    if tensor.device.type != DEVICE:
        message = (
            f"a tensor on {tensor.device} has no stick layout: use .to({DEVICE!r})"
        )
        raise FrontEndError(message)
