"""A bundle in the form of Inductor's own provenance artifacts.

Other tools read that form. It maps pre-grad nodes, post-grad nodes and kernels to each
other by name. A kernel's name there has an ordinal behind it: the number of its launch
in the generated code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from ..model import Frame, Kernel
from .attribution import Attributor

VERSION = 2.0
"""Version of Inductor's format, a number with a fraction there."""

Names = Mapping[str, tuple[str, ...]]


@frozen(kw_only=True)
class NodeMappings:
    """Which nodes and kernels became which.

    Attributes:
        pre_to_post: Post-grad nodes by the pre-grad node that they came from.
        post_to_pre: The inverse.
        kernel_to_post: Post-grad nodes by kernel, in the order of the kernel's ops.
        post_to_kernel: The inverse.
        stacks: The stack traces of each kernel's ops, as Python prints them.
    """

    pre_to_post: Names
    post_to_pre: Names
    kernel_to_post: Names
    post_to_kernel: Names
    stacks: Names

    def node_json(self) -> dict[str, Any]:
        """Return ``inductor_provenance_tracking_node_mappings`` as plain values."""
        return {
            "preToPost": self.pre_to_post,
            "postToPre": self.post_to_pre,
            "cppCodeToPost": self.kernel_to_post,
            "postToCppCode": self.post_to_kernel,
            "version": VERSION,
        }

    def stack_json(self) -> dict[str, Any]:
        """Return ``inductor_provenance_tracking_kernel_stack_traces``."""
        return dict(self.stacks)


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
        pre_to_post=_inverse(post_to_pre),
        post_to_pre=post_to_pre,
        kernel_to_post=kernel_to_post,
        post_to_kernel=_inverse(kernel_to_post),
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


def _inverse(names: Names) -> Names:
    found: dict[str, list[str]] = {}
    for name, others in names.items():
        for other in others:
            found.setdefault(other, []).append(name)
    return {other: tuple(each) for other, each in found.items()}
