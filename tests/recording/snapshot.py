"""A snapshot of every attribute of torch's compiler modules and of their classes."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import ModuleType

WATCHED = ("torch", "torch._dynamo", "torch._inductor", "torch._functorch", "torch.fx")
"""Roots of the module trees in which nothing may be replaced."""

Snapshot = dict[tuple[str, str], int]
"""Identity of each attribute, by owner (a module or ``module:class``) and name."""


def take(roots: Iterable[str] = WATCHED) -> tuple[Snapshot, list[object]]:
    """Return the identities of all callables of the watched modules and classes.

    Only functions, classes, properties and their like are watched: the data that a
    compiler keeps in module globals changes with every compile.

    Returns:
        The identities, and the objects themselves (kept so that no id is reused).
    """
    snapshot: Snapshot = {}
    kept: list[object] = []
    for name, module in sorted(sys.modules.items()):
        if module is None or not _is_watched(name, roots):
            continue
        _add(snapshot, kept, name, vars(module))
        for cls in _own_classes(module):
            _add(snapshot, kept, f"{name}:{cls.__qualname__}", dict(vars(cls)))
    return snapshot, kept


def changed(before: Snapshot, after: Snapshot) -> list[str]:
    """Return the attributes that were replaced or removed, and those added to classes.

    A module that a compile imports lazily may appear in its parent's namespace; that is
    Python's doing and no patch.
    """
    replaced = [
        f"{owner}.{name}"
        for (owner, name), identity in before.items()
        if after.get((owner, name)) != identity
    ]
    owners = {owner for owner, _ in before}
    added = [
        f"{owner}.{name}"
        for owner, name in after
        if (owner, name) not in before and owner in owners and ":" in owner
    ]
    return sorted(replaced + added)


def _is_watched(name: str, roots: Iterable[str]) -> bool:
    return any(name == root or name.startswith(f"{root}.") for root in roots)


def _own_classes(module: ModuleType) -> list[type]:
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    ]


def _add(
    snapshot: Snapshot, kept: list[object], owner: str, space: dict[str, object]
) -> None:
    for name, value in space.items():
        if callable(value) or isinstance(value, property | classmethod | staticmethod):
            snapshot[owner, name] = id(value)
            kept.append(value)
