"""The passes over LoopLevelIR, between lowering and scheduling: an ordered list.

The wrapper's `create` runs them. Each pass's docstring says what it does to the
`origins` and the `origin_node` of the buffers; whoever wants to see it happen adds an
observer.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from torch_spyre_provenance.errors import UnsupportedError

from ..contract import PassObserver
from . import padding, propagation, scratchpad, splitting, tiling, work_division
from .plan import Plan
from .provenance import place_of

if TYPE_CHECKING:
    from torch._inductor import ir
    from torch._inductor.graph import GraphLowering

Pass = Callable[["GraphLowering", Plan], None]
"""Changes the graph in place; reads or adds to the plan that the passes share."""

OBSERVERS: list[PassObserver] = []
"""Called around every pass, in order. Append to subscribe, remove to leave."""


PRE_SCHEDULING: tuple[Pass, ...] = (
    splitting.deadcode_elimination,
    splitting.split_multi_ops,
    propagation.propagate_spyre_tensor_layouts,
    propagation.finalize_layouts,
    propagation.insert_restickify,
    padding.insert_bmm_padding,
    splitting.dedup_and_promote_constants,
    tiling.coarse_tile,
    work_division.work_distribution,
    scratchpad.scratchpad_planning,
)
"""The pipeline, in order."""

EXTRA: list[Pass] = []
"""Passes of others, run after the pipeline in order. Append to add one."""


def extra_names() -> tuple[str, ...]:
    """Return the names of the extra passes, which are part of every cache key."""
    return tuple(f"{step.__module__}.{step.__qualname__}" for step in EXTRA)


def run_pre_scheduling(graph: GraphLowering) -> None:
    """Run the pipeline over the operations of a graph, in place."""
    plan = Plan()
    for step in (*PRE_SCHEDULING, *EXTRA):
        for observe in tuple(OBSERVERS):
            observe(step.__name__, graph, after=False)
        with _Blame(step.__name__, plan):
            step(graph, plan)
        for observe in tuple(OBSERVERS):
            observe(step.__name__, graph, after=True)


class _Blame:
    """Says of an error which pass it ended, and at which line of the model."""

    def __init__(self, name: str, plan: Plan) -> None:
        self._name = name
        self._plan = plan
        plan.current = None

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Raise an error that names the operation, in place of one that does not."""
        if not isinstance(error, Exception) or isinstance(error, UnsupportedError):
            return
        buffer = self._plan.current
        message = f"the pass {self._name} failed"
        place = None
        if buffer is not None:
            place = place_of(buffer)
            message += f" on {buffer.get_name()}, {_description(buffer)}"
        message += f": {type(error).__name__}: {error}"
        if place is not None:
            message += f" (from {place})"
        operation = None if buffer is None else _description(buffer)
        raise UnsupportedError(message, operation=operation, location=place) from error


def _description(buffer: ir.Buffer) -> str:
    """Return the operators that a buffer comes from."""
    nodes = sorted(buffer.origins, key=lambda node: node.name)
    return ", ".join(str(node.target) for node in nodes) or "an op without an origin"
