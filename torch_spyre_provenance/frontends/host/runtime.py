"""What torch asks a device about itself: modules, interfaces and code fragments.

There is one device, it has no streams, and whatever ran on it is done when the call
returns. Random numbers come from the host's generator.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from attrs import frozen
from torch._dynamo.device_interface import DeviceInterface
from torch._inductor.codegen.common import DeviceOpOverrides

from ..contract import DEVICE

N_CORES = 32
"""Cores of a Spyre card, for those who divide work by it."""


@frozen(kw_only=True)
class DeviceProperties:
    """What Inductor asks of a device, under torch's attribute names."""

    type: str = DEVICE
    index: int = 0
    multi_processor_count: int = N_CORES
    major: int = 0
    minor: int = 0
    name: str = "spyre on host memory"


class DeviceModule:
    """The module ``torch.spyre``: one device, always there, never busy."""

    @staticmethod
    def is_available() -> bool:
        """Return whether the device can be used: always."""
        return True

    @staticmethod
    def is_initialized() -> bool:
        """Return whether the device is ready: always."""
        return True

    @staticmethod
    def device_count() -> int:
        """Return the number of devices: one."""
        return 1

    @staticmethod
    def current_device() -> int:
        """Return the index of the current device."""
        return 0

    @staticmethod
    def set_device(device: Any) -> None:
        """Select a device; there is nothing to select from."""

    @staticmethod
    def device(device: Any) -> AbstractContextManager[None]:
        """Return a context in which the device is current, as it always is."""
        return nullcontext()

    @staticmethod
    def synchronize(device: Any = None) -> None:
        """Wait for the device; nothing is ever pending."""

    @staticmethod
    def get_device_properties(device: Any = None) -> DeviceProperties:
        """Return the properties of the device."""
        return DeviceProperties()

    @staticmethod
    def get_amp_supported_dtype() -> list[torch.dtype]:
        """Return the dtypes that autocasting can cast to: it is not supported."""
        return []

    @staticmethod
    def _is_in_bad_fork() -> bool:
        return False

    @staticmethod
    def manual_seed(seed: int) -> None:
        """Seed the host's generator, which the device draws from."""
        torch.default_generator.manual_seed(seed)

    @staticmethod
    def manual_seed_all(seed: int) -> None:
        """Seed the generator of all devices; see `manual_seed`."""
        torch.default_generator.manual_seed(seed)

    @staticmethod
    def get_rng_state(device: Any = DEVICE) -> torch.Tensor:
        """Return the generator's state, a host tensor of bytes."""
        return torch.default_generator.get_state()

    @staticmethod
    def set_rng_state(new_state: torch.Tensor, device: Any = DEVICE) -> None:
        """Restore the generator's state; see `get_rng_state`."""
        torch.default_generator.set_state(new_state)


class HostDeviceInterface(DeviceInterface):
    """What Dynamo and Inductor ask of the device."""

    class Worker(DeviceInterface.Worker):
        """The same for Inductor's worker processes."""

        @staticmethod
        def set_device(device: int) -> None:
            """Select a device; there is only one."""

        @staticmethod
        def current_device() -> int:
            """Return the index of the current device."""
            return 0

        @staticmethod
        def get_device_properties(device: Any = None) -> DeviceProperties:
            """Return the properties of the device."""
            return DeviceProperties()

    device = DeviceModule.device  # type: ignore[assignment]
    is_available = staticmethod(DeviceModule.is_available)
    device_count = staticmethod(DeviceModule.device_count)
    current_device = staticmethod(DeviceModule.current_device)
    set_device = staticmethod(DeviceModule.set_device)
    synchronize = staticmethod(DeviceModule.synchronize)

    @staticmethod
    def exchange_device(device: int) -> int:
        """Select a device and return the one before: always the same."""
        return 0

    @staticmethod
    def maybe_exchange_device(device: int) -> int:
        """Select a device if it is one; see `exchange_device`."""
        return 0

    @staticmethod
    def get_raw_stream(device_idx: int) -> int:
        """Return the handle of the current stream: there are none."""
        return 0

    @staticmethod
    def get_compute_capability(device: Any = None) -> str:
        """Return the architecture's name, which has no meaning here."""
        return ""

    @staticmethod
    def is_bf16_supported(including_emulation: bool = False) -> bool:
        """Return whether bfloat16 tensors can be made: the host can."""
        return True

    @staticmethod
    def memory_allocated(device: Any = None) -> int:
        """Return the bytes in use; they are the host's and not counted."""
        return 0

    @staticmethod
    def is_triton_capable(device: Any = None) -> bool:
        """Return whether Triton has a backend for the device: it has not."""
        return False


class HostDeviceOpOverrides(DeviceOpOverrides):
    """Fragments of the wrapper code that Inductor generates for the device."""

    def import_get_raw_stream_as(self, name: str) -> str:
        """Return the definition of a function that gives a stream's handle."""
        return f"def {name}(_): return 0\n"

    def set_device(self, device_idx: int) -> str:
        """Return a statement that selects a device."""
        return "pass"

    def synchronize(self) -> str:
        """Return a statement that waits for the device."""
        return "pass"

    def device_guard(self, device_idx: int) -> str:
        """Return an expression for a context in which the device is current."""
        return f"torch.{DEVICE}.device({device_idx})"
