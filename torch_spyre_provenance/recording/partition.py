"""The partitioner of the recorder: the one that is configured, and a look at it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._inductor.custom_graph_pass import CustomPartitionerFn

from ..frontends.contract import DEVICE
from .current import current_session
from .fx import uses_device
from .passes import own_sources_digest
from .points import Point

OPTION = "custom_partitioner_fn"
"""The Inductor option in which it stands while recording is on."""


class WatchPartitioner(CustomPartitionerFn):
    """Turns on the node hooks of a forward graph as it is cut out of the joint graph.

    torch-spyre puts its own passes in the place of those before post-grad, so that no
    pass of ours can do it. The graphs are those of the partitioner that is configured,
    else of Inductor's own. Backward graphs are left alone: they are compiled as copies,
    and the first one can be kept in a cache.
    """

    def __init__(self, configured: CustomPartitionerFn | None = None) -> None:
        self.configured = configured

    def __call__(
        self, gm: torch.fx.GraphModule, joint_inputs: Sequence[object], **options: Any
    ) -> tuple[torch.fx.GraphModule, torch.fx.GraphModule]:
        """Return the forward and the backward graph of a joint graph."""
        part: Any = self.configured or min_cut_rematerialization_partition
        forward, backward = part(gm, joint_inputs, **options)
        session = current_session()
        if session is not None and uses_device(forward.graph, DEVICE):
            frame = session.frame()
            with frame.guard.watch(Point.REWRITES):
                frame.joint = frame.end_watch(gm)
                frame.watch(forward)
        return forward, backward

    def uuid(self) -> Any | None:
        """Return a digest of our sources, and what the configured one has."""
        if self.configured is None:
            return own_sources_digest()
        theirs = self.configured.uuid()
        return theirs and (own_sources_digest(), theirs)

    def __eq__(self, other: object) -> bool:
        """Return whether the other is one, too, for the same partitioner."""
        if not isinstance(other, WatchPartitioner):
            return False
        return self.configured == other.configured

    def __hash__(self) -> int:
        """Return the same for equal ones."""
        return hash((WatchPartitioner, self.configured))


def with_watch(configured: CustomPartitionerFn | None) -> WatchPartitioner:
    """Return the option's value that watches the graphs of what is configured."""
    if isinstance(configured, WatchPartitioner):
        return configured
    return WatchPartitioner(configured)


def without_watch(configured: CustomPartitionerFn | None) -> CustomPartitionerFn | None:
    """Return the option's value as it was without us."""
    if isinstance(configured, WatchPartitioner):
        return configured.configured
    return configured
