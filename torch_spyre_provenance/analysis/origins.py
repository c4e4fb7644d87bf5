"""Where each FX node came from: its call of the model, with evidence.

A node that carries its own stack trace, or a history that ends in a pre-grad node, is
*measured*. What a compiler made of one call and left without a trace is `siblings`'
business.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from attrs import frozen

from ..model import Evidence, FxNode, ModuleCall, Replacement
from .aten import ADDITIONS, CONTRACTIONS, MOVERS, SUMS, packet
from .index import BundleIndex
from .makers import can_make, is_made_by_compiler

_T = TypeVar("_T")

_MOST_NAMED = 4


class Rule(StrEnum):
    """How an op or a node was given its lines; the functions say what each proves."""

    OWN_STACK = "own-stack"
    FROM_NODE = "from-node"
    REPLACED = "replaced"
    SPLIT_SIBLING = "split-sibling"
    OPERAND_VIEW = "operand-view"
    DATA_FLOW = "data-flow"
    ELIMINATION = "elimination"
    REGION = "region"
    MADE_ALONG = "made-along"
    MERGED_TWIN = "merged-twin"
    BEFORE_LOSS = "before-loss"
    FOR_READERS = "for-readers"
    FOR_SOURCES = "for-sources"
    NONE = "none"

    @property
    def meaning(self) -> str:
        """Return what the rule goes by, in a few words."""
        return _MEANINGS[self]


NO_PURPOSE = "a pass made it and did not say for what"
"""Why an op has no line whose node says nothing, and that serves no op with a line."""

_MEANINGS = {
    Rule.OWN_STACK: "its node's own stack trace",
    Rule.FROM_NODE: "the trace of the node that its node's history names",
    Rule.REPLACED: "the trace of the node that its node was seen to replace",
    Rule.SPLIT_SIBLING: "the other half of a call that was split in two",
    Rule.OPERAND_VIEW: "a view that its own call made of an operand",
    Rule.DATA_FLOW: "the only call between those of its neighbours",
    Rule.ELIMINATION: "the only call that still lacks its product",
    Rule.REGION: "the only line between those of a rewrite's neighbours",
    Rule.MADE_ALONG: "what was replaced as its node was made",
    Rule.MERGED_TWIN: "equal calls, of which one was computed for all",
    Rule.BEFORE_LOSS: "its nodes before the pass that lost them",
    Rule.FOR_READERS: "the compiler inserted it: all ops that read it",
    Rule.FOR_SOURCES: "the compiler inserted it: the ops that it reads",
    Rule.NONE: "no rule finds a line",
}


@frozen(kw_only=True)
class Origin:
    """What is known of one FX node's place in the model.

    Attributes:
        stacks: Indices of the stack traces that it stands for, each once.
        modules: The enclosing modules, outermost first.
        calls: Names of the pre-grad nodes that it came from.
        calls_evidence: How those are known.
        evidence: How the stacks are known.
        rule: The rule that found them.
        reason: Why there are none; "" otherwise.
    """

    stacks: tuple[int, ...] = ()
    modules: tuple[ModuleCall, ...] = ()
    calls: tuple[str, ...] = ()
    calls_evidence: Evidence = Evidence.MISSING
    evidence: Evidence = Evidence.MISSING
    rule: Rule = Rule.NONE
    reason: str = ""


def own_origin(node: FxNode, index: BundleIndex) -> Origin:
    """Apply *own-stack*, else *from-node*, else *replaced*, to a post-grad node.

    The trace is the one that Dynamo took while it traced the call; passes copy it.
    The history names the nodes that this one replaced, down to the pre-grad graph,
    whose own trace then counts. Both are read from the node itself. Where a pass left
    neither, what was seen when the node took over the uses of another counts.
    """
    calls = _named_calls(node, index)
    evidence = Evidence.MEASURED if calls else Evidence.MISSING
    stacks = stacks_of(calls, index)
    rule = Rule.FROM_NODE
    if node.stack is not None:
        rule, stacks = Rule.OWN_STACK, (node.stack,)
        if not calls:
            calls = _calls_on_the_line(node, index)
            evidence = Evidence.INFERRED if calls else Evidence.MISSING
    if not stacks:
        return _without_line(node, calls, index) if calls else _replaced(node, index)
    return Origin(
        stacks=stacks,
        modules=node.modules or modules_of(calls, index),
        calls=calls,
        calls_evidence=evidence,
        evidence=Evidence.MEASURED,
        rule=rule,
    )


def _without_line(node: FxNode, calls: tuple[str, ...], index: BundleIndex) -> Origin:
    """Return the origin of a node whose calls are known and have no trace either.

    Dynamo leaves out the frames of ``torch/nn/modules`` and of code from a string, so
    that a call may have none at all. No other call's line is its own.
    """
    return Origin(
        modules=node.modules or modules_of(calls, index),
        calls=calls,
        calls_evidence=Evidence.MEASURED,
        reason=f"Dynamo's graph has no line for {some_of(calls)}: frames of "
        "torch.nn.modules and of code from a string are left out",
    )


def _replaced(node: FxNode, index: BundleIndex) -> Origin:
    """Apply *replaced*: the node was seen to take over the uses of others.

    It stands for all of them, and those had traces. A node that the same rewrite made,
    and that nothing outside of that rewrite reads, stands for them as well, provided
    that they are of one place. A node that the compiler made for its own ends stands
    for no call.
    """
    lost = Origin(modules=node.modules, reason=NO_PURPOSE)
    if is_made_by_compiler(node, index):
        return lost
    olds = index.replaced.get(node.name, ())
    direct = [old for old in olds if old.direct]
    if direct:
        return replacing(node, direct, index, Rule.REPLACED) or lost
    inside = [old for old in olds if _is_inside(node, old.old, index)]
    origin = replacing(node, inside, index, Rule.REPLACED)
    return origin if origin is not None and len(origin.stacks) <= 1 else lost


def _is_inside(node: FxNode, old: str, index: BundleIndex) -> bool:
    """Return whether only the rewrite that replaced an old node reads a node."""
    users = index.post_users.get(node.name, ())
    return bool(users) and index.rewrites[old].issuperset(users)


def replacing(
    node: FxNode, olds: Iterable[Replacement], index: BundleIndex, rule: Rule
) -> Origin | None:
    """Return the origin of a node that stands for these; None where none is known.

    Args:
        node: The new node.
        olds: What it replaced, or was made along with the replacement of.
        index: The bundle's look-ups.
        rule: By which rule; only *replaced* was seen, others are inferred.
    """
    olds = [old for old in olds if old.direct or _can_hold(old, node, index)]
    calls = distinct(
        name for old in olds for name in old.sources if name in index.pre_nodes
    )
    traced = distinct(old.stack for old in olds if old.stack is not None)
    stacks = traced or stacks_of(calls, index)
    if not stacks:
        return _without_line(node, calls, index) if calls else None
    evidence = Evidence.MEASURED if rule is Rule.REPLACED else Evidence.INFERRED
    return Origin(
        stacks=stacks,
        modules=node.modules or modules_of(calls, index),
        calls=calls,
        calls_evidence=evidence if calls else Evidence.MISSING,
        evidence=evidence,
        rule=rule,
    )


def _can_hold(old: Replacement, node: FxNode, index: BundleIndex) -> bool:
    """Return whether the call behind an old node can have had this node in it.

    Inductor joins a sum with a product that another call made. What replaces the sum
    then brings along a product, which is not of the sum's line. What a pass made of an
    operator unknown here may be such a product.
    """
    name = packet(node.target)
    is_known = node.original_aten is not None or name in ADDITIONS | MOVERS
    if is_known and name not in CONTRACTIONS:
        return True
    calls = [index.pre_nodes[n] for n in old.sources if n in index.pre_nodes]
    return not calls or any(packet(call.target) not in SUMS for call in calls)


def later_origin(
    node: FxNode, index: BundleIndex, found: Mapping[str, Origin]
) -> Origin:
    """Apply *own-stack*, else *from-node*, to a node that a pass made after post-grad.

    Its history names post-grad nodes before pre-grad ones, so that the nearest step
    that was recorded counts.
    """
    near = [found[name] for name in nearest_steps(node, index)]
    stacks = distinct(stack for origin in near for stack in origin.stacks)
    evidence, rule = Evidence.MEASURED, Rule.FROM_NODE
    inferred = [origin for origin in near if origin.evidence is Evidence.INFERRED]
    if inferred:
        evidence, rule = Evidence.INFERRED, inferred[0].rule
    if node.stack is not None:
        evidence, rule, stacks = Evidence.MEASURED, Rule.OWN_STACK, (node.stack,)
    if not stacks:
        return Origin(reason=NO_PURPOSE)
    calls = distinct(call for origin in near for call in origin.calls)
    return Origin(
        stacks=stacks,
        modules=node.modules or next((o.modules for o in near if o.modules), ()),
        calls=calls,
        calls_evidence=evidence if calls else Evidence.MISSING,
        evidence=evidence,
        rule=rule,
    )


def nearest_steps(node: FxNode, index: BundleIndex) -> tuple[str, ...]:
    """Return the post-grad nodes that a later node was made from directly."""
    steps = [step for step in node.from_nodes if step.name in index.post_nodes]
    return distinct(step.name for step in steps if step.depth == steps[0].depth)


def stacks_of(calls: Iterable[str], index: BundleIndex) -> tuple[int, ...]:
    """Return the stack traces of some pre-grad nodes, each once."""
    stacks = (index.pre_nodes[name].stack for name in calls)
    return distinct(stack for stack in stacks if stack is not None)


def modules_of(calls: Iterable[str], index: BundleIndex) -> tuple[ModuleCall, ...]:
    """Return the modules around the first of these pre-grad nodes that has any."""
    return next(
        (
            node.modules
            for name in calls
            if (node := index.pre_nodes.get(name)) and node.modules
        ),
        (),
    )


def some_of(names: Sequence[str]) -> str:
    """Return a few of the names as text, and how many more there are."""
    more = len(names) - _MOST_NAMED
    rest = f" and {more} more" if more > 0 else ""
    return ", ".join(names[:_MOST_NAMED]) + rest


def distinct(values: Iterable[_T]) -> tuple[_T, ...]:
    """Return the values without repetitions, in the order of their first appearance."""
    return tuple(dict.fromkeys(values))


def _named_calls(node: FxNode, index: BundleIndex) -> tuple[str, ...]:
    """Return the pre-grad nodes that the node's own metadata names.

    The last step of `from_node` lies in the pre-grad graph. Earlier steps lie in graphs
    between, whose names may by chance be those of other pre-grad nodes.
    """
    deepest = max((step.depth for step in node.from_nodes), default=-1)
    ends = [step.name for step in node.from_nodes if step.depth == deepest]
    calls = distinct(name for name in ends if _agrees(node, name, index))
    if calls or not node.source_fns:
        return calls
    same = index.pre_by_source_fns.get(node.source_fns, ())
    return same if len(same) == 1 and _agrees(node, same[0], index) else ()


def _agrees(node: FxNode, call: str, index: BundleIndex) -> bool:
    """Return whether a pre-grad node exists and was traced at the same place."""
    pre = index.pre_nodes.get(call)
    if pre is None:
        return False
    return node.stack is None or pre.stack is None or node.stack == pre.stack


def _calls_on_the_line(node: FxNode, index: BundleIndex) -> tuple[str, ...]:
    """Return all pre-grad nodes with the same trace, of those that fit best."""
    names = () if node.stack is None else index.pre_by_stack.get(node.stack, ())
    fitting = [n for n in names if index.pre_nodes[n].modules == node.modules] or names
    return tuple([n for n in fitting if can_make(index.pre_nodes[n], node)] or fitting)
