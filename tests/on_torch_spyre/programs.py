"""Small models for a Spyre device: one line each, and three transformer-like modules.

Processes of their own compile them; this file imports nothing but torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

Shape = tuple[int, ...]

WIDE: Shape = (64, 128)
PAIR = (WIDE, WIDE)

LINES: dict[str, tuple[Callable[..., object], tuple[Shape, ...], str]] = {
    "add": (lambda x, y: x + y, PAIR, "add"),
    "sub": (lambda x, y: x - y, PAIR, "sub"),
    "mul": (lambda x, y: x * y, PAIR, "mul"),
    "div": (lambda x, y: x / y, PAIR, "realdiv"),
    "constant": (lambda x: x * 0.5, (WIDE,), "mul"),
    "broadcast": (lambda x, y: x + y, (WIDE, (128,)), "add"),
    "maximum": (lambda x, y: torch.maximum(x, 2 * y), PAIR, "maximum"),
    "where": (lambda x, y: torch.where(x > y, x, y), PAIR, "where3"),
    "neg": (lambda x: -x, (WIDE,), "neg"),
    "abs": (lambda x: x.abs(), (WIDE,), "abs"),
    "exp": (lambda x: x.exp(), (WIDE,), "exp"),
    "sqrt": (lambda x: x.sqrt(), (WIDE,), "sqrt"),
    "reciprocal": (lambda x: x.reciprocal(), (WIDE,), "reciprocal"),
    "sigmoid": (lambda x: x.sigmoid(), (WIDE,), "sigmoid"),
    "relu": (lambda x: x.relu(), (WIDE,), "relufwd"),
    "gelu": (lambda x: functional.gelu(x + 1), (WIDE,), "gelufwd"),
    "silu": (lambda x: functional.silu(x + 1), (WIDE,), "silu"),
    "clamp": (lambda x: x.clamp(-1.0, 1.0), (WIDE,), "clip"),
    "sum": (lambda x: x.sum(0), (WIDE,), "sum"),
    "mean": (lambda x: x.mean(-1), (WIDE,), "mean"),
    "amax": (lambda x: x.amax(-1), (WIDE,), "max"),
    "matmul": (lambda x, y: x @ y, (WIDE, (128, 64)), "batchmatmul"),
    "batched": (lambda x, y: x @ y, ((2, *WIDE), (2, 128, 64)), "batchmatmul"),
    "layer_norm": (
        lambda x: functional.layer_norm(x, (128,)),
        (WIDE,),
        "layernormnorm",
    ),
    "softmax": (lambda x: x.softmax(-1), (WIDE,), "realdiv"),
    "linear": (lambda x, w, b: functional.linear(-x, w, b), (*PAIR, (64,)), "add"),
    "view": (lambda x: x.view(2, 32, 128) + 1.0, (WIDE,), "add"),
    "restickify": (lambda x: x.t().contiguous(), (WIDE,), "ReStickifyOpHBM"),
    "padding": (lambda x, y: x @ y, ((64, 80), (80, 128)), "batchmatmul"),
    "copy": (lambda x, y: torch.cat([x, y]), PAIR, "identity"),
    "topk": (lambda x: torch.topk(x, 2)[0], (WIDE,), "topkvalue"),
    "fallback": (lambda x: torch.cumsum(x * 2, -1) + x, (WIDE,), "add"),
}
"""Each has its function on one line, shapes of its fp16 inputs, and an op it needs."""


class Attention(nn.Module):
    """Self-attention, written out."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the mixed values, of the shape of `x`: (batch, length, width)."""
        batch, length, width = x.shape
        size = width // self.heads
        q, k, v = (
            part.view(batch, length, self.heads, size).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        scores = q @ k.transpose(-1, -2) * (1 / math.sqrt(size))
        weights = torch.softmax(scores, dim=-1)
        mixed = (weights @ v).transpose(1, 2).reshape(batch, length, width)
        return self.out(mixed)


class Encoder(nn.Module):
    """A pre-norm encoder block."""

    def __init__(self, width: int = 128, heads: int = 2) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a tensor of the shape of `x`: (batch, length, width)."""
        x = x + self.attention(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Gated(nn.Module):
    """A gated feed-forward network behind an RMS norm."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.gate = nn.Linear(width, 2 * width, bias=False)
        self.up = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a tensor of the shape of `x`: (length, width)."""
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.scale
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Classifier(nn.Module):
    """Two layers of equal shape, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Gated() for _ in range(2))
        self.head = nn.Linear(128, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return probabilities, (length, 64), for `x` of (length, 128)."""
        for layer in self.layers:
            x = layer(x)
        return torch.softmax(self.head(x), dim=-1)


MODULES: dict[str, tuple[type[nn.Module], Shape]] = {
    "encoder": (Encoder, (2, 64, 128)),
    "gated": (Gated, WIDE),
    "classifier": (Classifier, WIDE),
}
"""Each with the shape of its input."""


def subjects() -> dict[str, tuple[Callable[..., object], tuple[torch.Tensor, ...]]]:
    """Return every program with its inputs, on the host."""
    made: dict[str, tuple[Callable[..., object], tuple[torch.Tensor, ...]]] = {}
    for name, (function, shapes, _) in LINES.items():
        made[name] = (function, tuple(torch.ones(shape).half() for shape in shapes))
    for name, (kind, shape) in MODULES.items():
        made[name] = (kind().half(), (torch.ones(shape).half(),))
    return made
