"""The subclass of a front end's wrapper code generator."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from torch._inductor.virtualized import V

from ..store.record import Record, record_of
from . import compat
from .builder import EMPTY_RUN, CompileBuilder, kind_of
from .current import current_session
from .points import Point
from .stack_room import RECORDER_ROOM, with_room

RUNTIME = "torch_spyre_provenance.recording.runtime"
"""The module that generated code imports; its name is part of cached entries."""


@cache
def provenance_wrapper(base: type[Any]) -> type[Any]:
    """Return the recording subclass of a front end's wrapper class."""
    builds_own_class = isinstance(inspect.getattr_static(base, "create"), classmethod)

    class ProvenanceWrapper(base):  # type: ignore[misc]
        """Records LoopLevelIR before the passes; puts the record into the module."""

        provenance: CompileBuilder | None = None

        @classmethod
        def create(
            cls,
            is_subgraph: bool,
            subgraph_name: str | None,
            parent_wrapper: Any,
            partition_signatures: Any = None,
        ) -> Any:
            """Return a wrapper for a graph; the record of that graph is begun here."""
            args = (is_subgraph, subgraph_name, parent_wrapper, partition_signatures)
            if is_subgraph:
                return super().create(*args)
            session = current_session()
            builder = None if session is None else session.pending()
            # torch-spyre's `create` names its own class: it is not called, its wrapper
            # sets up the graph as it is made. Where `create` is called, the front end
            # may run its passes there.
            wrapper = None if builds_own_class else cls()
            if builder is not None:
                record_graph(builder)
            wrapper = super().create(*args) if wrapper is None else wrapper
            wrapper.provenance = builder
            return wrapper

        def define_kernel(
            self,
            kernel_name: str,
            kernel_body: str,
            metadata: str | None = None,
            *args: Any,
            **options: Any,
        ) -> Any:
            """Define a kernel and note Inductor's comment on it."""
            if self.provenance is not None and metadata is not None:
                self.provenance.comments[kernel_name] = metadata
            return super().define_kernel(
                kernel_name, kernel_body, metadata, *args, **options
            )

        def write_header(self) -> None:
            """Write the header, and let our subclass of `async_compile` follow."""
            super().write_header()
            self.header.writeline(f"from {RUNTIME} import recorded")
            self.header.writeline("async_compile = recorded(async_compile)")

        def generate(self, is_inference: bool) -> Any:
            """Generate the module with the record in it, as one compact literal."""
            session = current_session()
            if session is not None and self.provenance is not None:
                with session.guard.watch(Point.EMBED):
                    record, text = embedded(self.provenance)
                    self.header.writeline(f"async_compile.provenance({text!r})")
                    session.generated(text, self.provenance, record)
            return super().generate(is_inference)

    return ProvenanceWrapper


@with_room(RECORDER_ROOM)
def embedded(builder: CompileBuilder) -> tuple[Record, str]:
    """Return the record of a compile, and the literal that its module carries."""
    record = record_of(builder.build(EMPTY_RUN))
    return record, record.packed()


def record_graph(builder: CompileBuilder) -> None:
    """Record the graph that is about to be scheduled: LoopLevelIR before the passes."""
    graph = V.graph
    with builder.guard.watch(Point.LOOP_IR_PRE):
        builder.describe_graph(graph, compat.graph_name(graph, kind_of(graph).value))
        builder.loop_ir_pre = builder.ir.graph(
            graph.operations, builder.known_nodes(), as_lowered=True
        )
