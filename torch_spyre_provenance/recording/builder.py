"""The record of one compile while it grows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import torch
from attrs import define, field
from torch._guards import TracingContext

from ..model import (
    Bundle,
    CacheState,
    CompileInfo,
    CompileKind,
    FxGraph,
    IrGraph,
    Kernel,
    Replacement,
    RunFacts,
)
from .fx import FxReader, StackTable
from .guard import Guard
from .ir import IrReader
from .node_hooks import RewriteRecorder
from .op_specs import OpSpecReader
from .pass_record import PassRecorder
from .points import COMPILE_POINTS
from .sources import snapshot


@define
class FrameRecord:
    """What was recorded of a Dynamo graph; its Inductor graphs share it.

    Attributes:
        guard: Counts of the points observed before there is an Inductor graph.
        stacks: The traces that the pre-grad record names by index.
        graph: The pre-grad record, or None.
        digest: Digest of where its nodes come from, "" before it was recorded.
        rewrites: Watch the graphs that are being rewritten.
        joint: Watched the joint graph that was split into forward and backward; None
            before, and where there is none.
    """

    guard: Guard
    stacks: StackTable = field(factory=StackTable)
    graph: FxGraph | None = None
    digest: str = ""
    rewrites: list[RewriteRecorder] = field(factory=list)
    joint: RewriteRecorder | None = None

    def watch(self, gm: torch.fx.GraphModule) -> None:
        """Turn on the node hooks of a graph, unless they are."""
        if self.rewrites_of(gm) is None:
            rewrites = RewriteRecorder(gm=gm, before=self.joint)
            rewrites.start()
            self.rewrites.append(rewrites)

    def end_watch(self, gm: torch.fx.GraphModule) -> RewriteRecorder | None:
        """Turn off the node hooks of a graph, and return what was watching it."""
        rewrites = self.rewrites_of(gm)
        if rewrites is not None:
            rewrites.stop()
            self.rewrites.remove(rewrites)
        return rewrites

    def rewrites_of(self, gm: torch.fx.GraphModule) -> RewriteRecorder | None:
        """Return what watches a graph, or None."""
        return next((each for each in self.rewrites if each.gm is gm), None)


@define
class Frames:
    """The Dynamo graphs being compiled, each with its tracing context."""

    _records: WeakKeyDictionary[TracingContext, FrameRecord] = field(
        factory=WeakKeyDictionary, init=False
    )

    def current(self, make_guard: Callable[[], Guard]) -> FrameRecord:
        """Return the record of the graph being compiled, made on the first call.

        Outside of a compile it is a record that nothing refers to.

        Args:
            make_guard: Makes the guard of a new record.
        """
        context = TracingContext.try_get()
        if context is None:
            return FrameRecord(guard=make_guard())
        record = self._records.get(context)
        if record is None:
            record = self._records[context] = FrameRecord(guard=make_guard())
        return record

    def peek(self) -> FrameRecord | None:
        """Return the record of the graph being compiled if there is one."""
        context = TracingContext.try_get()
        return None if context is None else self._records.get(context)


@define(eq=False)
class CompileBuilder:
    """Collects the facts of one Inductor graph.

    Attributes:
        guard: Counts of this compile's observation points.
        thread: Identifier of the thread that compiles.
        front_end: Name of the front end, None for a graph without a Spyre tensor.
        compile_id: Dynamo's compile id in this process.
        comments: Inductor's comments on kernels that are not recorded yet, by name.
    """

    guard: Guard
    front_end: str | None
    compile_id: str | None
    unavailable: dict[str, str] = field(factory=dict)
    thread: int = field(factory=threading.get_ident)
    stacks: StackTable = field(factory=StackTable)
    pre_grad: FxGraph | None = None
    post_grad: FxGraph | None = None
    replacements: tuple[Replacement, ...] = ()
    loop_ir_pre: IrGraph | None = None
    passes: PassRecorder | None = None
    loop_ir_post: IrGraph | None = None
    kernels: list[Kernel] = field(factory=list)
    comments: dict[str, str] = field(factory=dict, init=False)
    op_spec_fields: tuple[str, ...] = ()
    graph: str = "graph"
    kind: CompileKind = CompileKind.INFERENCE
    devices: tuple[str, ...] = ()
    error: str | None = None
    fx: FxReader = field(init=False)
    ir: IrReader = field(init=False)
    op_specs: OpSpecReader = field(factory=OpSpecReader, init=False)

    def __attrs_post_init__(self) -> None:
        self.fx = FxReader(stacks=self.stacks)
        self.ir = IrReader(fx=self.fx)

    def adopt(self, frame: FrameRecord) -> None:
        """Take over what was recorded of the Dynamo graph, before anything else."""
        if self.pre_grad is not None:
            return
        self.stacks.adopt(frame.stacks)
        self.pre_grad = frame.graph
        self.guard.merge(frame.guard)

    def describe_graph(self, graph: Any, name: str) -> None:
        """Note which graph this is, from its `GraphLowering`."""
        self.devices = tuple(sorted(graph.device_types))
        self.kind = kind_of(graph)
        self.graph = name

    def known_nodes(self) -> frozenset[str]:
        """Return the names of the recorded post-grad nodes."""
        nodes = self.post_grad.nodes if self.post_grad else ()
        return frozenset(node.name for node in nodes)

    def build(self, run: RunFacts) -> Bundle:
        """Return the bundle of what was collected so far."""
        return Bundle(
            compile=CompileInfo(
                graph=self.graph,
                kind=self.kind,
                front_end=self.front_end,
                devices=self.devices,
                error=self.error,
            ),
            stacks=tuple(self.stacks.stacks),
            sources=snapshot(self.stacks.stacks),
            fx_pre_grad=self.pre_grad,
            fx_post_grad=self.post_grad,
            replacements=self.replacements,
            loop_ir_pre=self.loop_ir_pre,
            loop_ir_post=self.loop_ir_post,
            passes=None if self.passes is None else tuple(self.passes.steps),
            kernels=tuple(self.kernels),
            op_spec_fields=self.op_spec_fields,
            observations=self.guard.observations(COMPILE_POINTS, self.unavailable),
            run=run,
        )


def kind_of(graph: Any) -> CompileKind:
    """Return whether a `GraphLowering` is an inference, forward or backward graph."""
    if getattr(graph, "is_backward", False):
        return CompileKind.BACKWARD
    if getattr(graph, "is_inference", False):
        return CompileKind.INFERENCE
    return CompileKind.FORWARD


EMPTY_RUN = RunFacts(
    name="", compile_id=None, cache=CacheState.MISS, time="", host="", pid=0
)
"""The run facts of a bundle that is only on its way into generated code."""
