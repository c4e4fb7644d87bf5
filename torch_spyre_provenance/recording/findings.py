"""What was found of the tracked fields of an object. Equal findings are one object."""

from __future__ import annotations

from functools import lru_cache

from torch.utils._ordered_set import OrderedSet

from ..model import Field, Presence

_SIZED = (str, bytes, list, tuple, dict, set, frozenset)

MAX_SHARED = 10_000
"""Most findings, and most tuples of them, that are kept from compile to compile."""


def of_value(name: str, value: object) -> Field:
    """Return the finding for a slot that exists and holds `value`."""
    kind = None if value is None else type(value).__name__
    return _found(name, kind, is_populated=is_populated(value))


@lru_cache(MAX_SHARED)
def absent(name: str) -> Field:
    """Return the finding for a slot that does not exist."""
    return Field(name=name, presence=Presence.ABSENT)


@lru_cache(MAX_SHARED)
def shared(findings: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the one tuple of these findings."""
    return findings


@lru_cache(MAX_SHARED)
def _found(name: str, kind: str | None, *, is_populated: bool) -> Field:
    presence = Presence.POPULATED if is_populated else Presence.EMPTY
    return Field(name=name, presence=presence, type=kind)


def is_populated(value: object) -> bool:
    """Return whether a value is content: not None and no empty text or container."""
    if isinstance(value, _SIZED) or type(value) is OrderedSet:
        return len(value) > 0
    return value is not None
