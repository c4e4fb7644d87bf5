"""Reading FX graphs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import torch
from attrs import define, field

from ..model import (
    FX_FIELDS,
    Field,
    FromNode,
    FxGraph,
    FxNode,
    ModuleCall,
    SourceFn,
    Stack,
    parse_stack_trace,
)
from .findings import absent, of_value, shared
from .sources import with_columns
from .stack_room import RECORDER_ROOM, with_room

COMPUTE = frozenset({"call_function", "call_module", "call_method"})
"""The node kinds that compute something."""

_ATEN = (torch._ops.OpOverload, torch._ops.OpOverloadPacket)
_PATH_PARTS = re.compile(r"[^.\[\]'\"]+")

MAX_HISTORY = 64
"""Most steps of one `from_node` history that are kept, nearest first."""

MAX_DEPTH = 1_000
"""Most steps into a history that are taken to find its end."""

MAX_MODULE_CALLS = 10_000
"""Most modules whose paths are remembered from node to node and compile to compile."""


@define
class StackTable:
    """The distinct stack traces of one compile, each parsed once.

    Attributes:
        stacks: The parsed traces, in the order of their first use.
    """

    stacks: list[Stack] = field(factory=list, init=False)
    _index_of_text: dict[str, int | None] = field(factory=dict, init=False)
    _index_of_stack: dict[Stack, int] = field(factory=dict, init=False)

    def index(self, text: str) -> int | None:
        """Return the index of a trace, or None for text without a frame."""
        if text not in self._index_of_text:
            stack = with_columns(parse_stack_trace(text))
            self._index_of_text[text] = self._intern(stack) if stack else None
        return self._index_of_text[text]

    def adopt(self, other: StackTable) -> None:
        """Begin, while empty, as a copy of another table, with the same indices."""
        self.stacks.extend(other.stacks)
        self._index_of_text.update(other._index_of_text)
        self._index_of_stack.update(other._index_of_stack)

    def _intern(self, stack: Stack) -> int:
        index = self._index_of_stack.setdefault(stack, len(self.stacks))
        if index == len(self.stacks):
            self.stacks.append(stack)
        return index


@define
class FxReader:
    """Turns FX graphs into records, in one walk each.

    Attributes:
        stacks: Where stack traces go.
    """

    stacks: StackTable

    @with_room(RECORDER_ROOM)
    def graph(self, graph: torch.fx.Graph) -> FxGraph:
        """Return the record of a graph: its compute nodes, inputs and outputs."""
        nodes: list[FxNode] = []
        placeholders: list[str] = []
        outputs: tuple[str, ...] = ()
        for node in graph.nodes:
            if node.op in COMPUTE:
                nodes.append(self.node(node))
            elif node.op == "placeholder":
                placeholders.append(node.name)
            elif node.op == "output":
                outputs = tuple(source.name for source in node.all_input_nodes)
        return FxGraph(
            nodes=tuple(nodes), placeholders=tuple(placeholders), outputs=outputs
        )

    def node(self, node: torch.fx.Node) -> FxNode:
        """Return the record of one node."""
        meta = node.meta
        trace = meta.get("stack_trace")
        aten = meta.get("original_aten")
        return FxNode(
            name=node.name,
            op=node.op,
            target=target_text(node.target),
            inputs=tuple(source.name for source in node.all_input_nodes),
            fields=_findings(meta),
            meta_keys=tuple(sorted(meta)),
            stack=self.stacks.index(trace) if isinstance(trace, str) else None,
            modules=_shared(tuple(_module_calls(meta.get("nn_module_stack")))),
            source_fns=tuple(_source_fns(meta.get("source_fn_stack"))),
            original_aten=None if aten is None else target_text(aten),
            from_nodes=tuple(_history(meta.get("from_node"))),
        )


def _findings(meta: dict[str, Any]) -> tuple[Field, ...]:
    return shared(
        tuple(
            of_value(name, meta[name]) if name in meta else absent(name)
            for name in FX_FIELDS
        )
    )


def target_text(target: object) -> str:
    """Return a node's target as text without memory addresses.

    An ATen overload is ``aten.mm.default``; a function is ``module.name``.
    """
    if isinstance(target, str):
        return target
    if isinstance(target, _ATEN):
        return str(target)
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None)
    if name is None:
        return type(target).__name__
    module = getattr(target, "__module__", None)
    return f"{module}.{name}" if module else str(name)


def uses_device(graph: torch.fx.Graph, device: str) -> bool:
    """Return whether any value of a graph lives on a device of this type."""
    return any(kind == device for node in graph.nodes for kind in node_devices(node))


def node_devices(node: torch.fx.Node) -> Iterator[str]:
    """Yield the types of the devices on which a node's values live."""
    value = node.meta.get("example_value", node.meta.get("val"))
    return (tensor.device.type for tensor in _tensors(value))


def source_digest(graph: torch.fx.Graph) -> str:
    """Return a digest of where a graph's nodes come from: traces and module paths.

    It tells graphs apart that compute the same from different lines.
    """
    digest = hashlib.blake2b(digest_size=16)
    for node in graph.nodes:
        meta = node.meta
        modules = _module_calls(meta.get("nn_module_stack"))
        paths = ",".join(call.path for call in modules)
        row = f"{node.name}\0{meta.get('stack_trace', '')}\0{paths}\0"
        digest.update(row.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _tensors(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)


def _module_calls(stack: object) -> Iterator[ModuleCall]:
    if not isinstance(stack, dict):
        return
    for path, kind in stack.values():
        yield _module_call(
            str(path), kind if isinstance(kind, str) else _class_name(kind)
        )


@lru_cache(MAX_MODULE_CALLS)
def _module_call(path: str, kind: str) -> ModuleCall:
    # All nodes of a module share it and those around it.
    return ModuleCall(path=module_path(path), type=kind)


@lru_cache(MAX_MODULE_CALLS)
def _shared(calls: tuple[ModuleCall, ...]) -> tuple[ModuleCall, ...]:
    return calls


def _class_name(kind: object) -> str:
    module = getattr(kind, "__module__", "")
    name = getattr(kind, "__qualname__", type(kind).__qualname__)
    return f"{module}.{name}" if module else str(name)


def module_path(text: str) -> str:
    """Return a module's path from the root, of any form that Dynamo gives it.

    ``L['self']._modules['layers']._modules['0']``, ``L['self'].layers[0]`` and
    ``layers.0`` all become ``layers.0``, and the root itself "". A module that is not
    under the compiled module's own ``self`` keeps its variable's name.
    """
    parts = _PATH_PARTS.findall(text)
    if parts and parts[0] in ("L", "G"):
        parts = parts[2:] if parts[1:2] == ["self"] else parts[1:]
    return ".".join(part for part in parts if part != "_modules")


def _source_fns(stack: object) -> Iterator[SourceFn]:
    if isinstance(stack, list | tuple):
        for entry in stack:
            name, target = entry[0], entry[1]
            yield SourceFn(name=str(name), target=target_text(target))


def _history(sources: object) -> Iterator[FromNode]:
    for source, depth in _bounded_walk(sources):
        yield FromNode(
            name=source.name,
            target=_bounded(source.target),
            pass_name=source.pass_name,
            action="+".join(action.value for action in source.action),
            depth=depth,
        )


def _bounded_walk(sources: object) -> Iterator[tuple[Any, int]]:
    """Yield the nearest steps of a history with their depth, and then its far end.

    The end lies in Dynamo's graph, so that it is worth more than what is between. A
    history that goes on for too long has none.
    """
    left = MAX_HISTORY - 1
    level, depth = _level(sources), 0
    while level and left > 0:
        yield from ((source, depth) for source in level[:left])
        left -= len(level)
        level, depth = _parents(level), depth + 1
    while level and depth < MAX_DEPTH:
        parents = _parents(level)
        if not parents:
            yield level[0], depth
        level, depth = parents, depth + 1


def _level(sources: object) -> list[Any]:
    return list(sources) if isinstance(sources, Iterable) else []


def _parents(level: list[Any]) -> list[Any]:
    """Return the steps before these, each object once: ways may meet again."""
    parents = (parent for source in level for parent in source.from_node)
    return list({id(parent): parent for parent in parents}.values())


def _bounded(text: str) -> str:
    """Return a target's text; Dynamo's own prints of functions hold an address."""
    return text.split(" at 0x", 1)[0]
