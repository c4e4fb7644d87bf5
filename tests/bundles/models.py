"""Models whose bundles are test data; their line numbers are in the tests."""

import torch
from torch import nn


class SimpleMLP(nn.Module):
    """Two layers with an activation between."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(128, 256)
        self.fc2 = nn.Linear(256, 128)

    def forward(self, x):
        """Run both layers."""
        x = self.fc1(x)
        x = torch.relu(x)
        return self.fc2(x)


class Attention(nn.Module):
    """One head: products of products, a constant, views that rename buffers."""

    def __init__(self):
        super().__init__()
        self.q = nn.Linear(128, 128, bias=False)
        self.k = nn.Linear(128, 128, bias=False)
        self.v = nn.Linear(128, 128, bias=False)

    def forward(self, x):
        """Attend to the input itself."""
        q = self.q(x)
        k = self.k(x)
        v = self.v(x)
        scores = q @ k.transpose(-1, -2)
        weights = torch.softmax(scores * 0.125, dim=-1)
        return weights @ v


class PlainWeight(nn.Module):
    """A weight that is no parameter: its layout does not fit."""

    def forward(self, x, w, b):
        """Run one layer."""
        return torch.nn.functional.gelu(torch.nn.functional.linear(x, w, b))


class Twice(nn.Module):
    """Two calls on one line, one line twice, and two additions of products."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(128, 128)
        self.b = nn.Linear(128, 128)

    def forward(self, x, w, c):
        """Run the same things more than once."""
        x = self.b(self.a(x))
        x = torch.relu(x)
        x = torch.relu(x)
        wt = w.t()
        y = torch.addmm(c, x, wt)
        z = torch.addmm(c, y, wt)
        return z + x
