"""What a kernel consists of."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass
class OpSpec:
    """One operation of a kernel."""

    op: str
    args: list[str]
    tiled_symbols: list[str] = dataclasses.field(default_factory=list)

    def describe(self) -> str:
        """Say what it does."""
        return f"{self.op}({', '.join(self.args)})"


@dataclasses.dataclass
class LoopSpec:
    """A loop around operations."""

    body: list[OpSpec]
