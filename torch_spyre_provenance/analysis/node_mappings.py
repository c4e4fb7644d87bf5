"""A bundle in the form of Inductor's own provenance artifacts.

Other tools read that form. It maps pre-grad nodes, post-grad nodes and kernels to each
other by name. A kernel's name there has an ordinal behind it: the number of its launch
in the generated code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import frozen

from ..model import Frame, Kernel
from ..model.mappings import NodeMappings
from .attribution import Attributor


def map_nodes(facts: Attributor) -> NodeMappings:
    """Return a bundle's mappings: those of device kernels, no others.

    A node that a rule gave its calls counts like one whose calls were measured.
    Inductor's format cannot tell them apart.

    Args:
        facts: The bundle and its attribution.
    """
    pre_nodes, post_nodes = facts.index.pre_nodes, facts.index.post_nodes
    post_to_pre = {
        name: calls
        for name in post_nodes
        if (calls := _known(facts.origins[name].calls, pre_nodes))
    }
    kernels = {
        f"{kernel.name}:{number}": kernel
        for number, kernel in enumerate(facts.bundle.kernels or (), 1)
    }
    kernel_to_post = {
        key: _known(_nodes(kernel, facts), post_nodes)
        for key, kernel in kernels.items()
    }
    return NodeMappings(
        post_to_pre=post_to_pre,
        kernel_to_post=kernel_to_post,
        stacks={key: _stacks(kernel, facts) for key, kernel in kernels.items()},
    )


def _nodes(kernel: Kernel, facts: Attributor) -> Iterable[str]:
    """Yield the nodes of a kernel's ops, in order, then those that no op computes."""
    for op in facts.attributions:
        if op.kernel == kernel.name:
            yield from op.nodes
    yield from kernel.origins


def _stacks(kernel: Kernel, facts: Attributor) -> tuple[str, ...]:
    places = (
        place
        for op in facts.attributions
        if op.kernel == kernel.name
        for place in op.locations
    )
    texts = ("".join(_frame(f, facts) for f in place.stack) for place in places)
    return tuple(dict.fromkeys(texts))


def _frame(frame: Frame, facts: Attributor) -> str:
    text = facts.text(frame)
    quoted = f"    {text}\n" if text else ""
    return f'  File "{frame.file}", line {frame.line}, in {frame.function}\n{quoted}'


def _known(names: Iterable[str], nodes: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name in nodes))


@frozen(kw_only=True)
class NodeChange:
    """A name that stands for other nodes in another file.

    Attributes:
        name: Name of a kernel, without ordinal, or of a post-grad node.
        lost: Nodes that it has in the first file alone, sorted.
        gained: Nodes that it has in the second one alone, sorted.
    """

    name: str
    lost: tuple[str, ...]
    gained: tuple[str, ...]


@frozen(kw_only=True)
class MappingDifference:
    """Where two mappings of one model do not agree.

    Attributes:
        kernels: Kernels with other post-grad nodes.
        nodes: Post-grad nodes with other pre-grad nodes.
    """

    kernels: tuple[NodeChange, ...]
    nodes: tuple[NodeChange, ...]

    @property
    def is_empty(self) -> bool:
        """Return whether they agree."""
        return not self.kernels and not self.nodes

    @property
    def is_regression(self) -> bool:
        """Return whether the second one lacks what the first one has."""
        return any(each.lost for each in (*self.kernels, *self.nodes))


def compare_mappings(before: NodeMappings, after: NodeMappings) -> MappingDifference:
    """Return where two mappings do not agree.

    Args:
        before: The first one.
        after: The second one, with the same names for the same nodes.
    """
    return MappingDifference(
        kernels=_changes(before.nodes_of_kernels(), after.nodes_of_kernels()),
        nodes=_changes(before.post_to_pre, after.post_to_pre),
    )


def _changes(
    before: Mapping[str, Iterable[str]], after: Mapping[str, Iterable[str]]
) -> tuple[NodeChange, ...]:
    changes = []
    for name in sorted({*before, *after}):
        old, new = set(before.get(name, ())), set(after.get(name, ()))
        if old != new:
            lost, gained = tuple(sorted(old - new)), tuple(sorted(new - old))
            changes.append(NodeChange(name=name, lost=lost, gained=gained))
    return tuple(changes)
