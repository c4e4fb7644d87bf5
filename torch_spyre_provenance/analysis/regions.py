"""Lines for what a rewrite made of several calls of one line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import define, field

from ..model import Evidence, FxNode
from .aten import CONTRACTIONS, is_view, packet, plain_name
from .call_flow import CallFlow
from .index import BundleIndex
from .makers import may_make, operator
from .mutation import MOST_BESIDE
from .origins import Origin, Rule, distinct, modules_of
from .products import Products

_MOST_CALLS = 16
"""A region between more calls than these is left without a line."""


@define
class _Region:
    """Connected nodes without a line.

    Attributes:
        nodes: The nodes.
        above: Calls of the nodes that they read.
        below: Calls of the nodes that read them.
        ends: Those calls of either kind that may go on inside the region.
    """

    nodes: list[FxNode] = field(factory=list)
    above: set[str] = field(factory=set)
    below: set[str] = field(factory=set)
    ends: set[str] = field(factory=set)


def resolve_regions(
    todo: Iterable[FxNode], found: Mapping[str, Origin], index: BundleIndex
) -> dict[str, Origin]:
    """Apply *region*: what a rewrite made is of the one line of the calls between.

    Inductor rewrites patterns such as a scaled softmax as a whole; the new nodes stand
    for the calls that the pattern covered. Those are the calls that left no node of
    their own on the way from the calls above the region to the calls below it, and
    those at its rim of which only a part is left. Where they are of two lines, nothing
    tells a rewrite of both from nodes of each, and none is picked. Products are left
    out: each is one call's alone, and so may be what a pass made of an operator unknown
    here.

    Args:
        todo: Post-grad nodes without a line.
        found: The origins of all post-grad nodes.
        index: The bundle's look-ups.

    Returns:
        The origins that were found, by node name.
    """
    if not index.pre_nodes:
        return {}
    flow = CallFlow(index)
    post = index.post_nodes
    alive = {
        call
        for name, origin in found.items()
        for call in origin.calls
        if flow.is_whole(post[name], call) or packet(post[name].target) in CONTRACTIONS
    }
    origins: dict[str, Origin] = {}
    for region in _regions(todo, found, flow):
        if not _is_bounded(region, Products(flow)):
            continue
        calls = _calls_between(region, alive, flow)
        origin = _origin(calls, index)
        about = (*calls, *region.above, *region.below)
        if origin is None or any(map(flow.shares_memory, about)):
            continue
        others = _operators_beside(region, calls, flow)
        for node in region.nodes:
            if _is_part(node, calls, index) and _bare(node) not in others:
                origins[node.name] = origin
    return origins


def _is_bounded(region: _Region, products: Products) -> bool:
    """Return whether known calls lie on all ways into a region and out of it.

    Where a node begins with what the model is given, or where nothing reads one, any
    calls up to there may be inside.
    """
    if not region.above or not region.below:
        return False
    users, post = products.flow.index.post_users, products.flow.index.post_nodes
    for node in region.nodes:
        if is_view(node.target):
            continue
        read = [post[name] for name in node.inputs if name in post]
        if node.name not in users or not any(map(products.root_of, read)):
            return False
    return True


def _operators_beside(region: _Region, calls: set[str], flow: CallFlow) -> set[str]:
    """Return the operators of the calls about a region that are not between."""
    beside = {name for call in region.above for name in flow.users(call)}
    beside.update(name for call in region.below for name in flow.inputs(call))
    pre = flow.index.pre_nodes
    others = (beside | region.above | region.below) - calls
    return {plain_name(pre[name].target) for name in others if name in pre}


def _bare(node: FxNode) -> str:
    """Return a node's operator as a call of the model writes it."""
    return operator(node).removeprefix("native").strip("_")


def _is_part(node: FxNode, calls: set[str], index: BundleIndex) -> bool:
    """Return whether a node can be a part of what these calls became together."""
    aten = node.original_aten
    if aten is None or packet(aten) in CONTRACTIONS:
        return False
    return any(may_make(index.pre_nodes[call], node) for call in calls)


def _regions(
    todo: Iterable[FxNode], found: Mapping[str, Origin], flow: CallFlow
) -> list[_Region]:
    """Return the connected groups of open nodes; views without a line connect, too."""
    post, users = flow.index.post_nodes, flow.index.post_users
    regions: list[_Region] = []
    seen: set[str] = set()
    for first in todo:
        if first.name in seen:
            continue
        region = _Region()
        regions.append(region)
        seen.add(first.name)
        ways = [first.name]
        while ways:
            node = post[ways.pop()]
            region.nodes.append(node)
            near = [(name, region.above) for name in node.inputs if name in post]
            near += [(name, region.below) for name in users.get(node.name, ())]
            for name, side in near:
                if found[name].stacks:
                    _add_rim(region, side, post[name], found[name], flow)
                elif name not in seen:
                    seen.add(name)
                    ways.append(name)
    return regions


def _add_rim(
    region: _Region, side: set[str], node: FxNode, origin: Origin, flow: CallFlow
) -> None:
    for call in origin.calls:
        side.add(call)
        if not flow.is_whole(node, call) and not is_view(node.target):
            region.ends.add(call)


def _calls_between(region: _Region, alive: set[str], flow: CallFlow) -> set[str]:
    def vanished(call: str) -> bool:
        return call not in alive

    sides = (
        flow.reach(region.above, flow.users, vanished, MOST_BESIDE),
        flow.reach(region.below, flow.inputs, vanished, MOST_BESIDE),
    )
    if max(map(len, sides)) > MOST_BESIDE:
        return set()
    calls = set.intersection(*sides)
    return {call for call in calls if vanished(call) or call in region.ends}


def _origin(calls: set[str], index: BundleIndex) -> Origin | None:
    names = tuple(name for name in index.pre_nodes if name in calls)
    stacks = distinct(index.pre_nodes[name].stack for name in names)
    if len(stacks) != 1 or stacks[0] is None or len(names) > _MOST_CALLS:
        return None
    modules = distinct(index.pre_nodes[name].modules for name in names)
    return Origin(
        stacks=(stacks[0],),
        modules=modules_of(names, index) if len(modules) == 1 else (),
        calls=names,
        calls_evidence=Evidence.INFERRED,
        evidence=Evidence.INFERRED,
        rule=Rule.REGION,
    )
