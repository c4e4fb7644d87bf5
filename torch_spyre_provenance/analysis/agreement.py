"""Where the front end's own `debug_handle` and our attribution say the same."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from ..model import Op, SourceLoc
from .attribution import Attribution


@frozen(kw_only=True)
class Difference:
    """An op to which the front end gives another line than we do.

    Attributes:
        ours: Our attribution, which has at least one line.
        theirs: The headline of the front end's handle.
    """

    ours: Attribution
    theirs: SourceLoc


@frozen(kw_only=True)
class Agreement:
    """The comparison over all device ops.

    Attributes:
        agree: Ops to which both give the same line.
        differ: Ops to which they give different ones.
        only_ours: Ops whose handle has no line, or that have no handle.
        only_theirs: Ops that we leave without a line.
        neither: Ops without a line anywhere.
    """

    agree: int
    differ: tuple[Difference, ...]
    only_ours: int
    only_theirs: int
    neither: int


def compare_handles(pairs: Iterable[tuple[Op, Attribution]]) -> Agreement:
    """Compare each op's handle with its attribution.

    They agree if the handle's headline is a frame of one of our stacks: the front end
    may name a library's line where we name its caller's.

    Args:
        pairs: Each op with its attribution.
    """
    agree = only_ours = only_theirs = neither = 0
    differ: list[Difference] = []
    for op, ours in pairs:
        theirs = op.handle.source if op.handle else None
        if theirs is None:
            only_ours += bool(ours.locations)
            neither += not ours.locations
        elif not ours.locations:
            only_theirs += 1
        elif _names_one_of(theirs, ours):
            agree += 1
        else:
            differ.append(Difference(ours=ours, theirs=theirs))
    return Agreement(
        agree=agree,
        differ=tuple(differ),
        only_ours=only_ours,
        only_theirs=only_theirs,
        neither=neither,
    )


def _names_one_of(source: SourceLoc, ours: Attribution) -> bool:
    return any(
        (frame.file, frame.line) == (source.file, source.start_line)
        for place in ours.locations
        for frame in place.stack
    )
