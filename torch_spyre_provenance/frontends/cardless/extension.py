"""Stand-in for ``torch_spyre._C``: what torch-spyre's Python asks of its C extension.

Tensors live on host memory and carry the stick layouts that the extension would give
them. Everything that only a card can do says so when it is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import torch
from attrs import frozen

from ...errors import LaunchError
from ..contract import DEVICE
from ..host.allocation import copy_from
from ..host.layout import (
    DataFormats,
    ElementArrangement,
    SpyreTensorLayout,
    data_format,
    elems_per_stick,
)
from ..host.memory import to_host, to_spyre
from ..host.tensor_layout import layout_of, set_layout
from . import logging_binding as _logging
from .encoding import encode_constant

__all__ = [
    "DataFormats",
    "ElementArrangement",
    "JobPlan",
    "SpyreTensorLayout",
    "_SpyreStreamBase",
    "_get_default_generator",
    "_logging",
    "as_strided_with_layout",
    "copy_tensor",
    "createSpyreCCLBackend",
    "current_device",
    "current_stream",
    "default_stream",
    "device_count",
    "empty_with_layout",
    "encode_constant",
    "fill_tensor",
    "free_runtime",
    "get_device_dtype",
    "get_downcast_warning",
    "get_elem_in_stick",
    "get_rng_state",
    "get_spyre_tensor_layout",
    "get_stream_from_pool",
    "initial_seed",
    "launch_jobplan",
    "launch_kernel",
    "manual_seed",
    "manual_seed_all",
    "prepare_kernel",
    "reinterpret_tensor",
    "reinterpret_tensor_with_layout",
    "set_current_stream",
    "set_device",
    "set_downcast_warning",
    "set_rng_state",
    "set_spyre_tensor_layout",
    "spyre_empty_with_layout",
    "start_runtime",
    "synchronize",
]

get_device_dtype = data_format
get_elem_in_stick = elems_per_stick
get_spyre_tensor_layout = layout_of
set_spyre_tensor_layout = set_layout


def spyre_empty_with_layout(
    size: Sequence[int],
    stride: Sequence[int],
    dtype: torch.dtype,
    device_layout: SpyreTensorLayout,
) -> torch.Tensor:
    """Make an uninitialized tensor of given strides and stick layout."""
    tensor = to_spyre(torch.empty_strided(size, stride, dtype=dtype, device="cpu"))
    set_layout(tensor, device_layout)
    return tensor


def empty_with_layout(  # noqa: PLR0917 - the extension's signature
    size: Sequence[int],
    device_layout: SpyreTensorLayout,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    """Make an uninitialized row-major tensor of a given stick layout."""
    tensor = to_spyre(torch.empty(size, dtype=dtype, device="cpu"))
    set_layout(tensor, device_layout)
    return tensor


def as_strided_with_layout(
    tensor: torch.Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None,
    device_layout: SpyreTensorLayout,
) -> torch.Tensor:
    """Return an alias of given geometry and stick layout."""
    view = tensor.detach().as_strided(size, stride, storage_offset)
    return _with_own_layout(view, device_layout)


def reinterpret_tensor(
    tensor: torch.Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    offset_increment: int = 0,
) -> torch.Tensor:
    """Return an alias of given geometry, its offset counted from the tensor's."""
    offset = tensor.storage_offset() + offset_increment
    return tensor.detach().as_strided(size, stride, offset)


def reinterpret_tensor_with_layout(
    tensor: torch.Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    offset_increment: int,
    device_layout: SpyreTensorLayout,
) -> torch.Tensor:
    """Return an alias of given geometry and stick layout; see `reinterpret_tensor`."""
    view = reinterpret_tensor(tensor, size, stride, offset_increment)
    return view if view.device.type != DEVICE else _with_own_layout(view, device_layout)


def _with_own_layout(view: torch.Tensor, layout: SpyreTensorLayout) -> torch.Tensor:
    # Layouts are kept by storage: this one must not become that of the other views.
    alias = to_spyre(to_host(view))
    set_layout(alias, layout)
    return alias


def copy_tensor(
    source: torch.Tensor, dst: torch.Tensor, non_blocking: bool = False
) -> None:
    """Copy between the host and the device."""
    copy_from(source, dst, non_blocking)


def fill_tensor(tensor: torch.Tensor, value: float) -> torch.Tensor:
    """Fill a tensor with one value, in place."""
    to_host(tensor).fill_(value)
    return tensor


@frozen(kw_only=True)
class JobPlan:
    """What would run on the card.

    Attributes:
        directory: The kernel's directory, with its SDSC files.
    """

    directory: str

    def num_steps(self) -> int:
        """Return the number of steps: nothing was compiled into any."""
        return 0


def prepare_kernel(spyrecode_dir: str, stream: object = None) -> JobPlan:
    """Return the plan of a kernel, which can be held and not launched."""
    return JobPlan(directory=str(Path(spyrecode_dir).parent))


def launch_jobplan(job_plan: JobPlan, args: Sequence[torch.Tensor]) -> NoReturn:
    """Refuse to launch a kernel.

    Raises:
        LaunchError: Always.
    """
    _refuse(f"the kernel in {job_plan.directory} did not run")


def launch_kernel(code_dir: str, args: Sequence[torch.Tensor]) -> NoReturn:
    """Refuse to launch a kernel; see `launch_jobplan`."""
    _refuse(f"the kernel in {code_dir} did not run")


def createSpyreCCLBackend(*args: Any, **kwargs: Any) -> NoReturn:  # noqa: N802
    """Refuse to connect several cards."""
    _refuse("there is no communication between cards")


def _refuse(what: str) -> NoReturn:
    message = (
        f"{what}: this process compiles through torch-spyre without a card, with "
        "stand-ins for its C extension. Compiling and recording work; to run a kernel, "
        "use a machine with a card and a built torch-spyre"
    )
    raise LaunchError(message)


def start_runtime() -> None:
    """Start the runtime: there is none to start."""


def free_runtime() -> None:
    """Stop the runtime."""


def device_count() -> int:
    """Return the number of devices that compiles may name: one."""
    return 1


def current_device() -> int:
    """Return the index of the current device."""
    return 0


def set_device(index: int) -> None:
    """Select a device; there is only one."""


def get_downcast_warning() -> bool:
    """Return whether lossy casts are reported: they do not happen here."""
    return False


def set_downcast_warning(enabled: bool) -> None:
    """Choose whether lossy casts are reported."""


class _SpyreStreamBase:
    """The one stream, on which nothing is ever pending."""

    def synchronize(self) -> None:
        """Wait for what was queued."""

    def query(self) -> bool:
        """Return whether everything queued is done: always."""
        return True

    def device(self) -> torch.device:
        """Return the stream's device."""
        return torch.device(DEVICE, 0)

    def id(self) -> int:
        """Return the stream's number."""
        return 0

    def priority(self) -> int:
        """Return the stream's priority."""
        return 0


_stream = _SpyreStreamBase()


def get_stream_from_pool(device: object, priority: int = 0) -> _SpyreStreamBase:
    """Return a stream: always the same."""
    return _stream


def current_stream(device: object = None) -> _SpyreStreamBase:
    """Return the current stream."""
    return _stream


def default_stream(device: object = None) -> _SpyreStreamBase:
    """Return the default stream."""
    return _stream


def set_current_stream(stream: _SpyreStreamBase) -> None:
    """Select a stream."""


def synchronize(device: object = None) -> None:
    """Wait for all streams."""


def _get_default_generator(device: int = -1) -> torch.Generator:
    return torch.default_generator


def manual_seed(seed: int, device: int = -1) -> None:
    """Seed the device's generator, which is the host's."""
    torch.default_generator.manual_seed(seed)


manual_seed_all = manual_seed


def initial_seed(device: int = -1) -> int:
    """Return the seed of the device's generator."""
    return torch.default_generator.initial_seed()


def get_rng_state(device: int = -1) -> torch.Tensor:
    """Return the state of the device's generator."""
    return torch.default_generator.get_state()


def set_rng_state(new_state: torch.Tensor, device: int = -1) -> None:
    """Restore the state of the device's generator."""
    torch.default_generator.set_state(new_state)
