"""The operators of the ``torch.ops.spyre`` namespace.

They stand in FX graphs for what the device does in one op where ATen has no operator,
or only a composite one. Each also computes on the host, so that a graph that holds one
can be run and traced anywhere, and those that stand for a differentiable ATen operator
have its gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from attrs import frozen
from torch.nn import functional

from . import op_table

Tensor = torch.Tensor

aten = torch.ops.aten
_library = torch.library.Library("spyre", "FRAGMENT")


@frozen(kw_only=True)
class Operator:
    """One operator.

    Attributes:
        schema: Its signature, which begins with its name.
        kernel: What it computes, on tensors of any device.
        gradient: Its gradient with respect to its first argument, given the gradient
            of the result and all arguments; None where it has none.
    """

    schema: str
    kernel: Callable[..., Tensor]
    gradient: Callable[..., Tensor] | None = None

    @property
    def name(self) -> str:
        """Return the operator's name."""
        return self.schema.partition("(")[0]


def _reduce(x: Tensor, dim: Sequence[int], keepdim: bool, kind: str) -> Tensor:
    dims = [d % x.dim() for d in dim] if dim else list(range(x.dim()))
    result = op_table.REDUCTIONS[kind](x, dims)
    for d in sorted(dims) if keepdim else ():
        result = result.unsqueeze(d)
    return result


def _constant(value: float, dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.full((), value, dtype=dtype, device=device)


def _gelu(x: Tensor, approximate: str) -> Tensor:
    return functional.gelu(x, approximate=approximate)


def _gelu_gradient(grad: Tensor, x: Tensor, approximate: str) -> Tensor:
    result: Tensor = aten.gelu_backward(grad, x, approximate=approximate)
    return result


def _clamp_gradient(
    grad: Tensor, x: Tensor, low: float | None, high: float | None
) -> Tensor:
    inside = torch.ones_like(x, dtype=torch.bool)
    if low is not None:
        inside = torch.logical_and(inside, x >= low)
    if high is not None:
        inside = torch.logical_and(inside, x <= high)
    return torch.where(inside, grad, torch.zeros_like(grad))


_OPERATORS = (
    Operator(schema="batchmatmul(Tensor x, Tensor y) -> Tensor", kernel=torch.matmul),
    Operator(
        schema="reduce(Tensor x, int[] dim, bool keepdim, str kind) -> Tensor",
        kernel=_reduce,
    ),
    Operator(
        schema="amax(Tensor x, int[] dim, bool keepdim) -> Tensor", kernel=torch.amax
    ),
    Operator(schema="cat(Tensor[] tensors, int dim) -> Tensor", kernel=torch.cat),
    Operator(schema="restickify(Tensor x) -> Tensor", kernel=torch.clone),
    Operator(
        schema="constant(float value, ScalarType dtype, Device device) -> Tensor",
        kernel=_constant,
    ),
    Operator(
        schema="gelu(Tensor x, str approximate) -> Tensor",
        kernel=_gelu,
        gradient=_gelu_gradient,
    ),
    Operator(
        schema="silu(Tensor x) -> Tensor",
        kernel=functional.silu,
        gradient=aten.silu_backward,
    ),
    Operator(
        schema="softplus(Tensor x, float beta, float threshold) -> Tensor",
        kernel=functional.softplus,
        gradient=aten.softplus_backward,
    ),
    Operator(
        schema="clamp(Tensor x, float? low, float? high) -> Tensor",
        kernel=torch.clamp,
        gradient=_clamp_gradient,
    ),
    *(
        Operator(schema=f"{name}(Tensor x, int k, int dim) -> Tensor", kernel=kernel)
        for name, kernel in op_table.TOPK.items()
    ),
    Operator(schema="exx2(Tensor x) -> Tensor", kernel=op_table.exx2),
    Operator(
        schema="layernormscale(Tensor moments, float eps) -> Tensor",
        kernel=lambda moments, eps: op_table.layernormscale(moments[..., 1:], eps=eps),
    ),
    Operator(
        schema="layernormnorm(Tensor x, Tensor moments, Tensor scale, "
        "Tensor? weight, Tensor? bias) -> Tensor",
        kernel=lambda x, moments, scale, weight, bias: op_table.layernormnorm(
            x, moments[..., :1], scale, *(p for p in (weight, bias) if p is not None)
        ),
    ),
)


SCATTERS = ("select_scatter", "slice_scatter", "diagonal_scatter", "as_strided_scatter")
"""Names of the ATen operators that have a namesake here.

Inductor rewrites ATen's own after the last pass that a device has a say in.
"""


def define() -> None:
    """Define the operators; the second call does nothing."""
    if hasattr(torch.ops.spyre, _OPERATORS[-1].name):
        return
    for operator in _OPERATORS:
        _library.define(operator.schema)
        # Where Dynamo compiles no frame of the caller, it would try this one.
        kernel = torch.compiler.disable(operator.kernel)
        _library.impl(operator.name, kernel, "CompositeExplicitAutograd")
        if operator.gradient is not None:
            _register_gradient(operator.name, operator.gradient)
    for name in SCATTERS:
        original = getattr(aten, name).default
        schema = str(original._schema).partition("::")[2]
        _library.define(schema)
        _library.impl(name, original, "CompositeExplicitAutograd")


def _register_gradient(name: str, gradient: Callable[..., Tensor]) -> None:
    def remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, *ctx.rest = inputs
        ctx.save_for_backward(x)

    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        (x,) = ctx.saved_tensors
        return gradient(grad, x, *ctx.rest), *(None for _ in ctx.rest)

    torch.library.register_autograd(
        f"spyre::{name}", backward, setup_context=remember, lib=_library
    )
