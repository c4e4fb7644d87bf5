"""Which calls of the model lie between those of a node's neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import define, field

from ..model import FxNode
from .aten import CONTRACTIONS, MADE_FROM, is_view, packet
from .call_flow import CallFlow, Step
from .index import BundleIndex
from .makers import can_make, is_composite, operator
from .mutation import MOST_BESIDE
from .origins import Origin
from .products import Products


@define
class Neighbours:
    """The neighbourhood of post-grad nodes, and which calls have their product.

    Attributes:
        products: The products of the graph, with its look-ups.
        found: The origins by node name, as far as they are known.
        claimed: For each call whose product is known, the nodes of that product.
    """

    products: Products
    found: Mapping[str, Origin]
    claimed: dict[str, set[str]] = field(factory=dict, init=False)

    @property
    def _flow(self) -> CallFlow:
        return self.products.flow

    @property
    def _index(self) -> BundleIndex:
        return self.products.flow.index

    def claim(self, node: FxNode, origin: Origin) -> None:
        """Note that a call has its product, and by which nodes."""
        if len(origin.calls) != 1:
            return
        call = self._index.pre_nodes[origin.calls[0]]
        is_half = self.products.product_of(node) is not None
        if (packet(node.target) in CONTRACTIONS or is_half) and not is_composite(call):
            self.claimed.setdefault(call.name, set()).add(node.name)

    def between(self, node: FxNode) -> set[str]:
        """Return the calls that a node can belong to, by those of its neighbours.

        Of a product, calls that cannot make one or have theirs already drop out. None
        is returned where nothing beside it is known, or where it would be very many.
        """
        limits = sorted(self._limits(node), key=len)
        if not limits or len(limits[0]) > MOST_BESIDE:
            return set()
        calls = limits[0].intersection(*limits[1:])
        if operator(node) not in MADE_FROM:
            return set(calls)
        pre = self._index.pre_nodes
        own = {part.name for part in self.products.parts(node)}
        return {
            name
            for name in calls
            if self.claimed.get(name, own) <= own and can_make(pre[name], node)
        }

    def _limits(self, node: FxNode) -> Iterator[frozenset[str]]:
        """Yield, for each neighbour with a known call, the calls that it allows."""
        post, users = self._index.post_nodes, self._index.post_users
        for part in self.products.halves(node):
            for near, call in self._near(part.name, lambda name: post[name].inputs):
                yield self._with(near, call, self._flow.after(call))
            for near, call in self._near(part.name, lambda n: users.get(n, ())):
                yield self._with(near, call, self._flow.before(call))

    def _with(self, near: FxNode, call: str, beside: frozenset[str]) -> frozenset[str]:
        """Add the neighbour's own call, unless the neighbour is all there is of it."""
        if call in beside or self._flow.is_whole(near, call):
            return beside
        return beside | {call}

    def _near(self, start: str, step: Step) -> Iterator[tuple[FxNode, str]]:
        """Yield the nearest nodes on one side that have one call only, with it."""
        post = self._index.post_nodes
        seen = {start}
        ways = [start]
        while ways:
            for name in step(ways.pop()):
                if name in seen or name not in post:
                    continue
                seen.add(name)
                origin = self.found[name]
                if len(origin.calls) == 1:
                    yield post[name], origin.calls[0]
                elif not origin.calls and is_view(post[name].target):
                    ways.append(name)
