"""ATen operators that the device has whole, or that it decomposes in its own way.

A kernel registered for the device's autograd key sees the operator before torch takes
it apart. What it calls instead is traced in its place, with the operator named as its
origin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import set_original_aten_op

aten = torch.ops.aten

_KEY = "AutogradPrivateUse1"
_library = torch.library.Library("aten", "IMPL")
_registered: set[str] = set()


def _composite(op: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Run an operator's own decomposition, which autograd can follow."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    return op._op_dk(key, *args, **kwargs)  # noqa: SLF001 - what `decompose` calls


def _linear(*args: Any, **kwargs: Any) -> torch.Tensor:
    with set_original_aten_op(aten.linear.default):
        result: torch.Tensor = _composite(aten.linear.default, *args, **kwargs)
        return result


_KERNELS: dict[str, Callable[..., torch.Tensor]] = {
    "linear": _linear,
}


def register() -> None:
    """Register the kernels; the second call does nothing."""
    for name, kernel in _KERNELS.items():
        if name not in _registered:
            _library.impl(name, kernel, _KEY)
            _registered.add(name)
