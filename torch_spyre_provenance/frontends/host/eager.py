"""Every eager operator of the `spyre` device, run by the host's kernel on its memory.

One boxed fallback serves all ATen operators. What an operator does with its arguments
is read from its schema:

- a *view* is made by the host's own view kernel on the `spyre` tensor, so that both
  share one storage;
- an argument that is *written in place* is written through its host alias;
- an ``out=`` argument may have to grow, which an alias cannot: the operator writes a
  fresh host tensor, and that is copied;
- every other result is a fresh host tensor, renamed.

The operators that make memory, move it or replace it have kernels of their own. So do
the convolutions and the recurrent cells, for which torch calls operators that the host
does not have.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from attrs import frozen

from ..contract import DEVICE
from . import allocation, recurrent
from .allocation import empty_on_host
from .memory import VIEW_KEYS, to_host, to_spyre

_aten = torch.ops.aten
_KEY = "PrivateUse1"
_TENSOR = torch._C.TensorType.get()


@frozen(kw_only=True)
class _Plan:
    """What an operator's schema says about its arguments and results.

    Attributes:
        names: Names of all arguments, in order.
        tensors: Names of the arguments that are one tensor each, results apart.
        outputs: Names of the ``out=`` arguments.
        written: For each result the name of the argument that it is, or None.
        is_view: Whether a result aliases an argument that is not written.
    """

    names: tuple[str, ...]
    tensors: frozenset[str]
    outputs: frozenset[str]
    written: tuple[str | None, ...]
    is_view: bool


@functools.cache
def _plan(op: torch._ops.OpOverload) -> _Plan:
    schema = op._schema
    writes = {
        frozenset(argument.alias_info.before_set): argument.name
        for argument in schema.arguments
        if argument.alias_info is not None and argument.alias_info.is_write
    }
    aliases = tuple(result.alias_info for result in schema.returns)
    return _Plan(
        names=tuple(argument.name for argument in schema.arguments),
        tensors=frozenset(
            a.name
            for a in schema.arguments
            if not a.is_out and _TENSOR.isSubtypeOf(a.type)
        ),
        outputs=frozenset(a.name for a in schema.arguments if a.is_out),
        written=tuple(
            None if alias is None else writes.get(frozenset(alias.before_set))
            for alias in aliases
        ),
        is_view=any(alias is not None and not alias.is_write for alias in aliases),
    )


def run_on_host(op: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Run an operator with `spyre` arguments by the host's kernel.

    Args:
        op: The operator.
        *args: Its positional arguments.
        **kwargs: Its keyword arguments.

    Returns:
        What the operator returns, on `spyre`.
    """
    plan = _plan(op)
    if plan.is_view:
        return op.redispatch(VIEW_KEYS, *args, **kwargs)
    given = _with_tensors(plan, dict(zip(plan.names, args, strict=False)) | kwargs)
    fresh = {
        name: _map_tensors(given[name], empty_on_host)
        for name in plan.outputs
        if given.get(name) is not None
    }
    hosted = {name: _map(value, _on_host) for name, value in given.items()} | fresh
    n_positional = len(args)
    positional = [hosted[name] for name in plan.names[:n_positional]]
    keywords = {name: hosted[name] for name in kwargs}
    result = op(*positional, **keywords)
    for name, values in fresh.items():
        _write_out(given[name], values)
    return _results(plan, result, given, hosted)


def _with_tensors(plan: _Plan, given: dict[str, Any]) -> dict[str, Any]:
    """Turn numbers back into the tensors that they were.

    Before it calls a Python kernel, torch unwraps the tensors that it made of numbers.
    """
    numbers = {
        name: value
        for name, value in given.items()
        if name in plan.tensors and isinstance(value, bool | int | float | complex)
    }
    if not numbers:
        return given
    tensors = (given[name] for name in plan.names if name in plan.tensors & set(given))
    *_, like = [0, *(value for value in tensors if isinstance(value, torch.Tensor))]
    return given | {
        # A number gives way to the other operand's type.
        name: torch.tensor(value, dtype=torch.result_type(like, value), device="cpu")
        for name, value in numbers.items()
    }


def _results(
    plan: _Plan, result: Any, given: dict[str, Any], hosted: dict[str, Any]
) -> Any:
    if len(plan.written) == 1:
        return _result(plan.written[0], result, given, hosted)
    if not plan.written:
        return result
    pairs = zip(plan.written, result, strict=True)
    return tuple(_result(name, value, given, hosted) for name, value in pairs)


def _result(
    name: str | None, value: Any, given: dict[str, Any], hosted: dict[str, Any]
) -> Any:
    return given[name] if name is not None else _map_tensors(value, _on_spyre)


def _on_host(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return to_host(value) if value.device.type == DEVICE else value
    if isinstance(value, torch.device) and value.type == DEVICE:
        return torch.device("cpu")
    return value


def _on_spyre(tensor: torch.Tensor) -> torch.Tensor:
    return to_spyre(tensor) if tensor.device.type == "cpu" else tensor


def _map(value: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_map(item, function) for item in value)
    return function(value)


def _map_tensors(value: Any, function: Callable[[torch.Tensor], Any]) -> Any:
    return _map(value, lambda x: function(x) if isinstance(x, torch.Tensor) else x)


def _write_out(out: Any, value: Any) -> None:
    if isinstance(out, torch.Tensor):
        if out.shape != value.shape:
            allocation.resize(out, value.shape)
            # It lies as the host's result does, in the same order of dimensions.
            out.as_strided_(value.shape, value.stride())
        to_host(out).copy_(value)
        return
    for one, written in zip(out, value, strict=True):
        _write_out(one, written)


def _on_host_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a kernel for the device of a function of host tensors."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        hosted = _map(args, _on_host)
        named = {name: _map(value, _on_host) for name, value in kwargs.items()}
        return _map_tensors(function(*hosted, **named), _on_spyre)

    return kernel


def _convolution_backward(
    grad: torch.Tensor, tensor: torch.Tensor, weight: torch.Tensor, *settings: Any
) -> tuple[torch.Tensor | None, ...]:
    *geometry, groups, mask = settings
    transposed = geometry[3]
    bias_sizes = [weight.shape[1] * groups if transposed else weight.shape[0]]
    results: tuple[torch.Tensor | None, ...] = _aten.convolution_backward.default(
        grad, tensor, weight, bias_sizes, *geometry, groups, mask
    )
    return results


def _histogram(tensor: torch.Tensor, *settings: Any) -> torch.Tensor:
    """Count integers too, as other devices do and the host does not."""
    counts: torch.Tensor = _aten.histc.default(tensor.double(), *settings)
    return counts.to(tensor.dtype)


_KERNELS: dict[str, Callable[..., Any]] = {
    "empty.memory_format": allocation.empty,
    "empty_strided": allocation.empty_strided,
    "_copy_from": allocation.copy_from,
    "resize_": allocation.resize,
    "set_.source_Storage_storage_offset": allocation.set_storage,
    "set_.source_Storage": allocation.set_whole_storage,
    "set_.source_Tensor": allocation.set_tensor,
    "set_": allocation.set_empty,
}

_HOST_FUNCTIONS: dict[str, Callable[..., Any]] = {
    # These have a composite form too, which other devices get and which rounds
    # differently.
    "native_layer_norm": _aten.native_layer_norm.default,
    "native_group_norm": _aten.native_group_norm.default,
    "silu_backward": _aten.silu_backward.default,
    "mish_backward": _aten.mish_backward.default,
    "histc": _histogram,
    "addr": _aten.addr.default,
    "convolution_overrideable": _aten.convolution.default,
    "convolution_backward_overrideable": _convolution_backward,
    "_thnn_fused_lstm_cell": recurrent.lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": recurrent.lstm_cell_backward,
    "_thnn_fused_gru_cell": recurrent.gru_cell,
    "_thnn_fused_gru_cell_backward": recurrent.gru_cell_backward,
}


def register() -> tuple[torch.library.Library, ...]:
    """Register the fallback and the kernels for the device.

    Returns:
        The registrations; they last as long as these objects are kept.
    """
    anything = torch.library.Library("_", "IMPL")
    # Dynamo compiles what a frame that it skipped calls: that must not be these.
    anything.fallback(torch.compiler.disable(run_on_host), _KEY)
    aten = torch.library.Library("aten", "IMPL")
    for name, kernel in _KERNELS.items():
        aten.impl(name, torch.compiler.disable(kernel), _KEY)
    for name, function in _HOST_FUNCTIONS.items():
        kernel = torch.compiler.disable(_on_host_tensors(function))
        aten.impl(name, kernel, _KEY)
    for flag in ("Conjugate", "Negative"):
        # A copy applies these flags itself; without this, torch would copy to apply
        # them before it copies.
        aten.impl("_copy_from", torch.library.fallthrough_kernel, flag)
    return anything, aten
