"""Which nodes are the halves of one product with an addend, as post-grad says.

Inductor joins ``mm`` and ``add`` into ``addmm``, and a device's passes split it again.
Nothing here needs a stack trace: only which node reads which, and what it was lowered
from.
"""

from __future__ import annotations

from functools import cached_property

from attrs import frozen

from ..model import FxNode
from .aten import (
    ADDITIONS,
    CONTRACTIONS,
    JOINED,
    MADE_FROM,
    SUMS,
    WITH_ADDEND,
    is_view,
    packet,
)
from .call_flow import CallFlow


@frozen(slots=False)
class Products:
    """The products of a post-grad graph, and what was split from them.

    Attributes:
        flow: Which calls of the model lie beside which, and the bundle's look-ups.
    """

    flow: CallFlow

    def product_of(self, node: FxNode) -> FxNode | None:
        """Return the product that an addition made from a larger call adds up.

        It is the only product among what the addition reads, and nothing else reads it.
        """
        if packet(node.target) not in ADDITIONS:
            return None
        if packet(node.original_aten) not in WITH_ADDEND:
            return None
        post = self.flow.index.post_nodes
        products = [
            post[name]
            for name in node.inputs
            if name in post and packet(post[name].target) in CONTRACTIONS
        ]
        if len(products) != 1:
            return None
        return products[0] if self.only_user(products[0]) == node.name else None

    def sum_of(self, node: FxNode) -> FxNode | None:
        """Return the addition whose product a node is, see `product_of`."""
        user = self.only_user(node)
        whole = self.flow.index.post_nodes.get(user) if user else None
        if whole is None or self.product_of(whole) is not node:
            return None
        return whole

    def only_user(self, node: FxNode) -> str | None:
        """Return the one node that reads a node; None where several do, or none."""
        users = self.flow.index.post_users.get(node.name, ())
        return users[0] if len(users) == 1 else None

    def parts(self, node: FxNode) -> tuple[FxNode, ...]:
        """Return a node and what it adds up, or what adds it up, of a split node."""
        other = self.product_of(node) or self.sum_of(node)
        return (node,) if other is None else (node, other)

    def halves(self, node: FxNode) -> tuple[FxNode, ...]:
        """Return a node and the other half of its call, where that is certain."""
        if packet(node.original_aten) in JOINED and self._has_sums_of_products:
            return (node,)
        parts = self.parts(node)
        return parts if len({part.original_aten for part in parts}) == 1 else (node,)

    def root_of(self, view: FxNode) -> FxNode | None:
        """Return the node whose memory a view looks at; None for an input."""
        node: FxNode | None = view
        seen: set[str] = set()
        while node is not None and is_view(node.target) and node.name not in seen:
            seen.add(node.name)
            node = (
                self.flow.index.post_nodes.get(node.inputs[0]) if node.inputs else None
            )
        return node

    @cached_property
    def _has_sums_of_products(self) -> bool:
        """Return whether the model itself adds to what a call multiplied.

        Inductor may have joined such calls, so that two halves need not be of one call.
        """
        pre = self.flow.index.pre_nodes
        return any(
            packet(pre[before].target) in MADE_FROM["mm"]
            for name, call in pre.items()
            if packet(call.target) in SUMS
            for before in self.flow.before(name)
        )
