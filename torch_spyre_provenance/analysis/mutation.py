"""Which calls of the model share memory that one of them changes in place.

Dynamo's graph says which call reads which result. Where a call changes memory in
place, what reads it afterwards reads the change as well, and the graph does not say so.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..model import FxNode
from .aten import PASS_THROUGH, changes_in_place, packet

MOST_BESIDE = 256
"""Beyond so many calls beside one, nothing is concluded from their being there."""


def shared_memory(
    calls: Mapping[str, FxNode], users: Mapping[str, tuple[str, ...]]
) -> dict[str, frozenset[str]]:
    """Return, for each call, those that may see or make the same change in place.

    It is no matter which of them comes first: whatever order is the right one, they
    may be neighbours.

    Args:
        calls: The pre-grad nodes by name.
        users: The names of the users of each of them.

    Returns:
        An entry for each call that looks at such memory, makes it or reads it; some of
        them, and more than `MOST_BESIDE`, where there are so many.
    """
    bases = _bases(calls)
    changed = {
        bases[name] for name, call in calls.items() if changes_in_place(call.target)
    }
    groups = {base: set(users.get(base, ())) for base in changed}
    for name, base in bases.items():
        if base in groups:
            groups[base].update((name, *users.get(name, ())))
    shared: dict[str, frozenset[str]] = {}
    for group in map(frozenset, groups.values()):
        for name in group:
            shared[name] = _joined(shared.get(name, group), group)
    return shared


def _joined(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    larger = max(one, other, key=len)
    return larger if len(larger) > MOST_BESIDE or one is other else one | other


def _bases(calls: Mapping[str, FxNode]) -> dict[str, str]:
    """Return what owns the memory of each call's result.

    It is the call itself, or what it looks at: another call, or an input of the model.
    """
    bases: dict[str, str] = {}
    for name, call in calls.items():
        looks_on = packet(call.target) in PASS_THROUGH or changes_in_place(call.target)
        first = call.inputs[0] if call.inputs else ""
        bases[name] = bases.get(first, first) if looks_on and first else name
    return bases
