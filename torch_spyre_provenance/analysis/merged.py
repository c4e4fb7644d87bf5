"""Lines of calls that left no node because an equal call's node serves them as well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import define, evolve, field

from ..model import Evidence
from .aten import is_view
from .index import BundleIndex
from .origins import Origin, Rule, distinct, stacks_of


def merge_twins(found: Mapping[str, Origin], index: BundleIndex) -> dict[str, Origin]:
    """Apply *merged-twin*: a node stands for all the equal calls that it computes.

    Common subexpressions are computed once. Of two equal calls the later one then has
    no node, and what reads it reads the node of the other one: although it never asked
    for the other call. That last point is what proves it. The node keeps its own line
    as the first one.

    Args:
        found: The origins of all post-grad nodes.
        index: The bundle's look-ups.

    Returns:
        The origins that have more lines now, by node name.
    """
    merged = _Twins(index, found).merged()
    changed: dict[str, Origin] = {}
    for name, origin in found.items():
        twins = [twin for call in origin.calls for twin in merged.get(call, ())]
        if twins and origin.stacks:
            changed[name] = _with_twins(origin, twins, index)
    return changed


def _with_twins(origin: Origin, twins: list[str], index: BundleIndex) -> Origin:
    stacks = distinct((*origin.stacks, *stacks_of(twins, index)))
    is_new = len(stacks) > len(origin.stacks)
    return evolve(
        origin,
        stacks=stacks,
        calls=distinct((*origin.calls, *twins)),
        calls_evidence=Evidence.INFERRED,
        evidence=Evidence.INFERRED if is_new else origin.evidence,
        rule=Rule.MERGED_TWIN if is_new else origin.rule,
    )


@define
class _Twins:
    """The calls that left no node, and the equal ones before them.

    Attributes:
        index: The bundle's look-ups.
        found: The origins of all post-grad nodes.
    """

    index: BundleIndex
    found: Mapping[str, Origin]
    _first: dict[str, str] = field(factory=dict, init=False)
    _read_by: dict[str, set[str]] = field(factory=dict, init=False)

    def merged(self) -> dict[str, tuple[str, ...]]:
        """Return, for each call with a node, the calls that the node serves too."""
        alive = {call for origin in self.found.values() for call in origin.calls}
        self._first = self._equal_calls(alive)
        if not self._first:
            return {}
        self._read_by = self._reads_of_calls()
        proven: dict[str, str] = {}
        for call in reversed(self._first):
            if self._is_proven(call, self._first[call], proven):
                proven[call] = self._first[call]
        twins: dict[str, list[str]] = {}
        for call in reversed(proven):
            twins.setdefault(proven[call], []).append(call)
        return {first: tuple(calls) for first, calls in twins.items()}

    def _equal_calls(self, alive: set[str]) -> dict[str, str]:
        """Return the first equal call of each call without a node, in graph order."""
        firsts: dict[tuple[object, ...], str] = {}
        same: dict[str, str] = {}
        for name, node in self.index.pre_nodes.items():
            inputs = tuple(same.get(each, each) for each in node.inputs)
            first = firsts.setdefault((node.op, node.target, inputs), name)
            if first in alive and name not in alive and not is_view(node.target):
                same[name] = first
        return same

    def _reads_of_calls(self) -> dict[str, set[str]]:
        """Return the calls whose nodes each call's nodes read."""
        read_by: dict[str, set[str]] = {}
        for name, node in self.index.post_nodes.items():
            for call in self.found[name].calls:
                read_by.setdefault(call, set()).update(self._calls_of(node.inputs))
        return read_by

    def _calls_of(self, nodes: Iterable[str]) -> Iterable[str]:
        for name in nodes:
            if name in self.found:
                yield from self.found[name].calls

    def _is_proven(self, call: str, first: str, proven: Mapping[str, str]) -> bool:
        """Return whether something that reads a call was seen to read the first one.

        Args:
            call: The call without a node.
            first: The equal call that has one.
            proven: The calls, further down, of which that is known already.
        """
        return any(
            user in proven
            or (
                first in self._read_by.get(user, ())
                and first not in self.index.pre_nodes[user].inputs
            )
            for user in self.index.pre_users.get(call, ())
        )
