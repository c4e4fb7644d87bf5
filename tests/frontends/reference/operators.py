"""The operators that the sweep compiles, and the tensors that it gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from attrs import frozen
from torch import Tensor
from torch.nn import functional

HALF = (torch.float16, torch.bfloat16)
FLOATS = (*HALF, torch.float32)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
NUMBERS = (*FLOATS, *INTEGERS)
EVERYTHING = (*NUMBERS, torch.bool)
FP8 = (torch.float8_e4m3fn,)


@frozen(kw_only=True)
class Operator:
    """One row.

    Attributes:
        call: The operator, on two tensors of the same form.
        dtypes: The types that it is tried in.
        positive: Whether its operands have to be above zero.
    """

    call: Callable[[Tensor, Tensor], Any]
    dtypes: tuple[torch.dtype, ...] = FLOATS
    positive: bool = False


def _unary(function: Callable[[Tensor], Any], **fields: Any) -> Operator:
    return Operator(call=lambda x, _: function(x), **fields)


def _both(function: Callable[[Tensor, Tensor], Any], **fields: Any) -> Operator:
    return Operator(call=function, **fields)


_POINTWISE = {
    "abs": _unary(torch.abs),
    "add": _both(torch.add, dtypes=NUMBERS),
    "clamp": _unary(lambda x: torch.clamp(x, -1, 1)),
    "div": _both(lambda x, y: x / (y.abs() + 1)),
    "exp": _unary(torch.exp),
    "floor": _unary(torch.floor),
    "gelu": _unary(functional.gelu),
    "gelu tanh": _unary(lambda x: functional.gelu(x, approximate="tanh")),
    "log": _unary(torch.log, positive=True),
    "logical_and": _both(torch.logical_and, dtypes=(torch.bool,)),
    "logical_not": _unary(torch.logical_not, dtypes=(torch.bool,)),
    "maximum": _both(torch.maximum, dtypes=NUMBERS),
    "minimum": _both(torch.minimum, dtypes=NUMBERS),
    "mul": _both(torch.mul, dtypes=NUMBERS),
    "neg": _unary(torch.neg, dtypes=NUMBERS),
    "pow": _unary(lambda x: (x**2, x**3)),
    "reciprocal": _unary(torch.reciprocal, positive=True),
    "relu": _unary(torch.relu),
    "rsqrt": _unary(torch.rsqrt, positive=True),
    "sigmoid": _unary(torch.sigmoid),
    "sign": _unary(torch.sign),
    "silu": _unary(functional.silu),
    "sin and cos": _unary(lambda x: (torch.sin(x), torch.cos(x))),
    "softplus": _unary(functional.softplus),
    "sqrt": _unary(torch.sqrt, positive=True),
    "square": _unary(torch.square),
    "sub": _both(torch.sub, dtypes=NUMBERS),
    "tanh": _unary(torch.tanh),
    "with numbers": _unary(lambda x: 2 - x * 3, dtypes=NUMBERS),
    "bitwise": _both(lambda x, y: (x ^ y) | (x & y), dtypes=(*INTEGERS, torch.bool)),
    "ceil": _unary(torch.ceil),
}

_CHOICES = {
    "eq": _both(torch.eq, dtypes=EVERYTHING),
    "ge": _both(torch.ge, dtypes=NUMBERS),
    "gt": _both(torch.gt, dtypes=NUMBERS),
    "le": _both(torch.le, dtypes=NUMBERS),
    "lt": _both(torch.lt, dtypes=NUMBERS),
    "ne": _both(torch.ne, dtypes=EVERYTHING),
    "where": _both(lambda x, y: torch.where(x > y, x, y), dtypes=NUMBERS),
    "where with numbers": _unary(lambda x: torch.where(x > 0, 1.0, 0.5)),
    "masked_fill": _unary(lambda x: x.masked_fill(x > 0, -1)),
    "tril and triu": _unary(lambda x: (x.tril(), x.triu(1)), dtypes=NUMBERS),
}

_REDUCTIONS = {
    "sum": _unary(lambda x: (x.sum(-1), x.sum(0), x.sum()), dtypes=NUMBERS),
    "mean": _unary(lambda x: (x.mean(-1), x.mean(0, keepdim=True), x.mean())),
    "amax": _unary(lambda x: (x.amax(-1), x.amax(0)), dtypes=NUMBERS),
    "amin": _unary(lambda x: (x.amin(-1), x.amin(0)), dtypes=NUMBERS),
    "max": _unary(lambda x: (x.max(), x.max(-1).values)),
    "min": _unary(lambda x: (x.min(), x.min(0).values)),
    "argmax": _unary(lambda x: x.argmax(-1)),
    # Of a few elements: each product is rounded, and eager rounds elsewhere.
    "prod": _unary(lambda x: (x[:, :8].prod(-1), x.prod(0))),
    "var": _unary(lambda x: (x.var(-1, correction=0), x.std(0, correction=0))),
    "cumsum": _unary(lambda x: x.cumsum(-1)),
    "topk": _unary(lambda x: x.topk(1).values),
    "softmax": _unary(lambda x: (x.softmax(-1), x.softmax(0))),
    "log_softmax": _unary(lambda x: x.log_softmax(-1)),
    "layer_norm": _both(lambda x, y: functional.layer_norm(x, x.shape[-1:], y[0])),
    "rms_norm": _both(lambda x, y: functional.rms_norm(x, x.shape[-1:], y[0], 1e-5)),
}

_PRODUCTS = {
    "mm": _both(lambda x, y: x @ y.t()),
    "mm transposed": _both(lambda x, y: x.t() @ y),
    "bmm": _both(lambda x, y: torch.bmm(x[None], y.t()[None])),
    "matmul 3d": _both(lambda x, y: x[None].expand(2, -1, -1) @ y.t()),
    "linear": _both(lambda x, y: functional.linear(x, y, y[:, 0])),
    "addmm": _both(lambda x, y: torch.addmm(y[:, 0], x, y.t())),
    "attention": _both(
        lambda x, y: functional.scaled_dot_product_attention(x[None], y[None], y[None])
    ),
    "conv2d": _both(
        lambda x, y: functional.conv2d(x[None, None], y[None, None, :1, :1])
    ),
}

_MOVES = {
    "clone": _unary(torch.clone, dtypes=(*EVERYTHING, *FP8)),
    "contiguous": _unary(lambda x: x.t().contiguous(), dtypes=EVERYTHING),
    "cat": _both(lambda x, y: torch.cat([x, y], 0), dtypes=EVERYTHING),
    "cat columns": _both(lambda x, y: torch.cat([x, y], 1)),
    "stack": _both(lambda x, y: torch.stack([x, y], 1), dtypes=EVERYTHING),
    "select": _unary(lambda x: x[0] + x[-1], dtypes=NUMBERS),
    "slice": _unary(lambda x: x[1:] + x[:-1], dtypes=NUMBERS),
    "expand": _unary(lambda x: x[:1].expand(3, -1) * 2, dtypes=NUMBERS),
    "permute": _unary(lambda x: x[None].permute(2, 0, 1) * 2, dtypes=NUMBERS),
    "view": _unary(lambda x: x.reshape(-1) * 2, dtypes=NUMBERS),
    "roll": _unary(lambda x: x.roll(1, 0)),
    "pad": _unary(lambda x: functional.pad(x, (1, 2))),
    "full": _unary(lambda x: x + torch.full_like(x, 2), dtypes=NUMBERS),
    "arange": _unary(lambda x: x + torch.arange(x.shape[-1], device=x.device)),
    "embedding": _unary(lambda x: functional.embedding(_first(x), x)),
    "index_put": _unary(lambda x: x.index_put((_first(x),), x[0] * 2)),
    "scatter": _unary(lambda x: x.scatter(0, _first(x)[None], 3.0)),
    "in place": _unary(lambda x: x.clone().mul_(2).add_(1), dtypes=NUMBERS),
}

_CASTS = {
    "to float32": _unary(lambda x: x.float() * 2, dtypes=EVERYTHING),
    "to float16": _unary(lambda x: x.half(), dtypes=(*EVERYTHING, *FP8)),
    "to bfloat16": _unary(lambda x: x.bfloat16(), dtypes=EVERYTHING),
    "to bool": _unary(lambda x: x.bool(), dtypes=EVERYTHING),
    "to int64": _unary(lambda x: x.long(), dtypes=EVERYTHING),
}


def _first(x: Tensor) -> Tensor:
    """Return the index of the first row, on the device of a tensor."""
    return torch.zeros(1, dtype=torch.int64, device=x.device)


OPERATORS: Mapping[str, Operator] = (
    _POINTWISE | _CHOICES | _REDUCTIONS | _PRODUCTS | _MOVES | _CASTS
)
"""Every operator, by the name that the table in the docs has for it."""

FORMS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.t().contiguous().t(),
    "broadcast": lambda x: x[:, :1].expand(-1, x.shape[-1]),
    "one row": lambda x: x[:1].clone(),
    "one column": lambda x: x[:, :1].clone(),
    "part of a stick": lambda x: x[:7, :33].clone(),
}
"""How a matrix lies in memory, and of which shape it is."""


def operands(dtype: torch.dtype, form: str, *, positive: bool) -> tuple[Tensor, Tensor]:
    """Return the same two matrices of a form each time."""
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, 9, 128, generator=generator)
    if positive:
        x, y = x.abs() + 0.5, y.abs() + 0.5
    if not dtype.is_floating_point:
        x, y = (x * 4).abs(), (y * 4).abs()
    x, y = (FORMS[form](matrix.to(dtype)) for matrix in (x, y))
    return x, y
