"""The registered Inductor passes of the recorder."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch._inductor.custom_graph_pass import CustomGraphModulePass, CustomGraphPass

from ..frontends.contract import DEVICE, FrontEnd, PassSequence
from . import compat
from .current import current_session
from .fx import FxReader, source_digest, uses_device
from .points import Point
from .session import Session


@cache
def own_sources_digest() -> str:
    """Return a digest of the sources that decide what a recording holds."""
    package = Path(__file__).parents[1]
    digest = hashlib.blake2b(digest_size=16)
    for room in ("model", "recording", "store"):
        for path in sorted((package / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


class PreGradPass(CustomGraphPass):
    """Records Dynamo's graph, where it has Spyre tensors; changes nothing.

    It has no state, because Inductor copies its options.
    """

    def __call__(self, graph: torch.fx.Graph) -> None:
        """Record one graph."""
        session = current_session()
        if session is not None and uses_device(graph, DEVICE):
            record_pre_grad(session, graph)

    def uuid(self) -> Any:
        """Return a digest of our own sources."""
        return own_sources_digest()

    def __eq__(self, other: object) -> bool:
        """Return whether the other is one, too."""
        return isinstance(other, PreGradPass)

    def __hash__(self) -> int:
        """Return the same for all of them."""
        return hash(PreGradPass)


def record_pre_grad(session: Session, graph: torch.fx.Graph) -> None:
    """Record Dynamo's graph, unless another seam already did."""
    frame = session.frame()
    if frame.graph is not None:
        return
    with frame.guard.watch(Point.PRE_GRAD):
        frame.digest = source_digest(graph)
        frame.graph = FxReader(stacks=frame.stacks).graph(graph)


class WatchPass(CustomGraphPass):
    """Turns on the node hooks of the graph that the next passes rewrite.

    It stands before the joint-graph passes (an inference graph stays the same object
    from there on) and before the post-grad passes (where a backward graph, compiled
    later, meets it first).
    """

    def __call__(self, graph: torch.fx.Graph) -> None:
        """Watch one graph from now on; a graph that is watched already stays so."""
        session = current_session()
        gm = graph.owning_module
        if session is None or gm is None or not uses_device(graph, DEVICE):
            return
        frame = session.frame()
        with frame.guard.watch(Point.REWRITES):
            frame.watch(gm)

    def uuid(self) -> Any:
        """Return a digest of our own sources."""
        return own_sources_digest()

    def __eq__(self, other: object) -> bool:
        """Return whether the other is one, too."""
        return isinstance(other, WatchPass)

    def __hash__(self) -> int:
        """Return the same for all of them."""
        return hash(WatchPass)


OPTIONS: dict[str, CustomGraphPass] = {
    "pre_grad_custom_pass": PreGradPass(),
    "joint_custom_pre_pass": WatchPass(),
    "post_grad_custom_pre_pass": WatchPass(),
}
"""Our passes by the Inductor option in which each stands while recording is on."""


class PostGradPass(CustomGraphModulePass):
    """Begins the record of an Inductor graph with its post-grad form; changes nothing.

    Its uuid is part of every cache key, so it says more than that our sources are the
    same: two graphs that compute the same from different lines must not share an entry,
    or the second would be shown the lines of the first.
    """

    def __call__(self, gm: torch.fx.GraphModule) -> None:
        """Record one graph."""
        session = current_session()
        if session is None:
            return
        frame = session.frame()
        builder = session.begin()
        rewrites = None
        with builder.guard.watch(Point.REWRITES):
            rewrites = frame.end_watch(gm)
        with builder.guard.watch(Point.POST_GRAD):
            builder.post_grad = builder.fx.graph(gm.graph)
        if rewrites is not None:
            with builder.guard.watch(Point.REWRITES):
                found = rewrites.replacements(builder.known_nodes(), builder.stacks)
                builder.replacements = tuple(found)

    def uuid(self) -> Any:
        """Return digests of our sources, of the traced code, and of Dynamo's graph."""
        session = current_session()
        frame = None if session is None else session.frames.peek()
        return (
            own_sources_digest(),
            compat.traced_code_digest(),
            "" if frame is None else frame.digest,
        )


def device_pass(front_end: FrontEnd) -> PassSequence:
    """Return the device's own post-grad pass: the front end's, the recorder between."""
    return PassSequence(front_end.fx_pass, PostGradPass(), front_end.lowering_pass)
