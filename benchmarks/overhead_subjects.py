"""The models on which the overhead of recording is measured.

They have the shapes of architectures that people compile, are written in plain PyTorch,
and are small: a compile takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from attrs import frozen
from torch import nn
from torch.nn import functional

from torch_spyre_provenance.simple_mlp import SimpleMLP

WIDTH, HEADS = 128, 2
LENGTH = 64


class Feed(nn.Module):
    """Two linear layers around a gelu, with a norm before and a way around them."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.wide = nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the output, of the input's shape."""
        hidden = functional.gelu(self.wide(self.norm(x)), approximate="tanh")
        return x + self.narrow(hidden)


class Attention(nn.Module):
    """Self-attention written out, for ``[batch, length, width]``."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the output, of the input's shape."""
        query, key, value = (
            layer(x).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(-1, -2) * (WIDTH // HEADS) ** -0.5
        mixed = torch.softmax(scores, dim=-1) @ value
        return self.out(mixed.transpose(1, 2).flatten(2))


class Encoder(nn.Module):
    """Layers as BERT has them: norms come after the sums."""

    def __init__(self, n_layers: int = 2) -> None:
        super().__init__()
        self.attention = nn.ModuleList(Attention() for _ in range(n_layers))
        self.norm = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(n_layers))
        self.feed = nn.ModuleList(Feed() for _ in range(n_layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the output, of the input's shape."""
        for attention, norm, feed in zip(
            self.attention, self.norm, self.feed, strict=True
        ):
            x = feed(norm(x + attention(x)))
        return x


class RootMeanSquare(nn.Module):
    """The norm that Llama has."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the output, of the input's shape."""
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.weight * (x * scale)


class Gated(nn.Module):
    """The feed-forward part that Llama has."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the output, of the input's shape."""
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class Decoder(nn.Module):
    """Layers as Llama has them: norms come first, products are gated."""

    def __init__(self, n_layers: int = 2) -> None:
        super().__init__()
        self.before = nn.ModuleList(RootMeanSquare() for _ in range(n_layers))
        self.attention = nn.ModuleList(Attention() for _ in range(n_layers))
        self.between = nn.ModuleList(RootMeanSquare() for _ in range(n_layers))
        self.gated = nn.ModuleList(Gated() for _ in range(n_layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the output, of the input's shape."""
        for before, attention, between, gated in zip(
            self.before, self.attention, self.between, self.gated, strict=True
        ):
            x = x + attention(before(x))
            x = x + gated(between(x))
        return x


class Vision(nn.Module):
    """Patches of an image as one linear layer, encoder layers, and a head: a ViT."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Linear(3 * 64, WIDTH)
        self.encoder = Encoder()
        self.head = nn.Linear(WIDTH, 64)

    def forward(self, patches: torch.Tensor) -> torch.Tensor:
        """Return the scores of 64 classes for ``[batch, patches, 3 · 64]``."""
        return self.head(self.encoder(self.patch(patches)).mean(1))


def blocks(n_blocks: int) -> nn.Module:
    """Return an MLP of some blocks of two linear layers each."""
    return nn.Sequential(*(Feed() for _ in range(n_blocks)))


_MODELS: Mapping[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "SimpleMLP": (SimpleMLP, (2, 128)),
    "12-block MLP": (lambda: blocks(12), (8, WIDTH)),
    "BERT-shaped": (Encoder, (2, LENGTH, WIDTH)),
    "Llama-shaped": (Decoder, (2, LENGTH, WIDTH)),
    "ViT-shaped": (Vision, (2, LENGTH, 3 * 64)),
    "training step": (lambda: blocks(2), (8, WIDTH)),
}

SUBJECTS = tuple(_MODELS)
"""The name of each model."""


@frozen(kw_only=True)
class Model:
    """A model with inputs, all on the host.

    Attributes:
        module: The module.
        inputs: The arguments of one call.
        others: Arguments of another shape.
        trains: Whether a call computes gradients too.
    """

    module: nn.Module
    inputs: tuple[torch.Tensor, ...]
    others: tuple[torch.Tensor, ...]
    trains: bool


def make(name: str) -> Model:
    """Return a model by its name, the same each time.

    Args:
        name: One of `SUBJECTS`.
    """
    make_module, shape = _MODELS[name]
    torch.manual_seed(0)
    x = torch.randn(shape).half()
    return Model(
        module=make_module().half(),
        inputs=(x,),
        others=(torch.cat((x, x)),),
        trains=name == "training step",
    )
