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


OBSERVERS: list[PassObserver] = []
"""Called around every pass, in order. Append to subscribe, remove to leave."""


def deadcode_elimination(graph: GraphLowering, _: propagation.LayoutPlan) -> None:
    """Remove loop nests that nobody reads; see `splitting.deadcode_elimination`."""
    splitting.deadcode_elimination(graph)


def split_multi_ops(graph: GraphLowering, _: propagation.LayoutPlan) -> None:
    """Cut bodies of several ops into one buffer each; see `splitting`."""
    splitting.split_multi_ops(graph)


def propagate_spyre_tensor_layouts(
    graph: GraphLowering, plan: propagation.LayoutPlan
) -> None:
    """Choose a stick layout for every buffer; see `propagation`."""
    plan.choices.update(propagation.propagate_spyre_tensor_layouts(graph).choices)


def finalize_layouts(graph: GraphLowering, plan: propagation.LayoutPlan) -> None:
    """Check the layouts that were chosen; see `propagation`."""
    propagation.finalize_layouts(graph, plan)


def insert_restickify(graph: GraphLowering, plan: propagation.LayoutPlan) -> None:
    """Put copies before ops whose input lies another way; see `propagation`."""
    propagation.insert_restickify(graph, plan)


def dedup_and_promote_constants(
    graph: GraphLowering, _: propagation.LayoutPlan
) -> None:
    """Merge equal constants and move them to the front; see `splitting`."""
    splitting.dedup_and_promote_constants(graph)


def work_distribution(graph: GraphLowering, _: propagation.LayoutPlan) -> None:
    """Divide every op over the cores; see `work_division`."""
    work_division.work_distribution(graph)


PRE_SCHEDULING: tuple[Pass, ...] = (
    deadcode_elimination,
    split_multi_ops,
    propagate_spyre_tensor_layouts,
    finalize_layouts,
    insert_restickify,
    dedup_and_promote_constants,
    work_distribution,
)
"""The pipeline, in order."""


def run_pre_scheduling(graph: GraphLowering) -> None:
    """Run the pipeline over the operations of a graph, in place."""
    plan = propagation.LayoutPlan()
    for step in PRE_SCHEDULING:
        for observe in tuple(OBSERVERS):
            observe(step.__name__, graph, after=False)
        step(graph, plan)
        for observe in tuple(OBSERVERS):
            observe(step.__name__, graph, after=True)
