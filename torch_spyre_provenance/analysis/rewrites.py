"""What each pre-scheduling pass made of which operations: one of one, many, or one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from attrs import define, frozen

from ..model import Bundle, IrGraph, PassStep
from .index import BundleIndex
from .origins import distinct, nearest_steps


class Shape(StrEnum):
    """How many operations became how many."""

    ONE_TO_ONE = "1→1"
    ONE_TO_MANY = "1→n"
    MANY_TO_ONE = "n→1"
    MANY_TO_MANY = "n→m"


@frozen(kw_only=True)
class Rewrite:
    """Operations that a pass made of others, or of a part of them.

    Attributes:
        pass_name: The pass.
        old: Names of the operations before it, in their order.
        new: Names of what became of them; one that stayed is among both.
        gained: Names of the FX nodes that operations which stayed took over from
            those that are gone, sorted.
    """

    pass_name: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    gained: tuple[str, ...] = ()

    @property
    def shape(self) -> Shape:
        """Return how many operations became how many."""
        if len(self.old) == 1:
            return Shape.ONE_TO_ONE if len(self.new) == 1 else Shape.ONE_TO_MANY
        return Shape.MANY_TO_ONE if len(self.new) == 1 else Shape.MANY_TO_MANY


def find_rewrites(bundle: Bundle) -> tuple[Rewrite, ...]:
    """Return what the observed passes made of the operations, in order.

    An operation that was made of nothing, as a restickify is, is no rewrite, and
    neither is one that was taken away with all that it computed.

    Args:
        bundle: The bundle. Without observed passes, or without LoopLevelIR on both
            sides of them, there is nothing to return.
    """
    if not bundle.passes or bundle.loop_ir_pre is None or bundle.loop_ir_post is None:
        return ()
    finder = _Finder.of(BundleIndex(bundle), bundle.loop_ir_pre, bundle.loop_ir_post)
    return tuple(each for step in bundle.passes for each in finder.follow(step))


def computed_nodes(names: Iterable[str], index: BundleIndex) -> frozenset[str]:
    """Return the post-grad nodes that an operation computes, or computes a part of.

    Args:
        names: Its origins; one that a pass made counts for what it was made from.
        index: The bundle's look-ups.
    """
    return frozenset(source for name in names for source in _sources(name, index))


def _sources(name: str, index: BundleIndex) -> tuple[str, ...]:
    if name in index.post_nodes:
        return (name,)
    node = index.later_nodes.get(name)
    return nearest_steps(node, index) if node else ()


@define
class _Finder:
    """The operations as they were before the next pass.

    Attributes:
        index: The bundle's look-ups.
        before: The origins of each operation, by name, in their order.
        gained: The operations that have an FX node for origin in the end, and came
            without it, by that node.
    """

    index: BundleIndex
    before: dict[str, tuple[str, ...]]
    gained: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, index: BundleIndex, pre: IrGraph, post: IrGraph) -> _Finder:
        """Return the finder before the first pass."""
        before = {op.name: op.origins for op in pre.ops}
        first = {op: made.origins for op, made in index.made.items()} | before
        gained: dict[str, list[str]] = {}
        for op in post.ops:
            for node in set(op.origins).difference(first.get(op.name, op.origins)):
                gained.setdefault(node, []).append(op.name)
        return cls(index, before, {node: tuple(ops) for node, ops in gained.items()})

    def follow(self, step: PassStep) -> Iterator[Rewrite]:
        """Yield what one pass made of the operations, and go on behind it."""
        removed = set(step.removed)
        heirs = self._heirs(step, removed)
        for old in _groups(heirs):
            new = distinct(heir for name in old for heir in heirs[name])
            stayed = self.before.keys() & new
            lost = {n for name in removed.intersection(old) for n in self.before[name]}
            gained = (n for n in lost if not stayed.isdisjoint(self.gained.get(n, ())))
            yield Rewrite(
                pass_name=step.name, old=old, new=new, gained=tuple(sorted(gained))
            )
        for name in removed:
            self.before.pop(name, None)
        self.before.update({made.op: made.origins for made in step.created})

    def _heirs(self, step: PassStep, removed: set[str]) -> dict[str, tuple[str, ...]]:
        """Return what became of each operation that the pass changed."""
        heirs: dict[str, list[str]] = {name: [name] for name in step.rebuilt}
        for old, new in (*self._parts(step), *self._absorbed(step)):
            heirs.setdefault(old, [old]).append(new)
            if new in self.before:
                heirs.setdefault(new, [new])
        # In the order of the operations, without those of which nothing is left.
        return {
            name: distinct(heir for heir in heirs[name] if heir not in removed)
            for name in self.before
            if any(heir not in removed for heir in heirs.get(name, ()))
        }

    def _parts(self, step: PassStep) -> Iterator[tuple[str, str]]:
        """Yield each new operation with those that computed its nodes before."""
        computing: dict[str, list[str]] = {}
        for name, origins in self.before.items() if step.created else ():
            for node in computed_nodes(origins, self.index):
                computing.setdefault(node, []).append(name)
        for made in step.created:
            for node in computed_nodes(made.origins, self.index):
                for name in computing.get(node, ()):
                    yield name, made.op

    def _absorbed(self, step: PassStep) -> Iterator[tuple[str, str]]:
        """Yield each operation that is gone with those that have its origins now."""
        for name in step.removed:
            for node in self.before.get(name, ()):
                for op in self.gained.get(node, ()):
                    yield name, op


def _groups(heirs: Mapping[str, tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the operations that have heirs in common, group by group."""
    group_of: dict[str, list[str]] = {}
    for name, new in heirs.items():
        known = {id(group_of[h]): group_of[h] for h in new if h in group_of}
        joined = [*(old for group in known.values() for old in group), name]
        for heir in (heir for old in joined for heir in heirs[old]):
            group_of[heir] = joined
    rank = {name: number for number, name in enumerate(heirs)}
    groups = {
        id(group): sorted(group, key=rank.__getitem__) for group in group_of.values()
    }
    return sorted(map(tuple, groups.values()), key=lambda group: rank[group[0]])
