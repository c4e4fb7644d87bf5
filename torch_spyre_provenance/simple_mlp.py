"""The model that is audited when no other is named.

It is a model like a user's own, so it imports torch, and its lines are the ones that
the audit names.
"""

from __future__ import annotations

import torch
from torch import nn


class SimpleMLP(nn.Module):
    """Two linear layers with a relu between them, 128 → 256 → 128 features."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(128, 256)
        self.fc2 = nn.Linear(256, 128)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the output, shape (batch, 128), for `x` of that shape."""
        x = self.fc1(x)
        x = torch.relu(x)
        x = self.fc2(x)
        return x


def simple_mlp() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Return the model and its example inputs: fp16, a batch of 2, always the same."""
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        model = SimpleMLP().to(torch.float16)
        return model, (torch.randn(2, 128).to(torch.float16),)
