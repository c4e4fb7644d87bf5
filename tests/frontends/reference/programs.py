"""Random programs: lines that each make a matrix from those before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from attrs import frozen
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

LINES: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "subtract": torch.sub,
    "multiply": torch.mul,
    "divide": lambda x, y: x / (y * y + 1),
    "larger": torch.maximum,
    "smaller": torch.minimum,
    "choose": lambda x, y: torch.where(x >= y, x, y),
    "absolute": lambda x, _: x.abs(),
    "negate": lambda x, _: -x,
    "rectify": lambda x, _: torch.relu(x),
    "squash": lambda x, _: torch.tanh(x),
    "gate": lambda x, y: torch.sigmoid(x) * y,
    "gelu": lambda x, _: functional.gelu(x),
    "silu": lambda x, _: functional.silu(x),
    "bound": lambda x, _: x.clamp(-2, 2),
    "root": lambda x, _: (x * x + 1).rsqrt(),
    "shift": lambda x, _: 0.5 - x * 0.25,
    "transpose": lambda x, _: x.t(),
    "lay out": lambda x, _: x.t().contiguous(),
    "product": lambda x, y: x @ y / x.shape[-1],
    "product transposed": lambda x, y: x @ y.t() / x.shape[-1],
    "linear": lambda x, y: functional.linear(x, y, y[0]) / x.shape[-1],
    "soft maximum": lambda x, _: torch.softmax(x, -1),
    "normalize": lambda x, y: functional.layer_norm(x, x.shape[-1:], y[0], eps=0.1),
    "root mean square": lambda x, _: functional.rms_norm(x, x.shape[-1:], eps=0.1),
    "sum of rows": lambda x, y: y + x.mean(-1, keepdim=True),
    "sum of columns": lambda x, y: y - x.mean(0),
    "largest": lambda x, y: y - x.amax(-1, keepdim=True),
    "smallest": lambda x, y: y + x.amin(0, keepdim=True),
    "first row": lambda x, y: x[:1] + y,
    "last column": lambda x, y: x[:, -1:] * y,
    "diagonal blocks": lambda x, y: torch.cat([x[1:], y[:1]], 0),
    "halves": lambda x, y: torch.cat([y[:, :1], x[:, 1:]], 1),
    "third dimension": lambda x, y: torch.stack([x, y], 0).sum(0),
    "on the host": lambda x, _: torch.sin(x),
}
"""What a line may compute. Each is continuous, so that rounding stays small, and makes
numbers that are not much larger than those that it is given."""


@frozen(kw_only=True)
class Line:
    """One line of a program: what it computes, and from which values before it."""

    name: str
    operands: tuple[int, int]


@frozen(kw_only=True)
class Program:
    """A function of two square matrices.

    Attributes:
        size: Their rows and columns.
        lines: What it does to them; the values are the two, then one of each line.
        transposed: Whether the second matrix is a transposed one.
    """

    size: int
    lines: tuple[Line, ...]
    transposed: bool = False

    def inputs(self) -> list[Tensor]:
        """Return the same two matrices each time."""
        generator = torch.Generator().manual_seed(self.size)
        x, y = torch.randn(2, self.size, self.size, generator=generator)
        return [x, y.t() if self.transposed else y]

    def __call__(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the value of the last line and the one before it."""
        values = [x, y]
        for line in self.lines:
            first, second = (values[position] for position in line.operands)
            values.append(LINES[line.name](first, second))
        return values[-1], values[-2]


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Draw a program of one to fifteen lines."""
    count = draw(st.integers(1, 15))
    lines = []
    for number in range(count):
        # Mostly what was computed last, or dead code would be most of the program.
        values = st.integers(0, number + 1)
        recent = st.integers(max(0, number - 1), number + 1)
        operands = (draw(recent), draw(values))
        lines.append(Line(name=draw(st.sampled_from(sorted(LINES))), operands=operands))
    return Program(
        size=draw(st.sampled_from((1, 2, 33, 64, 65))),
        lines=tuple(lines),
        transposed=draw(st.booleans()),
    )
