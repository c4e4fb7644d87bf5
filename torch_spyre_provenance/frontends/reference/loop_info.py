"""Which ops run tile by tile in a counted loop: what a pass leaves on a buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve, frozen

from .tracing import Body, Loop, trace

if TYPE_CHECKING:
    from collections.abc import Iterable

    import sympy
    from torch._inductor import ir

LOOP_INFO = "loop_info"
"""Buffer attribute: the counted loops around the buffer's op."""


@frozen(kw_only=True)
class Tiling:
    """One output loop of an op, cut into equal tiles.

    Attributes:
        dim: Position of the loop among the op's output loops.
        count: Number of tiles.
    """

    dim: int
    count: int


@frozen(kw_only=True)
class CoarseTileInfo:
    """The counted loops around one op.

    Attributes:
        group: Number of the nest in the graph; its ops share the loops.
        tilings: What each counted loop cuts, outermost first.
    """

    group: int
    tilings: tuple[Tiling, ...]

    def tiled_symbols(self, body: Body) -> list[sympy.Symbol]:
        """Return the symbol that each counted loop tiles, innermost first."""
        return [body.loops[each.dim].symbol for each in reversed(self.tilings)]


def loop_info_of(buffer: ir.Buffer) -> CoarseTileInfo | None:
    """Return the counted loops around a buffer's op, or None."""
    info: CoarseTileInfo | None = getattr(buffer, LOOP_INFO, None)
    return info


def one_tile(buffer: ir.ComputedBuffer) -> Body:
    """Return what one trip of the counted loops computes; all of it without any."""
    info = loop_info_of(buffer)
    return tile(trace(buffer), () if info is None else info.tilings)


def tile(body: Body, tilings: Iterable[Tiling]) -> Body:
    """Return a body with some of its output loops cut into equal tiles."""
    loops = list(body.loops)
    for each in tilings:
        whole = loops[each.dim]
        loops[each.dim] = Loop(symbol=whole.symbol, extent=whole.extent // each.count)
    return evolve(body, loops=tuple(loops))
