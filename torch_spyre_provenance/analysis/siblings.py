"""Lines for the parts of a call that lost their traces when a compiler split it.

Inductor joins ``mm`` and ``add`` into ``addmm``, and a device's passes split it again;
the new nodes keep `original_aten` and lose the trace. Each rule here gives such a node
to the one call that the graph leaves for it. Where two calls stay possible it gives it
to none, for a wrong line is worse than no line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from attrs import define, evolve, field

from ..model import Evidence, FxNode
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
from .call_flow import CallFlow, Step
from .index import BundleIndex
from .merged import merge_twins
from .origins import (
    Origin,
    Rule,
    can_make,
    distinct,
    later_origin,
    makers,
    modules_of,
    own_origin,
    replacing,
)
from .regions import resolve_regions

_MOST_ROUNDS = 16
_MOST_CANDIDATES = 256


def resolve_origins(index: BundleIndex) -> Mapping[str, Origin]:
    """Return the origin of every post-grad node and of every node made later.

    Args:
        index: The bundle's look-ups.

    Returns:
        One entry per node, those without a line included.
    """
    found = {name: own_origin(node, index) for name, node in index.post_nodes.items()}
    _Inference(index, found).run()
    found.update(merge_twins(found, index))
    for name, node in index.later_nodes.items():
        found[name] = later_origin(node, index, found)
    return found


@define(slots=False)
class _Inference:
    """The rules, and the origins that they add to.

    Attributes:
        index: The bundle's look-ups.
        found: The origins by node name.
    """

    index: BundleIndex
    found: dict[str, Origin]
    _claimed: dict[str, set[str]] = field(factory=dict, init=False)
    _flow: CallFlow = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._flow = CallFlow(self.index)

    def run(self) -> None:
        """Apply the rules until nothing more follows, the strongest ones first."""
        post = self.index.post_nodes
        todo = [
            node
            for name, node in post.items()
            if node.original_aten is not None and self._is_open(name)
        ]
        if not todo:
            return
        for name, node in post.items():
            self._claim(node, self.found[name])
        for _ in range(_MOST_ROUNDS):
            left = len(todo)
            for rule in (self._split_sibling, self._operand_view):
                todo = self._sweep(todo, rule)
            if len(todo) == left:
                todo = self._sweep(todo, self._data_flow)
            if len(todo) == left:
                todo = self._elimination(todo)
            if not todo or len(todo) == left:
                break
        self.found.update(resolve_regions(todo, self.found, self.index))
        todo = [node for node in todo if not self.found[node.name].stacks]
        for node in self._sweep(todo, self._made_along):
            self.found[node.name] = evolve(
                self.found[node.name], reason=self._why_open(node)
            )

    def _sweep(
        self, todo: list[FxNode], rule: Callable[[FxNode], Origin | None]
    ) -> list[FxNode]:
        """Try a rule on every open node, forth and back; return what stays open."""
        for _ in range(2):
            rest: list[FxNode] = []
            for node in todo:
                origin = rule(node)
                if origin is None:
                    rest.append(node)
                else:
                    self.found[node.name] = origin
                    self._claim(node, origin)
            # Chains resolve from one end: from their sources or from their readers.
            todo = rest[::-1]
        return todo

    def _split_sibling(self, node: FxNode) -> Origin | None:
        """Give one half of a split call the line of the other half.

        A call such as ``linear`` multiplies and adds. If its addition has a line, the
        product that it adds belongs to the same call: the only product among its
        inputs, which nothing else reads. The same holds from the product to the
        addition.
        """
        if packet(node.target) in CONTRACTIONS:
            users = self.index.post_users.get(node.name, ())
            whole = self.index.post_nodes.get(users[0]) if len(users) == 1 else None
            if whole is None or self._product_of(whole) is not node:
                return None
            return self._given_half(whole, node)
        product = self._product_of(node)
        if product is None or packet(product.original_aten) not in WITH_ADDEND:
            return None
        return self._given_half(product, node)

    def _given_half(self, sibling: FxNode, node: FxNode) -> Origin | None:
        """Give a node the other half's call, if that can have made this half too."""
        pre = self.index.pre_nodes
        calls = [pre[name] for name in self.found[sibling.name].calls]
        if calls and not any(can_make(call, node) for call in calls):
            return None
        return self._given(sibling, Rule.SPLIT_SIBLING)

    def _product_of(self, node: FxNode) -> FxNode | None:
        """Return the product that an addition made from a larger call adds up."""
        if packet(node.target) not in ADDITIONS:
            return None
        if packet(node.original_aten) not in WITH_ADDEND:
            return None
        post = self.index.post_nodes
        products = [
            post[name]
            for name in node.inputs
            if name in post and packet(post[name].target) in CONTRACTIONS
        ]
        if len(products) != 1:
            return None
        return products[0] if self._only_user(products[0]) == node.name else None

    def _operand_view(self, node: FxNode) -> Origin | None:
        """Give a product the line of a view that its own call made of an operand.

        Lowering ``linear`` makes a transposed view of the weight. That view is made
        from a value that the call did not compute, so that it is an operand and not the
        result; where one product alone reads it, that product is the call's.
        """
        if packet(node.target) not in CONTRACTIONS:
            return None
        views = [view for view in self._inputs(node) if self._is_own_operand(view)]
        origins = {self.found[view.name].stacks for view in views}
        return self._given(views[0], Rule.OPERAND_VIEW) if len(origins) == 1 else None

    def _is_own_operand(self, view: FxNode) -> bool:
        origin = self.found[view.name]
        if not origin.stacks or not is_view(view.target):
            return False
        if packet(view.original_aten) not in CONTRACTIONS:
            return False
        if self._only_user(view) is None:
            return False
        root = self._root(view)
        if root is None:
            return True
        made_by = self.found[root.name]
        return bool(made_by.stacks) and made_by.stacks != origin.stacks

    def _root(self, view: FxNode) -> FxNode | None:
        """Return the node whose memory a view looks at; None for an input."""
        node: FxNode | None = view
        seen: set[str] = set()
        while node is not None and is_view(node.target) and node.name not in seen:
            seen.add(node.name)
            node = self.index.post_nodes.get(node.inputs[0]) if node.inputs else None
        return node

    def _data_flow(self, node: FxNode) -> Origin | None:
        """Give a node the only call that lies between its neighbours' calls.

        What a node reads was computed by its own call or by one that its call reads,
        and likewise for what reads it. The pre-grad graph says which calls those are.
        Of a product, the calls that cannot make one or have theirs already drop out.
        """
        return self._only(self._between(node), Rule.DATA_FLOW)

    def _elimination(self, todo: list[FxNode]) -> list[FxNode]:
        """Give nodes the only line in the model whose call still lacks its product.

        Each call makes one product. Where all calls but those of one line have theirs,
        the products without a line are of that line. Returns what stays open.
        """
        pre = self.index.pre_nodes
        of_kind = {
            makers(node): node
            for node in todo
            if packet(node.original_aten) in WITH_ADDEND
        }
        origins: dict[frozenset[str], Origin | None] = {}
        for kind, node in of_kind.items():
            calls = {name for name, call in pre.items() if can_make(call, node)}
            origins[kind] = self._only(calls - set(self._claimed), Rule.ELIMINATION)
        rest: list[FxNode] = []
        for node in todo:
            origin = origins.get(makers(node))
            if origin is None:
                rest.append(node)
            else:
                self.found[node.name] = origin
        return rest

    def _made_along(self, node: FxNode) -> Origin | None:
        """Give a node the line of what was replaced as it was made.

        A rewrite makes several nodes and lets one of them take over the old one's uses.
        The others stand for the same call where all that was replaced is of one place.
        """
        olds = self.index.replaced.get(node.name, ())
        origin = replacing(node, olds, self.index, Rule.MADE_ALONG)
        return origin if origin is not None and len(origin.stacks) == 1 else None

    def _is_open(self, name: str) -> bool:
        """Return whether a node has no line, and its call may be found."""
        return not self.found[name].stacks and not self.found[name].calls

    def _between(self, node: FxNode) -> set[str]:
        limits = sorted(self._limits(node), key=len)
        if not limits or len(limits[0]) > _MOST_CANDIDATES:
            return set()
        calls = limits[0].intersection(*limits[1:])
        aten = packet(node.original_aten)
        if aten not in MADE_FROM:
            return set(calls)
        pre = self.index.pre_nodes
        own = {part.name for part in self._parts(node)}
        return {
            name
            for name in calls
            if self._claimed.get(name, own) <= own and can_make(pre[name], node)
        }

    def _limits(self, node: FxNode) -> Iterator[frozenset[str]]:
        """Yield, for each neighbour with a known call, the calls that it allows."""
        post, users = self.index.post_nodes, self.index.post_users
        for part in self._halves(node):
            for near, call in self._near(part.name, lambda name: post[name].inputs):
                yield self._with(near, call, self._flow.after(call))
            for near, call in self._near(part.name, lambda n: users.get(n, ())):
                yield self._with(near, call, self._flow.before(call))

    def _with(self, near: FxNode, call: str, beside: frozenset[str]) -> frozenset[str]:
        """Add the neighbour's own call, unless the neighbour is all there is of it."""
        return beside if self._flow.is_whole(near, call) else beside | {call}

    def _near(self, start: str, step: Step) -> Iterator[tuple[FxNode, str]]:
        """Yield the nearest nodes on one side that have one call only, with it."""
        post = self.index.post_nodes
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

    def _halves(self, node: FxNode) -> tuple[FxNode, ...]:
        """Return a node and the other half of its split call, where that is certain."""
        if packet(node.original_aten) in JOINED and self._has_sums_of_products:
            return (node,)
        parts = self._parts(node)
        return parts if len({part.original_aten for part in parts}) == 1 else (node,)

    def _parts(self, node: FxNode) -> tuple[FxNode, ...]:
        """Return a node and what it adds up, or what adds it up, of a split node."""
        product = self._product_of(node)
        if product is not None:
            return (node, product)
        users = self.index.post_users.get(node.name, ())
        whole = self.index.post_nodes.get(users[0]) if len(users) == 1 else None
        if whole is None or self._product_of(whole) is not node:
            return (node,)
        return (node, whole)

    @cached_property
    def _has_sums_of_products(self) -> bool:
        """Return whether the model itself adds to what a call multiplied.

        Inductor may have joined such calls, so that two halves need not be of one call.
        """
        pre = self.index.pre_nodes
        return any(
            packet(pre[before].target) in MADE_FROM["mm"]
            for name, call in pre.items()
            if packet(call.target) in SUMS
            for before in self._flow.before(name)
        )

    def _only(self, calls: set[str], rule: Rule) -> Origin | None:
        """Return the origin that stands for a set of calls on one and the same line."""
        names = tuple(sorted(calls))
        stacks = distinct(self.index.pre_nodes[name].stack for name in names)
        if len(stacks) != 1 or stacks[0] is None:
            return None
        return Origin(
            stacks=(stacks[0],),
            modules=modules_of(names, self.index) if len(names) == 1 else (),
            calls=names,
            calls_evidence=Evidence.INFERRED,
            evidence=Evidence.INFERRED,
            rule=rule,
        )

    def _given(self, sibling: FxNode, rule: Rule) -> Origin | None:
        origin = self.found[sibling.name]
        if not origin.stacks:
            return None
        return evolve(
            origin,
            rule=rule,
            evidence=Evidence.INFERRED,
            calls_evidence=Evidence.INFERRED if origin.calls else Evidence.MISSING,
        )

    def _claim(self, node: FxNode, origin: Origin) -> None:
        if len(origin.calls) == 1 and (
            packet(node.target) in CONTRACTIONS or self._product_of(node) is not None
        ):
            self._claimed.setdefault(origin.calls[0], set()).add(node.name)

    def _inputs(self, node: FxNode) -> list[FxNode]:
        post = self.index.post_nodes
        return [post[name] for name in node.inputs if name in post]

    def _only_user(self, node: FxNode) -> str | None:
        users = self.index.post_users.get(node.name, ())
        return users[0] if len(users) == 1 else None

    def _why_open(self, node: FxNode) -> str:
        lost = f"{packet(node.original_aten)} lost its stack trace"
        if not self.index.pre_nodes:
            return f"{lost} and nothing beside it has one"
        calls = sorted(self._between(node))[:4]
        if len(calls) < 2:
            return f"{lost} and no neighbour tells its call"
        return f"{lost} and may be of any of {', '.join(calls)}"
