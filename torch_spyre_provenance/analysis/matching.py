"""Which device op of one compile is which of another, whatever they are called now."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from pathlib import PurePosixPath

from attrs import frozen

from ..model import Evidence
from .attribution import Attribution, Attributor

Key = Callable[["PlacedOp"], Hashable]


@frozen(kw_only=True)
class PlacedOp:
    """A device op, and its lines in a form that outlives a move of the files.

    Attributes:
        found: The op's attribution.
        files: Names of its files, without directories.
        numbers: Its 1-based lines.
        texts: The text of its lines.
    """

    found: Attribution
    files: tuple[str, ...]
    numbers: tuple[int, ...]
    texts: tuple[str, ...]

    @property
    def places(self) -> tuple[tuple[str, int, str], ...]:
        """Return file name, line and text of each of its lines."""
        return tuple(zip(self.files, self.numbers, self.texts, strict=True))

    @property
    def is_missing(self) -> bool:
        """Return whether it has no line."""
        return self.found.evidence is Evidence.MISSING


@frozen(kw_only=True)
class OpPair:
    """One op in two compiles.

    Attributes:
        before: The op in the first one.
        after: The op in the second one.
    """

    before: PlacedOp
    after: PlacedOp


@frozen(kw_only=True)
class Matching:
    """The ops of two compiles.

    Attributes:
        pairs: Those in both, in the order of the first compile.
        lost: Those of the first one alone.
        gained: Those of the second one alone.
    """

    pairs: tuple[OpPair, ...]
    lost: tuple[PlacedOp, ...]
    gained: tuple[PlacedOp, ...]


def place_ops(facts: Attributor) -> tuple[PlacedOp, ...]:
    """Return the device ops of a bundle with their lines, in execution order."""
    return tuple(
        PlacedOp(
            found=found,
            files=tuple(PurePosixPath(p.frame.file).name for p in found.locations),
            numbers=tuple(p.frame.line for p in found.locations),
            texts=tuple(facts.text(p.frame) or "" for p in found.locations),
        )
        for found in facts.attributions
    )


def match_ops(before: Iterable[PlacedOp], after: Iterable[PlacedOp]) -> Matching:
    """Pair the ops of two compiles.

    Names of buffers, operations and nodes do not count, for one more op renumbers them
    all. What counts is, from the strictest key to the loosest, module, operator and
    text of the line; the nth op with a key is the nth one on the other side. An op that
    lost its line pairs with the one that fits best of those that are left.

    Args:
        before: Ops of the first compile, in execution order.
        after: Ops of the second one.
    """
    left, right = dict(enumerate(before)), dict(enumerate(after))
    pairs: dict[int, OpPair] = {}
    for key in _KEYS:
        for n, m in _pair(left, right, key):
            pairs[n] = OpPair(before=left.pop(n), after=right.pop(m))
    for n, m in _pair(left, right, _device_op):
        if left[n].is_missing or right[m].is_missing:
            pairs[n] = OpPair(before=left.pop(n), after=right.pop(m))
    return Matching(
        pairs=tuple(pairs[n] for n in sorted(pairs)),
        lost=tuple(left.values()),
        gained=tuple(right.values()),
    )


def _pair(
    left: dict[int, PlacedOp], right: dict[int, PlacedOp], key: Key
) -> list[tuple[int, int]]:
    """Return pairs of numbers: the nth op with a key on either side."""
    others: dict[Hashable, list[int]] = {}
    for m, op in reversed(right.items()):
        others.setdefault(key(op), []).append(m)
    return [(n, same.pop()) for n, op in left.items() if (same := others.get(key(op)))]


def _line_in_place(op: PlacedOp) -> Hashable:
    return (*_operator_in_module(op), op.places)


def _text_in_module(op: PlacedOp) -> Hashable:
    return (*_operator_in_module(op), op.texts)


def _operator_in_module(op: PlacedOp) -> tuple[Hashable, ...]:
    return (op.found.module_path, op.found.aten_op, op.found.op)


def _device_op_in_module(op: PlacedOp) -> Hashable:
    return (op.found.module_path, op.found.op)


def _text(op: PlacedOp) -> Hashable:
    return (op.found.op, op.texts)


def _device_op(op: PlacedOp) -> Hashable:
    return op.found.op


_KEYS: tuple[Key, ...] = (
    _line_in_place,
    _text_in_module,
    _operator_in_module,
    _text,
    _device_op_in_module,
)
