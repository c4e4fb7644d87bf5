"""The subclass of a front end's `SuperDSCScheduling`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from torch._inductor.utils import get_kernel_metadata
from torch._inductor.virtualized import V

from ..model import Kernel
from .builder import CompileBuilder
from .ir import buffer_name
from .op_specs import declared_fields, unimplemented
from .points import Point
from .stack_room import RECORDER_ROOM, with_room


@cache
def provenance_scheduling(base: type[Any]) -> type[Any]:
    """Return the recording subclass of a front end's scheduling class."""

    class ProvenanceScheduling(base):  # type: ignore[misc]
        """Records LoopLevelIR after the passes, and every kernel as it is defined."""

        def __init__(self, scheduler: Any) -> None:
            super().__init__(scheduler)
            # Inductor also makes one without a scheduler, to ask for its features.
            builder = None if scheduler is None else current_builder()
            if builder is not None and builder.loop_ir_post is None:
                with builder.guard.watch(Point.LOOP_IR_POST):
                    builder.loop_ir_post = builder.ir.graph(
                        V.graph.operations, builder.known_nodes()
                    )

        def define_kernel(
            self, src_code: str, node_schedule: Any, kernel: Any, *args: Any, **kw: Any
        ) -> Any:
            """Define a kernel and record it."""
            name = super().define_kernel(src_code, node_schedule, kernel, *args, **kw)
            builder = current_builder()
            if builder is not None:
                with builder.guard.watch(Point.KERNEL):
                    record_kernel(builder, name, node_schedule, kernel)
            return name

    return ProvenanceScheduling


def current_builder() -> CompileBuilder | None:
    """Return the record of the graph that is being lowered, or None.

    A subgraph belongs to the record of the graph around it.
    """
    graph: Any = V.graph
    while graph is not None:
        builder = getattr(getattr(graph, "wrapper_code", None), "provenance", None)
        if isinstance(builder, CompileBuilder):
            return builder
        graph = getattr(graph, "parent", None)
    return None


@with_room(RECORDER_ROOM)
def record_kernel(
    builder: CompileBuilder, name: str, node_schedule: Any, kernel: Any
) -> None:
    """Record one kernel; a name that is already known is another use of its text."""
    if any(known.name == name for known in builder.kernels):
        return
    operations = tuple(_operations(node_schedule))
    specs = kernel.op_specs
    builder.op_spec_fields = builder.op_spec_fields or declared_fields(specs)
    builder.kernels.append(
        Kernel(
            name=str(name),
            ops=builder.op_specs.ops(specs, [buffer_name(op) for op in operations]),
            ir_ops=tuple(op.get_operation_name() for op in operations),
            origins=tuple(
                sorted({node.name for op in operations for node in op.origins})
            ),
            metadata=_comment(builder, name, node_schedule),
            unimplemented=unimplemented(specs),
        )
    )


def _comment(builder: CompileBuilder, name: str, node_schedule: Any) -> str:
    """Return the first line of Inductor's comment on a kernel: its sources."""
    # Of a subgraph's kernels the graph's own wrapper has seen none.
    comment = builder.comments.pop(name, None)
    if comment is None:
        comment, _ = get_kernel_metadata(node_schedule, V.graph.wrapper_code)
    return comment.partition("\n")[0].strip()


def _operations(node_schedule: Any) -> Iterator[Any]:
    for entry in node_schedule:
        operation = getattr(entry, "node", None)
        if operation is not None:
            yield operation
