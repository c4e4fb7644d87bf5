"""What the front end computes equals eager, and is made of the expected device ops."""

from __future__ import annotations

import pytest
import torch
from eager_comparison import assert_equals_eager
from torch import nn
from torch.nn import functional

MATRIX = (64, 128)

PADDED = ["identity", "identity", "batchmatmul"]
"""A product that sums over part of a stick: zeros, a copy of an operand, and itself."""


def random(*shape):
    """Return the same random numbers for the same shape."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def matrix(*shape):
    """Return a random matrix."""
    return random(*(shape or MATRIX))


PRODUCTS = {
    "mm": (torch.mm, (matrix(5, 100), matrix(100, 33)), PADDED),
    "bmm": (torch.bmm, (random(3, 8, 64), random(3, 64, 16)), ["batchmatmul"]),
    "transposed": (
        lambda a, b: a @ b.transpose(-1, -2),
        (random(3, 64, 128), random(3, 64, 128)),
        ["ReStickifyOpHBM", "batchmatmul"],
    ),
    "own_transpose": (
        lambda a: a @ a.t(),
        (matrix(),),
        ["ReStickifyOpHBM", "batchmatmul"],
    ),
    "3d_by_2d": (
        torch.matmul,
        (random(2, 64, 128), matrix(128, 64)),
        ["batchmatmul"],
    ),
    "4d": (torch.matmul, (random(2, 3, 8, 64), random(2, 3, 64, 8)), ["batchmatmul"]),
    "linear": (
        functional.linear,
        (matrix(), matrix(256, 128), random(256)),
        ["ReStickifyOpHBM", "batchmatmul", "add"],
    ),
    "linear_3d": (
        functional.linear,
        (random(2, 8, 128), matrix(96, 128), random(96)),
        ["ReStickifyOpHBM", "batchmatmul", "add"],
    ),
    "linear_without_bias": (
        functional.linear,
        (matrix(7, 100), matrix(33, 100)),
        ["ReStickifyOpHBM", *PADDED],
    ),
    "linear_1d": (
        functional.linear,
        (random(128), matrix(64, 128), random(64)),
        ["ReStickifyOpHBM", "batchmatmul", "add"],
    ),
}

POINTWISE = {
    "arithmetic": (
        lambda a, b: (a + b) * a - b / (a.abs() + b.abs() + 1),
        (matrix(), matrix()),
        ["add", "mul", "abs", "abs", "add", "add", "realdiv", "sub"],
    ),
    "numbers": (lambda a: 1 - a * 2, (matrix(),), ["mul", "sub"]),
    "alpha": (
        lambda a, b: torch.add(a, b, alpha=2),
        (matrix(), matrix()),
        ["mul", "add"],
    ),
    "broadcast": (
        lambda a, b, c: a + b * c,
        (random(2, 64, 128), random(128), matrix(64, 1)),
        ["mul", "add"],
    ),
    "functions": (
        lambda a: torch.relu(a) + torch.sigmoid(a) - torch.exp(a).neg(),
        (matrix(),),
        ["relufwd", "sigmoid", "add", "exp", "neg", "sub"],
    ),
    "roots": (
        lambda a: a.abs().sqrt() + (a * a + 1).rsqrt() * (a.abs() + 1).reciprocal(),
        (matrix(),),
        [
            "abs",
            "sqrt",
            "mul",
            "add",
            "rsqrt",
            "abs",
            "add",
            "reciprocal",
            "mul",
            "add",
        ],
    ),
    "extremes": (
        lambda a, b: torch.maximum(a, b) - torch.minimum(a, b).floor(),
        (matrix(), matrix()),
        ["maximum", "minimum", "floor", "sub"],
    ),
    "powers": (lambda a: a**2, (matrix(),), ["mul"]),
    "odd_shapes": (
        lambda a, b: torch.relu(a + b) * 3,
        (matrix(7, 33), random(33)),
        ["add", "relufwd", "mul"],
    ),
    "one_element": (lambda a: a + a, (random(1),), ["add"]),
    "no_dimension": (lambda a: a * a, (torch.tensor(3.0),), ["mul"]),
}

HALF_ONLY = {
    "comparison": (
        lambda a, b: (a > b, a <= b, a != 0),
        (matrix(), matrix()),
        ["notequal", "greaterthan", "lesserequal"],
    ),
    "where": (
        lambda a, b: torch.where(a > b, a, b),
        (matrix(), matrix()),
        ["greaterthan", "where3"],
    ),
    "mask": (
        lambda a: (a > 0).to(a.dtype) * a,
        (matrix(),),
        ["greaterthan", "identity", "mul"],
    ),
    "gelu": (functional.gelu, (matrix(),), ["gelufwd"]),
    "gelu_tanh": (
        lambda a: functional.gelu(a, approximate="tanh"),
        (matrix(),),
        ["gelufwd"],
    ),
    "silu": (functional.silu, (matrix(),), ["silu"]),
    "softplus": (functional.softplus, (matrix(),), ["softplus"]),
    "clamp": (lambda a: torch.clamp(a, -0.5, 0.5), (matrix(),), ["clip"]),
    "clamp_from_below": (lambda a: torch.clamp(a, min=0.1), (matrix(),), ["clip"]),
    "tanh_and_log": (
        lambda a: torch.tanh(a) + (a.abs() + 1).log(),
        (matrix(),),
        ["tanh", "abs", "add", "log", "add"],
    ),
    "rms_norm": (
        lambda a, w: functional.rms_norm(a, (128,), w),
        (matrix(), random(128)),
        ["mul", "mean", "add", "rsqrt", "mul", "mul"],
    ),
    "cast": (lambda a: a.float() * 2, (matrix(),), ["dl16tofp32", "mul"]),
}

REDUCTIONS = {
    "rows": (lambda a: a.sum(-1), (matrix(),), ["sum"]),
    "columns": (lambda a: a.sum(0), (matrix(),), ["sum"]),
    "everything": (lambda a: a.sum(), (matrix(7, 33),), ["sum"]),
    "two_dimensions": (lambda a: a.sum((0, 2)), (random(3, 8, 100),), ["sum"]),
    "short": (lambda a: a.sum(1), (random(8, 4, 64),), ["sum"]),
    "kept": (lambda a: a.sum(-1, keepdim=True) * a, (matrix(),), ["sum", "mul"]),
    "mean": (lambda a: a.mean(-1), (matrix(7, 100),), ["mean"]),
    "extremes": (lambda a: a.amax(-1) - a.amin(-1), (matrix(),), ["max", "min", "sub"]),
    "largest_of_rows": (lambda a: a.max(-1).values, (matrix(),), ["max"]),
    "product": (
        lambda a: (a + 1).prod(0, keepdim=True),
        (random(3, 8, 100),),
        ["add", "prod"],
    ),
    "product_of_rows": (
        lambda a: a.prod(-1),
        (matrix(5, 7),),
        ["ReStickifyOpHBM", "prod"],
    ),
    "largest": (
        lambda a: tuple(a.topk(3, 1)),
        (random(3, 8, 100),),
        ["topkvalue", "topkindex"],
    ),
    "largest_of_one": (
        lambda a: tuple(a.topk(1)),
        (matrix(7, 1),),
        ["topkvalue", "topkindex"],
    ),
    "largest_one": (
        lambda a: tuple(a.topk(1)),
        (matrix(),),
        ["ReStickifyOpHBM", "topkvalue", "ReStickifyOpHBM", "topkindex"],
    ),
    "softmax": (
        lambda a: torch.softmax(a, -1),
        (matrix(7, 100),),
        ["max", "sub", "exp", "sum", "realdiv"],
    ),
    "scaled_softmax": (
        lambda a: torch.softmax(a * 2.0, 0),
        (matrix(),),
        ["mul", "max", "sub", "exp", "sum", "realdiv"],
    ),
    "layer_norm": (
        lambda a, w, b: functional.layer_norm(a, (128,), w, b),
        (random(2, 8, 128), random(128), random(128)),
        ["exx2", "layernormscale", "layernormnorm"],
    ),
    "norm_of_one": (
        lambda a: functional.layer_norm(a, (1,)),
        (matrix(7, 1),),
        ["exx2", "layernormscale", "layernormnorm"],
    ),
    "plain_layer_norm": (
        lambda a: functional.layer_norm(a, (100,)),
        (matrix(7, 100),),
        ["exx2", "layernormscale", "layernormnorm"],
    ),
}

VIEWS = {
    "transpose": (lambda a: a.t() + a.t(), (matrix(),), ["add"]),
    "transposed_copy": (lambda a: a.t().contiguous(), (matrix(),), ["identity"]),
    "permute": (
        lambda a: (a.permute(2, 0, 1) + a.permute(2, 0, 1)).permute(1, 2, 0),
        (random(2, 64, 128),),
        ["add"],
    ),
    "merge_and_split": (
        lambda a: (a.view(128, 128) + 1).view(2, 64, 2, 64).transpose(1, 2) * 2,
        (random(2, 64, 128),),
        ["add", "mul"],
    ),
    "reshape": (
        lambda a: a.transpose(1, 2).reshape(2, -1) + 1,
        (random(2, 8, 64),),
        ["identity", "add"],
    ),
    "expand": (lambda a: a.expand(64, 128) + 1, (matrix(64, 1),), ["add"]),
    "slice": (lambda a: a[:, 32:96] + a[:, :64], (matrix(),), ["add"]),
    "select": (lambda a: a[1] + a[0], (random(2, 64, 128),), ["add"]),
    "halves": (lambda a: torch.mul(*a.chunk(2, -1)), (matrix(),), ["mul"]),
    "aliases": (lambda a: (a, a + 1, a.t()), (matrix(),), ["add"]),
}

MOVES = {
    "concatenation": (
        lambda a, b: torch.cat([a, b], 1) * 2,
        (matrix(8, 64), matrix(8, 32)),
        ["identity", "identity", "mul"],
    ),
    "transposed_concatenation": (
        lambda a, b: torch.cat([a, b.t(), a], 0),
        (matrix(8, 64), matrix(64, 8)),
        ["identity", "ReStickifyOpHBM", "identity", "identity"],
    ),
    "rotation": (
        lambda a: torch.cat((-a[..., 8:], a[..., :8]), -1) * a,
        (random(2, 3, 16),),
        ["neg", "identity", "identity", "mul"],
    ),
    "concatenation_inside_a_stick": (
        lambda a, b: torch.cat([a, b], 1),
        (matrix(7, 65), matrix(7, 33)),
        ["identity", "identity"],
    ),
    "stack": (
        lambda a, b: torch.stack([a, b], 1) + 1,
        (matrix(8, 64), matrix(8, 64)),
        ["identity", "identity", "add"],
    ),
    "split": (lambda a: torch.add(*a.split(64, 1)), (matrix(),), ["add"]),
    "unbind": (lambda a: torch.add(*a.unbind(0)), (matrix(2, 64),), ["add"]),
    "fill": (
        lambda a: a + torch.full((128,), 2.5, dtype=a.dtype, device=a.device),
        (matrix(),),
        ["identity", "add"],
    ),
    "zeros": (torch.zeros_like, (matrix(7, 33),), ["identity"]),
    "not_finite": (
        lambda a: (a * torch.nan, a + torch.inf, a - torch.inf),
        (matrix(),),
        ["mul", "add", "sub"],
    ),
}

SCORES = ["mul", "ReStickifyOpHBM", *PADDED]
WEIGHTS = ["max", "sub", "exp", "sum", "realdiv"]
MASKED = ["max", "maximum", "sub", "exp", "sum", "maximum", "realdiv"]


def heads():
    """Return query, key and value of four heads."""
    return tuple(random(2, 4, 10, 16) + shift for shift in (0.0, 0.1, -0.1))


def row(number):
    """Return a mask of the one row in which nothing is left."""
    return (torch.arange(10) == number).unsqueeze(-1)


ATTENTION = {
    "attention": (
        functional.scaled_dot_product_attention,
        heads(),
        [*SCORES, *WEIGHTS, *PADDED],
    ),
    "masked_attention": (
        functional.scaled_dot_product_attention,
        (*heads(), (matrix(10, 10) > 0) & ~row(3)),
        [*SCORES, "identity", "where3", *MASKED, *PADDED],
    ),
    "biased_attention": (
        functional.scaled_dot_product_attention,
        (*heads(), random(2, 1, 10, 10).masked_fill(row(3), -torch.inf)),
        [*SCORES, "add", *MASKED, *PADDED],
    ),
    "grouped_attention": (
        lambda q, k, v: functional.scaled_dot_product_attention(
            q, k[:, :2], v[:, :2], enable_gqa=True
        ),
        heads(),
        [
            "mul",
            "identity",
            "ReStickifyOpHBM",
            *PADDED,
            *WEIGHTS,
            "identity",
            *PADDED,
        ],
    ),
}

BOTH = PRODUCTS | POINTWISE | REDUCTIONS | VIEWS | MOVES | ATTENTION


def as_dtype(args, dtype):
    """Return tensors in another precision."""
    return [arg.to(dtype) if arg.is_floating_point() else arg for arg in args]


@pytest.mark.parametrize("name", BOTH | HALF_ONLY)
def test_half_precision(compiled, name):
    """In fp16 everything is one kernel of the device's ops."""
    function, args, ops = (BOTH | HALF_ONLY)[name]
    assert_equals_eager(function, *as_dtype(args, torch.float16))
    assert [ops] == compiled.ops


@pytest.mark.parametrize("name", BOTH)
def test_single_precision(compiled, name):
    """In fp32 too, for what the device has in fp32."""
    function, args, ops = BOTH[name]
    assert_equals_eager(function, *args)
    assert [ops] == compiled.ops


@pytest.mark.parametrize("name", ["mm", "arithmetic", "softmax", "gelu"])
def test_bfloat16(compiled, name):
    """The device's 16-bit format serves bfloat16 as well."""
    function, args, ops = (BOTH | HALF_ONLY)[name]
    assert_equals_eager(function, *as_dtype(args, torch.bfloat16))
    assert [ops] == compiled.ops


def test_two_precisions_in_one_op(compiled):
    """The narrower operand is converted by an op of its own."""
    assert_equals_eager(torch.sub, matrix().half(), matrix(64, 1))
    assert [["dl16tofp32", "sub"]] == compiled.ops


ON_THE_HOST = {
    "cumsum": (
        lambda a: torch.relu(torch.cumsum(torch.relu(a), 1)),
        (matrix(8, 64),),
        [["relufwd"], ["relufwd"]],
    ),
    "sine": (lambda a: torch.sin(a) + 1, (matrix(),), [["add"]]),
    "scaled_addmm": (
        lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2),
        (matrix(8, 8), matrix(8, 16), matrix(16, 8)),
        [],
    ),
    "fp32_comparison": (
        lambda a: torch.where(a > 0, a, -a),
        (matrix(),),
        [["neg", "where3"]],
    ),
    "convolution": (
        lambda x, w: functional.conv2d(x, w, padding=1),
        (random(2, 3, 8, 8), random(4, 3, 3, 3)),
        [],
    ),
    "no_elements": (lambda a: a + 1, (torch.ones(0, 4),), []),
    "integers": (lambda a: a + 1, (torch.arange(64),), []),
    "double": (lambda a: a * a, (matrix().double(),), []),
    "where_the_largest_is": (
        lambda a: tuple(a.max(-1)),
        (matrix(),),
        [["max"]],
    ),
    "largest_of_all": (lambda a: tuple(a.topk(2)), (random(64),), []),
    "variance": (lambda a: a.var(-1), (matrix(),), []),
}


@pytest.mark.parametrize("name", ON_THE_HOST)
def test_what_the_device_lacks_runs_on_the_host(compiled, name):
    """Another operator, type or shape is a library call, and cuts the kernel in two."""
    function, args, ops = ON_THE_HOST[name]
    assert_equals_eager(function, *args)
    assert ops == compiled.ops


def test_embedding_feeds_a_kernel(compiled):
    """A table look-up runs on the host; what uses it, on the device."""
    indices = torch.tensor([[1, 5], [3, 0]])
    assert_equals_eager(
        lambda i, w: functional.embedding(i, w) * 2, indices, matrix(8, 64)
    )
    assert [["mul"]] == compiled.ops


class Block(nn.Module):
    """Attention of four heads, a residual, a norm."""

    def __init__(self):
        """Make the layers."""
        super().__init__()
        self.inward = nn.Linear(64, 192)
        self.outward = nn.Linear(64, 64)
        self.norm = nn.LayerNorm(64)

    def forward(self, x):
        """Return the block's output for ``[batch, time, 64]``."""
        heads = (
            part.unflatten(-1, (4, 16)).transpose(1, 2)
            for part in self.inward(x).chunk(3, -1)
        )
        mixed = functional.scaled_dot_product_attention(*heads)
        return self.norm(x + self.outward(mixed.transpose(1, 2).flatten(-2)))


def test_an_attention_block(compiled):
    """A whole block of a transformer equals eager."""
    torch.manual_seed(0)
    model = Block().eval()
    x = random(2, 16, 64)
    with torch.no_grad():
        expected = model(x)
        actual = torch.compile(model.to("spyre"))(x.to("spyre"))
    torch.testing.assert_close(actual.cpu(), expected, rtol=1e-4, atol=1e-4)
    ops = [op for kernel in compiled.ops for op in kernel]
    assert 4 == ops.count("batchmatmul")
    assert ["exx2", "layernormscale", "layernormnorm"] == ops[-3:]
