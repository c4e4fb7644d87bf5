"""Recording a graph without Spyre tensors, which has no device kernels to record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from attrs import define
from torch._inductor import compile_fx as inductor
from torch._inductor import config
from torch._inductor.custom_graph_pass import CustomGraphPass

from ..model import CompileKind
from ..store.record import text_of
from . import compat, run_facts
from .builder import CompileBuilder
from .passes import own_sources_digest
from .points import COMPILE_POINTS, RUN_POINTS, Point
from .session import Session

NO_TENSOR = (
    "the graph has no spyre tensor: Inductor compiles it for another device, "
    "and there is no device kernel to record"
)
CACHED = "the graph came from Inductor's cache, which ran no pass over it"


def compile_off_device(
    session: Session, gm: torch.fx.GraphModule, inputs: Sequence[Any]
) -> Any:
    """Compile a graph with Inductor as usual, and record its FX stages.

    Args:
        session: The recording; it already holds the pre-grad graph.
        gm: Dynamo's graph.
        inputs: Its inputs.

    Returns:
        The compiled graph.
    """
    recorder = _OffDevice(session=session)
    compiled = inductor.compile_fx(gm, list(inputs), inner_compile=recorder)
    if not recorder.n_compiles:
        recorder.publish(session.begin(on_device=False), CACHED)
    return compiled


@define(eq=False)
class _OffDevice:
    """Inductor's inner compile function, with a recorder around it.

    It is called for the forward graph and, later, for the backward graph.
    """

    session: Session
    n_compiles: int = 0

    def __call__(self, gm: torch.fx.GraphModule, inputs: Any, **options: Any) -> Any:
        """Compile one Inductor graph and publish its record."""
        self.n_compiles += 1
        builder = self.session.begin(on_device=False)
        builder.kind = _kind(options)
        builder.graph = compat.graph_name(None, builder.kind.value)
        builder.devices = tuple(sorted(_devices(gm)))
        post_pass = compat.with_pass(
            config.post_grad_custom_post_pass, _Recorder(builder=builder)
        )
        with config.patch(post_grad_custom_post_pass=post_pass):
            compiled = inductor.compile_fx_inner(gm, inputs, **options)
        self.publish(builder, CACHED)
        return compiled

    def publish(self, builder: CompileBuilder, post_grad: str) -> None:
        """Publish a record.

        Args:
            builder: The record.
            post_grad: Why the post-grad graph is missing, if it is.
        """
        for point in (*COMPILE_POINTS, *RUN_POINTS):
            builder.unavailable[point.value] = NO_TENSOR
        builder.unavailable[Point.POST_GRAD.value] = post_grad
        points = builder.guard.observations(RUN_POINTS, builder.unavailable)
        self.session.close(builder)
        run = run_facts.collect(builder, points)
        self.session.write(text_of(builder.build(run)))


@define(eq=False)
class _Recorder(CustomGraphPass):
    """Records one post-grad graph; changes nothing."""

    builder: CompileBuilder

    def __call__(self, graph: torch.fx.Graph) -> None:
        """Record the graph."""
        with self.builder.guard.watch(Point.POST_GRAD):
            self.builder.post_grad = self.builder.fx.graph(graph)

    def uuid(self) -> Any:
        """Return a digest of our own sources."""
        return own_sources_digest()


def _kind(options: dict[str, Any]) -> CompileKind:
    if options.get("is_backward"):
        return CompileKind.BACKWARD
    return CompileKind.INFERENCE if options.get("is_inference") else CompileKind.FORWARD


def _devices(gm: torch.fx.GraphModule) -> set[str]:
    return {
        node.meta["val"].device.type
        for node in gm.graph.nodes
        if isinstance(node.meta.get("val"), torch.Tensor)
    }
