"""What a node of the post-grad graph can have been made from, going by operators."""

from __future__ import annotations

from ..model import FxNode
from .aten import (
    ADDITIONS,
    COMPOSITES,
    CONTRACTIONS,
    HIGHER_ORDER,
    JOINED,
    MADE_FROM,
    MOVERS,
    MULTIPLYING,
    PARTS_OF_PRODUCTS,
    PLAIN,
    SUMS,
    WITH_ADDEND,
    packet,
    plain_name,
)
from .index import BundleIndex

_WITH_BIAS = 3
"""What a linear layer with a bias reads: the value, the weight and the bias."""


def is_made_by_compiler(node: FxNode, index: BundleIndex) -> bool:
    """Return whether no call of the model stands behind a node.

    A node that AOTAutograd lowered from a call keeps `original_aten`; one that a pass
    invented does not, or is not in the post-grad graph at all. For its own ends a
    compiler moves data and provides it. What computes took another node's place, be
    its operator known here or not.
    """
    if not node.op.startswith("call"):
        return True
    if packet(node.target) not in MOVERS:
        return False
    return node.original_aten is None or node.name not in index.post_nodes


def can_make(call: FxNode, node: FxNode) -> bool:
    """Return whether a pre-grad node can be what a post-grad node was made from."""
    names = {packet(call.target)}
    if "linear" in names and len(call.inputs) < _WITH_BIAS and _is_addition(node):
        return False
    names.update(packet(fn.target).lower() for fn in call.source_fns[-1:])
    return is_composite(call) or not names.isdisjoint(makers(node))


def may_make(call: FxNode, node: FxNode) -> bool:
    """Return whether nothing speaks against a node's being made from a call.

    A call that becomes one operator makes no other, and one that multiplies no
    activation.
    """
    name, made = plain_name(call.target), packet(node.target)
    if name in MULTIPLYING and not is_composite(call):
        return made in PARTS_OF_PRODUCTS or made in MOVERS
    return name not in PLAIN or name == operator(node) or can_make(call, node)


def is_composite(call: FxNode) -> bool:
    """Return whether a pre-grad node may hold several products, whatever they are."""
    target = call.target or ""
    return target.startswith(HIGHER_ORDER) or packet(target) in COMPOSITES


def _is_addition(node: FxNode) -> bool:
    return operator(node) in WITH_ADDEND and packet(node.target) in ADDITIONS


def operator(node: FxNode) -> str:
    """Return the ATen operator that a node was lowered from, else its own."""
    return packet(node.original_aten) or packet(node.target)


def makers(node: FxNode) -> frozenset[str]:
    """Return the calls of a model that a post-grad node can have been made from.

    Of what Inductor joined and the front end split again, the product may be of a call
    that only multiplies, and the sum of one that only adds.
    """
    aten, target = operator(node), packet(node.target)
    names = MADE_FROM.get(aten, frozenset({aten}))
    if aten in JOINED and target in CONTRACTIONS:
        return names | MADE_FROM.get(target, frozenset({target}))
    return names | SUMS if aten in JOINED and target in ADDITIONS else names
