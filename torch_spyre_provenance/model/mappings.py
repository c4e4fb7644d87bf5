"""Which FX nodes and kernels became which, by name alone, as Inductor notes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

Names = Mapping[str, tuple[str, ...]]

VERSION = 2.0
"""Version of Inductor's format, a number with a fraction there."""


@frozen(kw_only=True)
class NodeMappings:
    """Which nodes and kernels became which.

    A kernel's name has an ordinal behind it: the number of its launch in the generated
    code.

    Attributes:
        post_to_pre: Pre-grad nodes by the post-grad node that came from them.
        kernel_to_post: Post-grad nodes by kernel, in the order of the kernel's ops.
        stacks: The stack traces of each kernel's ops, as Python prints them.
    """

    post_to_pre: Names
    kernel_to_post: Names
    stacks: Names = field(factory=dict)

    @property
    def pre_to_post(self) -> Names:
        """Return the inverse of `post_to_pre`."""
        return _inverse(self.post_to_pre)

    @property
    def post_to_kernel(self) -> Names:
        """Return the inverse of `kernel_to_post`."""
        return _inverse(self.kernel_to_post)

    def nodes_of_kernels(self) -> dict[str, frozenset[str]]:
        """Return the post-grad nodes of each kernel, all its launches together."""
        found: dict[str, frozenset[str]] = {}
        for launch, nodes in self.kernel_to_post.items():
            name = _without_ordinal(launch)
            found[name] = found.get(name, frozenset()) | frozenset(nodes)
        return found

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


def _inverse(names: Names) -> Names:
    found: dict[str, list[str]] = {}
    for name, others in names.items():
        for other in others:
            found.setdefault(other, []).append(name)
    return {other: tuple(each) for other, each in found.items()}


def _without_ordinal(launch: str) -> str:
    name, colon, number = launch.rpartition(":")
    return name if colon and number.isdecimal() else launch
