"""Making tensors: the functions that generated modules call."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..host.layout import SpyreTensorLayout
from ..host.memory import to_spyre


def spyre_empty_with_layout(
    size: Sequence[int],
    stride: Sequence[int],
    dtype: torch.dtype,
    layout: SpyreTensorLayout,
) -> torch.Tensor:
    """Return an uninitialized tensor of the device.

    Host memory keeps the host's strides: nothing is done with the stick layout.
    """
    return to_spyre(torch.empty_strided(size, stride, dtype=dtype))


def spyre_constant_tensor(
    const_val: float,
    device: torch.device,
    dtype: torch.dtype = torch.float16,
) -> torch.Tensor:
    """Return a scalar of the device."""
    return to_spyre(torch.full((), const_val, dtype=dtype))
