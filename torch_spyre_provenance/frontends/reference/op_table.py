"""The device's operations: one table for the compiler and for the host runner.

Each row gives the name that Inductor's ops handlers use for an operation, the name that
the device has for it, and the torch function that computes it on the host. What is not
in the table has no device op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from attrs import frozen
from torch.nn import functional

Compute = Callable[..., torch.Tensor]


@frozen(kw_only=True)
class DeviceOp:
    """One row of the table.

    Attributes:
        handler: Name in Inductor's ops handlers, or in our own lowerings.
        spyre: Name on the device.
        compute: The torch function; keyword arguments are the op's constants.
        fp32: Whether the device has it for fp32 too; every op has fp16.
        is_predicate: Whether the result is a truth value.
    """

    handler: str
    spyre: str
    compute: Compute
    fp32: bool = False
    is_predicate: bool = False


def _softplus(x: torch.Tensor, **constants: float) -> torch.Tensor:
    return functional.softplus(
        x, constants["softplusBeta"], constants["softplusThresh"]
    )


def _clip(x: torch.Tensor, **constants: float) -> torch.Tensor:
    return torch.clamp(x, constants["clipMin"], constants["clipMax"])


def exx2(x: torch.Tensor) -> torch.Tensor:
    """Return the mean and the variance along the last dimension, side by side.

    The device keeps the mean of the squares in place of the variance; in half
    precision on the host that would lose the small ones.
    """
    wide = x.float()
    moments = (wide.mean(-1), wide.var(-1, correction=0))
    return torch.stack(moments, -1).to(x.dtype)


def layernormscale(variance: torch.Tensor, **constants: float) -> torch.Tensor:
    """Return one over the standard deviation."""
    return torch.rsqrt(variance.float() + constants["eps"]).to(variance.dtype)


def layernormnorm(
    x: torch.Tensor,
    mean: torch.Tensor,
    scale: torch.Tensor,
    *affine: torch.Tensor,
) -> torch.Tensor:
    """Return the normalized values, times the weight and plus the bias if given."""
    result = (x.float() - mean.float()) * scale.float()
    if affine:
        result = result * affine[0].float()
    if len(affine) > 1:
        result = result + affine[1].float()
    return result.to(x.dtype)


def _row(handler: str, spyre: str, compute: Compute, **flags: bool) -> DeviceOp:
    return DeviceOp(handler=handler, spyre=spyre, compute=compute, **flags)


_POINTWISE = (
    _row("abs", "abs", torch.abs, fp32=True),
    _row("add", "add", torch.add, fp32=True),
    _row("eq", "equal", torch.eq, is_predicate=True),
    _row("exp", "exp", torch.exp, fp32=True),
    _row("floor", "floor", torch.floor, fp32=True),
    _row("ge", "greaterequal", torch.ge, is_predicate=True),
    _row("gelu", "gelufwd", functional.gelu),
    _row("layernormnorm", "layernormnorm", layernormnorm, fp32=True),
    _row("layernormscale", "layernormscale", layernormscale, fp32=True),
    _row("gt", "greaterthan", torch.gt, is_predicate=True),
    _row("le", "lesserequal", torch.le, is_predicate=True),
    _row("log", "log", torch.log),
    _row("lt", "lesserthan", torch.lt, is_predicate=True),
    _row("maximum", "maximum", torch.maximum, fp32=True),
    _row("minimum", "minimum", torch.minimum, fp32=True),
    _row("mul", "mul", torch.mul, fp32=True),
    _row("ne", "notequal", torch.ne, is_predicate=True),
    _row("neg", "neg", torch.neg, fp32=True),
    _row("reciprocal", "reciprocal", torch.reciprocal, fp32=True),
    _row("relu", "relufwd", torch.relu, fp32=True),
    _row("rsqrt", "rsqrt", torch.rsqrt, fp32=True),
    _row("sigmoid", "sigmoid", torch.sigmoid, fp32=True),
    _row("silu", "silu", functional.silu),
    _row("softplus", "softplus", _softplus),
    _row("sqrt", "sqrt", torch.sqrt, fp32=True),
    _row("sub", "sub", torch.sub, fp32=True),
    _row("tanh", "tanh", torch.tanh),
    _row("truediv", "realdiv", torch.div, fp32=True),
    _row("where", "where3", torch.where, fp32=True),
    _row("clamp", "clip", _clip),
)

POINTWISE: Mapping[str, DeviceOp] = {row.handler: row for row in _POINTWISE}
"""The pointwise operations by handler name."""

COMPUTE: Mapping[str, Compute] = {row.spyre: row.compute for row in _POINTWISE}
"""The torch function of each pointwise device op."""


def _prod(x: torch.Tensor, dims: Sequence[int]) -> torch.Tensor:
    for dim in sorted(dims, reverse=True):
        x = x.prod(dim)
    return x


REDUCTIONS: Mapping[str, Compute] = {
    "sum": torch.sum,
    "mean": torch.mean,
    "max": torch.amax,
    "min": torch.amin,
    "prod": _prod,
}
"""The torch function of each reduction; it is given the reduced dimensions."""

TOPK: Mapping[str, Compute] = {
    "topkvalue": lambda x, k, dim: torch.topk(x, k, dim).values,
    "topkindex": lambda x, k, dim: torch.topk(x, k, dim).indices,
}
"""The torch function of the ops that pick the largest elements along one dimension."""

ACROSS_STICKS = frozenset({"prod", *TOPK})
"""Reductions that the device does not do along a stick."""

MATMUL = "batchmatmul"
EXX2 = "exx2"
IDENTITY = "identity"
RESTICKIFY = "ReStickifyOpHBM"

_HALF = (torch.float16, torch.bfloat16)

_CASTS: dict[tuple[torch.dtype, torch.dtype], str] = {
    (torch.float16, torch.bool): IDENTITY,
    (torch.bool, torch.float16): IDENTITY,
    (torch.float16, torch.bfloat16): IDENTITY,
    (torch.bfloat16, torch.float16): IDENTITY,
    **{(half, torch.float32): "dl16tofp32" for half in _HALF},
    **{(torch.float32, half): "fp32todl16" for half in _HALF},
}

MOVES = frozenset({IDENTITY, RESTICKIFY, *_CASTS.values()})
"""Device ops that copy their one input, converting it to the output's type."""


def cast_op(source: torch.dtype, target: torch.dtype) -> str | None:
    """Return the device op that converts between two dtypes, or None."""
    if source == target:
        return IDENTITY
    return _CASTS.get((source, target))


MOMENTS: Mapping[str, tuple[int, int]] = {
    "layernormscale": (0, 1),
    "layernormnorm": (1, 0),
}
"""The device ops that read what `exx2` wrote: as which argument, and which moment."""


def constants_of(op_info: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers that an op's parameters hold, by name."""
    return dict(op_info.get("constants", {}))


def parameters_of(op_info: Mapping[str, Any]) -> dict[str, Any]:
    """Return every parameter of an op, the numbers among them."""
    others = {key: value for key, value in op_info.items() if key != "constants"}
    return others | constants_of(op_info)
