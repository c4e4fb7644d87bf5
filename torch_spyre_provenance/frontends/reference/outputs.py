"""Operators of two outputs, which the device makes by two ops.

The values and the positions of the largest elements are two kernels' worth of work, and
most programs want only one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Graph, Node

from . import library
from .addressing import fits
from .native import is_spyre

library.define()

aten = torch.ops.aten
spyre = torch.ops.spyre

Made = tuple[torch._ops.OpOverload, tuple[Any, ...]]
"""An operator and its arguments."""

_MOST = 4
"""As many of the largest elements as the device finds."""


def _extreme(kind: str) -> Callable[..., tuple[Made, Made]]:
    def parts(x: Node, dim: int, *keepdim: bool) -> tuple[Made, Made]:
        values = getattr(aten, f"a{kind}").default
        positions = getattr(aten, f"arg{kind}").default
        return (values, (x, [dim], *keepdim)), (positions, (x, dim, *keepdim))

    return parts


def _largest(x: Node, k: int, dim: int = -1, *_: bool) -> tuple[Made, Made]:
    arguments = (x, k, dim)
    return (spyre.topkvalue.default, arguments), (spyre.topkindex.default, arguments)


PARTS: dict[Any, Callable[..., tuple[Made, Made]]] = {
    aten.max.dim: _extreme("max"),
    aten.min.dim: _extreme("min"),
    aten.topk.default: _largest,
}
"""What makes each output of an operator, given its arguments."""


def split_outputs(graph: Graph) -> None:
    """Put one operator for each output that is used in place of one for both.

    Each keeps what is known of the node that took the output.
    """
    for node in tuple(graph.nodes):
        if _is_split(node):
            _split(graph, node)


def _is_split(node: Node) -> bool:
    if node.target not in PARTS or node.kwargs:
        return False
    (x,) = node.all_input_nodes
    if node.target is not aten.topk.default:
        return is_spyre(x)
    arguments: Any = node.args
    in_order = all(arguments[3:])  # the largest first, sorted
    return in_order and arguments[1] <= _MOST and fits(x.meta["val"])


def _split(graph: Graph, node: Node) -> None:
    parts = PARTS[node.target](*node.args)
    for user in tuple(node.users):
        position: Any = user.args[1]
        target, arguments = parts[position]
        with graph.inserting_before(user):
            part = graph.call_function(target, arguments)
        part.meta = dict(user.meta)
        user.replace_all_uses_with(part)
        graph.erase_node(user)
    graph.erase_node(node)
