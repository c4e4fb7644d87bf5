"""Lines for the parts of a call that lost their traces when a compiler split it.

Inductor joins ``mm`` and ``add`` into ``addmm``, and a device's passes split it again;
the new nodes keep `original_aten` and lose the trace. Each rule here gives such a node
to the one call that the graph leaves for it. Where two calls stay possible it gives it
to none, for a wrong line is worse than no line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import define, evolve, field

from ..model import CompileKind, Evidence, FxNode
from .aten import CONTRACTIONS, JOINED, WITH_ADDEND, is_view, packet
from .call_flow import CallFlow
from .index import BundleIndex
from .makers import (
    can_make,
    is_made_by_compiler,
    makers,
    may_make,
    operator,
)
from .merged import merge_twins
from .neighbours import Neighbours
from .origins import (
    Origin,
    Rule,
    distinct,
    later_origin,
    modules_of,
    own_origin,
    replacing,
    some_of,
)
from .products import Products
from .regions import resolve_regions

_MOST_ROUNDS = 16


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


_Kind = tuple[frozenset[str], str]
"""The calls that can have made a node, and the node's operator."""


def _kind(node: FxNode) -> _Kind:
    return makers(node), packet(node.target)


@define(slots=False)
class _Inference:
    """The rules, and the origins that they add to.

    Attributes:
        index: The bundle's look-ups.
        found: The origins by node name.
    """

    index: BundleIndex
    found: dict[str, Origin]
    _products: Products = field(init=False)
    _neighbours: Neighbours = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._products = Products(CallFlow(self.index))
        self._neighbours = Neighbours(self._products, self.found)

    def run(self) -> None:
        """Apply the rules until nothing more follows, the strongest ones first."""
        post = self.index.post_nodes
        todo = [
            node
            for name, node in post.items()
            if self._is_open(name) and not is_made_by_compiler(node, self.index)
        ]
        if not todo:
            return
        for name, node in post.items():
            self._neighbours.claim(node, self.found[name])
        follows_calls = self.index.bundle.compile.kind is not CompileKind.BACKWARD
        for _ in range(_MOST_ROUNDS):
            left = len(todo)
            for rule in (self._split_sibling, self._operand_view):
                todo = self._sweep(todo, rule)
            if len(todo) == left and follows_calls:
                todo = self._sweep(todo, self._data_flow)
            if len(todo) == left and follows_calls:
                todo = self._elimination(todo)
            if not todo or len(todo) == left:
                break
        if follows_calls:
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
                    self._neighbours.claim(node, origin)
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
            whole = self._products.sum_of(node)
            return None if whole is None else self._given_half(whole, node)
        product = self._products.product_of(node)
        if product is None or packet(product.original_aten) not in WITH_ADDEND:
            return None
        return self._given_half(product, node)

    def _given_half(self, sibling: FxNode, node: FxNode) -> Origin | None:
        """Give a node the other half's call, if that can have made this half too."""
        pre = self.index.pre_nodes
        calls = [pre[name] for name in self.found[sibling.name].calls]
        atens = {packet(each.original_aten) for each in (sibling, node)}
        if not calls and not atens.isdisjoint(JOINED):
            # Inductor joins a product and a sum of two calls just as well.
            return None
        if calls and not any(can_make(call, node) for call in calls):
            return None
        return self._given(sibling, Rule.SPLIT_SIBLING)

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
        if self._products.only_user(view) is None:
            return False
        root = self._products.root_of(view)
        if root is None:
            return True
        made_by = self.found[root.name]
        return bool(made_by.stacks) and made_by.stacks != origin.stacks

    def _data_flow(self, node: FxNode) -> Origin | None:
        """Give a node the only call that lies between its neighbours' calls.

        What a node reads was computed by its own call or by one that its call reads,
        and likewise for what reads it. The pre-grad graph says which calls those are.
        Of a product, the calls that cannot make one or have theirs already drop out. A
        call of another operator contradicts the graph, and then nothing follows.
        """
        calls = self._neighbours.between(node)
        if not all(may_make(self.index.pre_nodes[name], node) for name in calls):
            return None
        return self._only(calls, Rule.DATA_FLOW)

    def _elimination(self, todo: list[FxNode]) -> list[FxNode]:
        """Give nodes the only line in the model whose call still lacks its product.

        Each call makes one product. Where all calls but those of one line have theirs,
        the products without a line are of that line. A half whose other half has its
        call is none of them. Returns what stays open.
        """
        pre = self.index.pre_nodes
        of_kind = {
            _kind(node): node
            for node in todo
            if packet(node.original_aten) in WITH_ADDEND
        }
        origins: dict[_Kind, Origin | None] = {}
        for kind, node in of_kind.items():
            calls = {name for name, call in pre.items() if can_make(call, node)}
            open_calls = calls - set(self._neighbours.claimed)
            origins[kind] = self._only(open_calls, Rule.ELIMINATION)
        rest: list[FxNode] = []
        for node in todo:
            origin = origins.get(_kind(node))
            parts = self._products.parts(node)[1:]
            if origin is None or any(self.found[p.name].calls for p in parts):
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

    def _inputs(self, node: FxNode) -> list[FxNode]:
        post = self.index.post_nodes
        return [post[name] for name in node.inputs if name in post]

    def _why_open(self, node: FxNode) -> str:
        lost = f"{operator(node)} lost its stack trace"
        if node.original_aten is None:
            lost = f"a pass made {node.name} without a stack trace"
        if not self.index.pre_nodes:
            return f"{lost}; Dynamo's graph, which may tell its call, was not recorded"
        calls = sorted(self._neighbours.between(node))
        if len(calls) < 2:
            return f"{lost}, and no neighbour tells its call"
        return f"{lost}, and may be of any of {some_of(calls)}"
