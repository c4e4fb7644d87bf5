"""The passes over LoopLevelIR, between lowering and scheduling: an ordered list.

The wrapper's `create` runs them. Each pass's docstring says what it does to the
`origins` and the `origin_node` of the buffers; whoever wants to see it happen adds an
observer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..contract import PassObserver
from . import propagation, splitting, work_division

if TYPE_CHECKING:
    from torch._inductor.graph import GraphLowering

Pass = Callable[["GraphLowering", propagation.LayoutPlan], None]
"""Changes the graph in place; reads or adds to the plan that the passes share."""

OBSERVERS: list[PassObserver] = []
"""Called around every pass, in order. Append to subscribe, remove to leave."""


PRE_SCHEDULING: tuple[Pass, ...] = (
    splitting.deadcode_elimination,
    splitting.split_multi_ops,
    propagation.propagate_spyre_tensor_layouts,
    propagation.finalize_layouts,
    propagation.insert_restickify,
    splitting.dedup_and_promote_constants,
    work_division.work_distribution,
)
"""The pipeline, in order."""

EXTRA: list[Pass] = []
"""Passes of others, run after the pipeline in order. Append to add one."""


def extra_names() -> tuple[str, ...]:
    """Return the names of the extra passes, which are part of every cache key."""
    return tuple(f"{step.__module__}.{step.__qualname__}" for step in EXTRA)


def run_pre_scheduling(graph: GraphLowering) -> None:
    """Run the pipeline over the operations of a graph, in place."""
    plan = propagation.LayoutPlan()
    for step in (*PRE_SCHEDULING, *EXTRA):
        for observe in tuple(OBSERVERS):
            observe(step.__name__, graph, after=False)
        step(graph, plan)
        for observe in tuple(OBSERVERS):
            observe(step.__name__, graph, after=True)
