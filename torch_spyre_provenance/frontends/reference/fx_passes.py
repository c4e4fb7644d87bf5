"""The two passes over the post-grad graph, before and after it is recorded.

The first belongs to the program: what it makes is part of the graph that users see. The
second prepares the lowering, and changes only how nodes are lowered.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch._inductor.custom_graph_pass import (
    CustomGraphModulePass,
    get_hash_for_files,
)
from torch._inductor.pattern_matcher import (
    Arg,
    CallFunction,
    KeywordArg,
    Match,
    PatternMatcherPass,
    fwd_only,
    register_graph_pattern,
)
from torch._inductor.virtualized import V
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import set_original_aten_op

from . import native
from .addressing import VIEWS
from .outputs import split_outputs
from .passes import extra_names

_SOURCES = tuple(str(path) for path in sorted(Path(__file__).parent.glob("*.py")))
_PRODUCTS = PatternMatcherPass(pass_name="decompose_addmm")  # noqa: S106 - a name


def _is_native_addmm(match: Match) -> bool:
    node = match.output_node()
    scaled = bool(node.kwargs)  # by `alpha` or `beta`
    return native.is_spyre(node) and native.has_matmul_types(node) and not scaled


@register_graph_pattern(
    CallFunction(torch.ops.aten.addmm.default, KeywordArg("inp"), Arg(), Arg()),
    pass_dict=_PRODUCTS,
    extra_check=_is_native_addmm,
)
def _decompose_addmm(match: Match, x: Node, y: Node, *, inp: Node) -> None:
    inputs = [inp, x, y]
    # torch's annotation asks for a graph, its code for a module.
    with V.fake_mode:
        replacement: Any = fwd_only(_product_and_sum, [n.meta["val"] for n in inputs])
    match.replace_with_graph(replacement, inputs)


def _product_and_sum(inp: Any, x: Any, y: Any) -> Any:
    with set_original_aten_op(torch.ops.aten.addmm.default):
        return inp + x @ y


class FxPass(CustomGraphModulePass):
    """Rewrites the post-grad graph into operators that the device has.

    ``addmm`` becomes ``mm`` and ``add``: the device has no op for both. An operator of
    two outputs, ``max`` or ``topk``, becomes one operator for each that is used; these
    keep what is known of the node that took the output.
    """

    def __call__(self, gm: GraphModule) -> None:
        """Rewrite the graph in place."""
        _PRODUCTS.apply(gm.graph)
        split_outputs(gm.graph)
        gm.graph.lint()
        gm.recompile()

    def uuid(self) -> Any:
        """Return a hash of the front end's sources."""
        return get_hash_for_files(_SOURCES)


class LoweringPass(CustomGraphModulePass):
    """Says of each node of the device how it is to be lowered.

    No node is added or removed, and none is renamed. A node that the device computes
    gets a buffer of its own; matrix products and reductions are pointed at operators
    with a lowering of the front end's own; all that the device does not compute is left
    to the eager operator.
    """

    def __call__(self, gm: GraphModule) -> None:
        """Annotate and retarget the nodes in place."""
        for node in gm.graph.nodes:
            if node.op == "call_function":
                _prepare(node)

    def uuid(self) -> Any:
        """Return a hash of our sources, and what was added to the passes."""
        own = get_hash_for_files(_SOURCES)
        return (own, *extra_names()) if extra_names() else own


def _prepare(node: Node) -> None:
    if not isinstance(node.target, torch._ops.OpOverload) or not touches_spyre(node):
        return
    if node.target in VIEWS:
        return
    if not native.is_native(node):
        node.meta["should_fallback"] = True
        node.target = native.HOST_NAMESAKES.get(node.target, node.target)
        return
    node.meta["inductor_realize_to_strides"] = True
    retarget = native.RETARGETS.get(node.target)
    if retarget is not None:
        node.target, node.args = retarget(node)
        node.kwargs = {}


def touches_spyre(node: Node) -> bool:
    """Return whether a node makes or reads a tensor of the device."""
    return native.is_spyre(node) or any(map(native.is_spyre, node.all_input_nodes))


class Chain(CustomGraphModulePass):
    """Several passes, one after the other."""

    def __init__(self, *passes: CustomGraphModulePass) -> None:
        self._passes = passes

    def __call__(self, gm: GraphModule) -> None:
        """Run the passes in order."""
        for step in self._passes:
            step(gm)

    def uuid(self) -> Any:
        """Return the passes' own identities, which also name this front end."""
        return ("torch_spyre_provenance.reference", *(p.uuid() for p in self._passes))
