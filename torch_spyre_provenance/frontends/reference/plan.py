"""What the passes over one graph share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from attrs import define, field, frozen

if TYPE_CHECKING:
    from torch._inductor import ir

    from .tracing import Load


@frozen(kw_only=True)
class Need:
    """A load whose buffer should have its stick along another host dimension."""

    load: Load
    stick_dim: int


@frozen(kw_only=True)
class Choice:
    """What the propagation decided for one operation.

    Attributes:
        dim_order: The output's dimensions, the stick last.
        needs: The inputs that lie another way.
    """

    dim_order: tuple[int, ...]
    needs: tuple[Need, ...] = ()


@define
class Plan:
    """The passes' common memory.

    Attributes:
        choices: What was chosen for each operation, by buffer name.
        current: The buffer that a pass is at, for the message should it fail.
    """

    choices: dict[str, Choice] = field(factory=dict)
    current: ir.Buffer | None = None

    def visit(
        self, buffers: Iterable[ir.ComputedBuffer]
    ) -> Iterator[ir.ComputedBuffer]:
        """Yield the buffers, and remember which one is at hand."""
        for buffer in buffers:
            self.current = buffer
            yield buffer
        self.current = None
