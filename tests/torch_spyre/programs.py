"""Small programs for a Spyre device: one line each, and three transformer-like modules.

A process of its own compiles them, so this file imports nothing but torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

Shape = tuple[int, ...]

WIDE: Shape = (64, 128)

LINES: dict[str, tuple[Callable[..., object], tuple[Shape, ...], str]] = {
    "add": (lambda x, y: x + y, (WIDE, WIDE), "add"),
    "sub": (lambda x, y: x - y, (WIDE, WIDE), "sub"),
    "mul": (lambda x, y: x * y, (WIDE, WIDE), "mul"),
    "div": (lambda x, y: x / y, (WIDE, WIDE), "realdiv"),
    "constant": (lambda x: x * 0.5, (WIDE,), "mul"),
    "broadcast": (lambda x, y: x + y, (WIDE, (128,)), "add"),
    "maximum": (torch.maximum, (WIDE, WIDE), "maximum"),
    "where": (lambda x, y: torch.where(x > y, x, y), (WIDE, WIDE), "where3"),
    "neg": (lambda x: -x, (WIDE,), "neg"),
    "abs": (torch.abs, (WIDE,), "abs"),
    "exp": (torch.exp, (WIDE,), "exp"),
    "sqrt": (torch.sqrt, (WIDE,), "sqrt"),
    "reciprocal": (torch.reciprocal, (WIDE,), "reciprocal"),
    "sigmoid": (torch.sigmoid, (WIDE,), "sigmoid"),
    "relu": (torch.relu, (WIDE,), "relufwd"),
    "gelu": (functional.gelu, (WIDE,), "gelufwd"),
    "silu": (functional.silu, (WIDE,), "silu"),
    "clamp": (lambda x: x.clamp(-1.0, 1.0), (WIDE,), "clip"),
    "cast": (lambda x: x.float(), (WIDE,), "dl16tofp32"),
    "sum": (lambda x: x.sum(0), (WIDE,), "sum"),
    "mean": (lambda x: x.mean(-1), (WIDE,), "mean"),
    "amax": (lambda x: x.amax(-1), (WIDE,), "max"),
    "matmul": (torch.matmul, (WIDE, (128, 64)), "batchmatmul"),
    "batched": (torch.bmm, ((2, 64, 128), (2, 128, 64)), "batchmatmul"),
    "layer_norm": (
        lambda x: functional.layer_norm(x, (128,)),
        (WIDE,),
        "layernormnorm",
    ),
    "softmax": (lambda x: torch.softmax(x, -1), (WIDE,), "exp"),
    "restickify": (lambda x, w: x @ w.t(), (WIDE, (64, 128)), "ReStickifyOpHBM"),
    "copy": (lambda x: x.t().contiguous(), (WIDE,), "ReStickifyOpHBM"),
    "padding": (lambda x, y: x @ y, ((64, 80), (80, 128)), "batchmatmul"),
    "cat": (lambda x, y: torch.cat([x, y]), (WIDE, WIDE), "identity"),
    "topk": (lambda x: torch.topk(x, 2)[0], (WIDE,), "topkvalue"),
    "softplus": (functional.softplus, (WIDE,), "softplus"),
    "log": (torch.log, (WIDE,), "log"),
    "rsqrt": (torch.rsqrt, (WIDE,), "rsqrt"),
    "tanh": (torch.tanh, (WIDE,), "tanh"),
    "floor": (torch.floor, (WIDE,), "floor"),
    "prod": (lambda x: x.prod(0), (WIDE,), "prod"),
    "fallback": (lambda x: torch.cumsum(x * 2, -1) + x, (WIDE,), "add"),
    "linear": (functional.linear, (WIDE, (64, 128), (64,)), "add"),
    "view": (lambda x: x.view(2,32,128) + 1, (WIDE,), "add"),
}


class Attention(nn.Module):
    """Self-attention with a causal mask, written out."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x):
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


class Block(nn.Module):
    """A pre-norm encoder block."""

    def __init__(self, width=128, heads=2):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        return x * scale * self.weight


class Gated(nn.Module):
    """A gated feed-forward network behind an RMS norm."""

    def __init__(self, width=128):
        super().__init__()
        self.norm = RMSNorm(width)
        self.gate = nn.Linear(width, 2 * width, bias=False)
        self.up = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x):
        y = self.norm(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Stack(nn.Module):
    """Two blocks of equal shape and a head."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Gated() for _ in range(2))
        self.head = nn.Linear(128, 64)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return torch.softmax(self.head(x), dim=-1)


MODULES = {"block": (Block, (2, 64, 128)), "gated": (Gated, (2, 64, 128)), "stack": (Stack, (64, 128))}
