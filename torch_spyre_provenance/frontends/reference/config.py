"""Settings of the reference front end, as an Inductor-style config module.

Inductor makes the module part of every cache key, because it is registered as the
device's `device_custom_config`. Change a value like those of `torch._inductor.config`.
Every name below is a setting, so the module has no `__future__` import.
"""

import sys

from torch.utils._config_module import install_config_module

sencores: int = 32
"""Cores that the work of one op may be divided over."""

lx_planning: bool = False
"""Whether inputs that several ops read are copied into the memory near the cores."""

max_span_bytes: int = 65535 * 4096
"""Bytes of device memory over which one operand of one core may extend."""


install_config_module(sys.modules[__name__])
