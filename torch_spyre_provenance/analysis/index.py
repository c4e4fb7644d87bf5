"""Look-ups over one bundle, each built once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TypeVar

from attrs import frozen

from ..model import (
    Bundle,
    Created,
    FxGraph,
    FxNode,
    IrGraph,
    IrOp,
    Replacement,
    SourceFn,
)
from .aten import DEVICE_MOVERS
from .losses import find_losses

_K = TypeVar("_K")
_V = TypeVar("_V")


_MOST_TOGETHER = 16
"""Most operations that are taken for the parts of one insertion."""


@frozen(slots=False)
class BundleIndex:
    """Where things are in a bundle.

    A stage that was not recorded has empty look-ups.

    Attributes:
        bundle: The bundle.
    """

    bundle: Bundle

    @cached_property
    def pre_nodes(self) -> Mapping[str, FxNode]:
        """Return the pre-grad nodes by name."""
        return _by_name(self.bundle.fx_pre_grad)

    @cached_property
    def post_nodes(self) -> Mapping[str, FxNode]:
        """Return the post-grad nodes by name."""
        return _by_name(self.bundle.fx_post_grad)

    @cached_property
    def later_nodes(self) -> Mapping[str, FxNode]:
        """Return the nodes that passes made after post-grad was recorded, by name."""
        graphs = (self.bundle.loop_ir_pre, self.bundle.loop_ir_post)
        nodes = [node for graph in graphs if graph for node in graph.nodes]
        return {n.name: n for n in nodes if n.name not in self.post_nodes}

    @cached_property
    def pre_by_stack(self) -> Mapping[int, tuple[str, ...]]:
        """Return the names of the pre-grad nodes of each stack trace."""
        return _collect(
            (node.stack, name)
            for name, node in self.pre_nodes.items()
            if node.stack is not None
        )

    @cached_property
    def pre_by_source_fns(self) -> Mapping[tuple[SourceFn, ...], tuple[str, ...]]:
        """Return the names of the pre-grad nodes of each `source_fn_stack`."""
        return _collect(
            (node.source_fns, name) for name, node in self.pre_nodes.items()
        )

    @cached_property
    def pre_users(self) -> Mapping[str, tuple[str, ...]]:
        """Return the names of the users of each pre-grad node."""
        return _users(self.pre_nodes.values())

    @cached_property
    def post_users(self) -> Mapping[str, tuple[str, ...]]:
        """Return the names of the users of each post-grad node."""
        return _users(self.post_nodes.values())

    @cached_property
    def replaced(self) -> Mapping[str, tuple[Replacement, ...]]:
        """Return what each post-grad node took the place of."""
        return _collect((each.new, each) for each in self.bundle.replacements)

    @cached_property
    def rewrites(self) -> Mapping[str, frozenset[str]]:
        """Return the nodes of the rewrite that replaced each old node."""
        pairs = ((each.old, each.new) for each in self.bundle.replacements)
        return {old: frozenset(news) for old, news in _collect(pairs).items()}

    @cached_property
    def made(self) -> Mapping[str, Created]:
        """Return the making of each operation that a pass made, by its name."""
        return {
            made.op: made for step in self.bundle.passes or () for made in step.created
        }

    @cached_property
    def created_by(self) -> Mapping[str, str]:
        """Return the pass that made an operation, by the operation's name."""
        steps = self.bundle.passes or ()
        return {made.op: step.name for step in steps for made in step.created}

    @cached_property
    def lost_origins(self) -> Mapping[str, tuple[str, ...]]:
        """Return the origins of the operations that lost all, by operation name."""
        lost: dict[str, tuple[str, ...]] = {}
        for each in find_losses(self.bundle):
            if each.loss.what == "origins":
                lost.setdefault(each.loss.op, each.loss.before)
        return {op.name: lost[op.name] for op in self._bare if op.name in lost}

    @property
    def _bare(self) -> Iterable[IrOp]:
        graph = self.bundle.loop_ir_post
        return (op for op in graph.ops if not op.origins) if graph else ()

    @cached_property
    def source_lines(self) -> Mapping[tuple[str, int], str]:
        """Return the text of the recorded source lines, by file and line."""
        return {
            (file.path, line.number): line.text
            for file in self.bundle.sources
            for line in file.lines
        }

    @cached_property
    def ir_pre(self) -> Mapping[str, IrOp]:
        """Return the operations before the passes by the buffer that they write."""
        return _by_buffer(self.bundle.loop_ir_pre)

    @cached_property
    def ir_post(self) -> Mapping[str, IrOp]:
        """Return the operations after the passes by the buffer that they write."""
        return _by_buffer(self.bundle.loop_ir_post)

    @cached_property
    def ir_readers(self) -> Mapping[str, tuple[str, ...]]:
        """Return the buffers whose operations read each buffer, after the passes."""
        return _collect(
            (source, buffer)
            for buffer, op in self.ir_post.items()
            for source in op.reads
        )

    @cached_property
    def constants(self) -> frozenset[str]:
        """Return the buffers that hold a number and no more."""
        return frozenset(
            buffer
            for buffer, op in self.ir_post.items()
            if op.type == "SpyreConstantFallback"
        )

    @cached_property
    def device_ops(self) -> Mapping[str, str]:
        """Return the device's name for the op that computes each buffer."""
        return {op.buffer: op.op for _, op in self.bundle.ops if op.buffer is not None}

    def only_moves(self, buffer: str) -> bool:
        """Return whether a buffer is known to hold what was moved or provided."""
        return buffer in self.constants or self.device_ops.get(buffer) in DEVICE_MOVERS

    def made_together(self, buffer: str) -> tuple[str, ...]:
        """Return the buffers whose operations have the same origins, constants apart.

        Args:
            buffer: One of them; it is returned alone where it has no origins, or where
                too many have the same ones to be the parts of one insertion.
        """
        origins = self.ir_post[buffer].origins
        if not origins or buffer in self.constants:
            return (buffer,)
        together = self._by_origins[frozenset(origins)]
        return together if len(together) <= _MOST_TOGETHER else (buffer,)

    @cached_property
    def _by_origins(self) -> Mapping[frozenset[str], tuple[str, ...]]:
        return _collect(
            (frozenset(op.origins), buffer)
            for buffer, op in self.ir_post.items()
            if buffer not in self.constants
        )

    def node(self, name: str) -> FxNode | None:
        """Return a post-grad or later node."""
        return self.post_nodes.get(name) or self.later_nodes.get(name)


def buffer_of(op: IrOp) -> str:
    """Return the buffer that an operation writes, or its own name without one."""
    return op.buffer or op.name


def _by_name(graph: FxGraph | None) -> dict[str, FxNode]:
    return {node.name: node for node in graph.nodes} if graph else {}


def _by_buffer(graph: IrGraph | None) -> dict[str, IrOp]:
    return {buffer_of(op): op for op in graph.ops} if graph else {}


def _users(nodes: Iterable[FxNode]) -> dict[str, tuple[str, ...]]:
    return _collect((source, node.name) for node in nodes for source in node.inputs)


def _collect(pairs: Iterable[tuple[_K, _V]]) -> dict[_K, tuple[_V, ...]]:
    lists: dict[_K, list[_V]] = {}
    for key, value in pairs:
        lists.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in lists.items()}
