"""Which calls of the model lie beside which, as the pre-grad graph says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from attrs import define, field

from ..model import FxNode
from .aten import COMPUTING, packet, plain_name
from .index import BundleIndex
from .mutation import MOST_BESIDE, shared_memory

Step = Callable[[str], tuple[str, ...]]

_WRITTEN_AS = {
    "matmul": frozenset({"mm", "bmm"}),
    "__matmul__": frozenset({"mm", "bmm"}),
    "truediv": frozenset({"div"}),
}
"""Calls that become one operator of another name."""


@define(slots=False)
class CallFlow:
    """The neighbourhood of calls, remembered.

    Attributes:
        index: The bundle's look-ups.
    """

    index: BundleIndex
    _before: dict[str, frozenset[str]] = field(factory=dict, init=False)
    _after: dict[str, frozenset[str]] = field(factory=dict, init=False)

    @cached_property
    def _shared(self) -> Mapping[str, frozenset[str]]:
        return shared_memory(self.index.pre_nodes, self.index.pre_users)

    @cached_property
    def _equal(self) -> Mapping[str, tuple[str, ...]]:
        """Return the calls that say the same as a call, that one included."""
        first_of: dict[str, str] = {}
        groups: dict[tuple[object, ...], list[str]] = {}
        for name, node in self.index.pre_nodes.items():
            inputs = tuple(first_of.get(each, each) for each in node.inputs)
            group = groups.setdefault((node.op, node.target, inputs), [])
            group.append(name)
            first_of[name] = group[0]
        several = (tuple(group) for group in groups.values() if len(group) > 1)
        return {name: group for group in several for name in group}

    @cached_property
    def _all(self) -> frozenset[str]:
        return frozenset(self.index.pre_nodes)

    def before(self, call: str) -> frozenset[str]:
        """Return the calls whose values a call may read; all where too many may be."""
        if call not in self._before:
            self._before[call] = self._beside(call, self.inputs)
        return self._before[call]

    def after(self, call: str) -> frozenset[str]:
        """Return the calls that may read a call's value; all where too many may."""
        if call not in self._after:
            self._after[call] = self._beside(call, self.users)
        return self._after[call]

    def inputs(self, call: str) -> tuple[str, ...]:
        """Return the names of the values that a call reads."""
        return self.index.pre_nodes[call].inputs

    def users(self, call: str) -> tuple[str, ...]:
        """Return the names of the calls that read a call's value directly."""
        return self.index.pre_users.get(call, ())

    def shares_memory(self, call: str) -> bool:
        """Return whether a call makes or sees a change in place."""
        return call in self._shared

    def is_whole(self, node: FxNode, call: str) -> bool:
        """Return whether a post-grad node alone does all the computing of a call.

        It does where the call is of that very operator. Of another call it may be a
        part, whose other parts lie on either side.
        """
        name = packet(node.target)
        made = packet(self.index.pre_nodes[call].target)
        return packet(node.original_aten) == name and (
            made == name or name in _WRITTEN_AS.get(made, ())
        )

    def reach(
        self,
        starts: Iterable[str],
        step: Step,
        through: Callable[[str], bool],
        most: int | None = None,
    ) -> set[str]:
        """Return the calls that are reached from some calls, those included.

        Args:
            starts: Names of the first calls.
            step: The way to go, `inputs` or `users`.
            through: Whether the way goes on behind a call.
            most: Where more calls than these are reached, the way ends.
        """
        seen = set(starts)
        ways = list(seen)
        while ways and (most is None or len(seen) <= most):
            for name in step(ways.pop()):
                if name in self.index.pre_nodes and name not in seen:
                    seen.add(name)
                    if through(name):
                        ways.append(name)
        return seen

    def _beside(self, call: str, step: Step) -> frozenset[str]:
        """Return the calls beside a call, or beside one that may be computed with it.

        Equal calls are computed once: what reads one of them reads the same node.
        """
        equal = self._equal.get(call, (call,))
        groups = [self._shared[each] for each in equal if each in self._shared]
        if len(equal) > MOST_BESIDE or any(len(g) > MOST_BESIDE for g in groups):
            return self._all
        pre = self.index.pre_nodes
        seen = self.reach(
            equal, step, lambda name: plain_name(pre[name].target) not in COMPUTING
        )
        return frozenset(seen).union(*groups) - {call}
