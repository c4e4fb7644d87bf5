"""The graph from source lines to kernels, with the evidence of each edge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cached_property

from attrs import define, evolve, field, frozen

from ..model import Evidence, Op
from .aten import packet
from .attribution import Attribution, Attributor, Location
from .origins import Origin, Rule
from .rewrites import computed_nodes


class Level(StrEnum):
    """A column of the graph."""

    SOURCE = "source"
    FX_PRE_GRAD = "fx_pre_grad"
    FX_POST_GRAD = "fx_post_grad"
    LOOP_IR_PRE = "loop_ir_pre"
    LOOP_IR_POST = "loop_ir_post"
    OP_SPEC = "op_spec"
    KERNEL = "kernel"


@frozen(order=True)
class Ref:
    """A node of the graph.

    Attributes:
        level: Its column.
        key: Its name, unique in the column: ``file:line``, an FX node, an IR operation,
            ``kernel/spec path``, or a kernel.
    """

    level: Level
    key: str


@frozen(kw_only=True)
class Entity:
    """What a node of the graph stands for.

    Attributes:
        ref: The node.
        label: Text for people: the name, and what it does.
        missing: Why no path leads to it from a source line; "" where one does.
    """

    ref: Ref
    label: str
    missing: str = ""


@frozen(kw_only=True)
class Edge:
    """One step from a stage to the next.

    Attributes:
        start: Where it comes from.
        end: What became of it.
        evidence: How that is known.
        rule: By what: a tracked field, or the name of a rule.
    """

    start: Ref
    end: Ref
    evidence: Evidence
    rule: str


@frozen(kw_only=True)
class Lineage:
    """The graph of one compile.

    Attributes:
        entities: Its nodes, column by column, each in the compiler's order.
        edges: Its edges, column by column; none twice.
    """

    entities: tuple[Entity, ...]
    edges: tuple[Edge, ...]


def build_lineage(attributor: Attributor) -> Lineage:
    """Return the lineage of a bundle.

    No edge skips a stage that was recorded. An operation that a pass inserted hangs on
    the operations that it serves, as they were before that pass.
    """
    builder = _Builder(attributor)
    builder.add_fx()
    builder.add_ir()
    builder.add_kernels()
    return builder.build()


def _call_rule(origin: Origin) -> str:
    """Return by what a post-grad node is joined to its calls."""
    if origin.rule is Rule.REPLACED or origin.evidence is Evidence.INFERRED:
        return str(origin.rule)
    is_named = origin.calls_evidence is Evidence.MEASURED
    return "from_node" if is_named else "same line"


@define(slots=False)
class _Builder:
    """The graph while it grows."""

    facts: Attributor
    entities: dict[Ref, Entity] = field(factory=dict, init=False)
    edges: dict[tuple[Ref, Ref], Edge] = field(factory=dict, init=False)

    def build(self) -> Lineage:
        """Return the graph, with a reason at each entity that no source leads to."""
        children: dict[Ref, list[Ref]] = {}
        for edge in self.edges.values():
            children.setdefault(edge.start, []).append(edge.end)
        reached = {ref for ref in self.entities if ref.level is Level.SOURCE}
        ways = list(reached)
        while ways:
            for child in children.get(ways.pop(), ()):
                if child not in reached:
                    reached.add(child)
                    ways.append(child)
        order = {level: number for number, level in enumerate(Level)}
        entities = sorted(self.entities.values(), key=lambda e: order[e.ref.level])
        return Lineage(
            entities=tuple(
                evolve(e, missing="") if e.ref in reached else e for e in entities
            ),
            edges=tuple(
                sorted(self.edges.values(), key=lambda e: order[e.start.level])
            ),
        )

    def add_fx(self) -> None:
        """Add the FX graphs and the source lines above them."""
        index, origins = self.facts.index, self.facts.origins
        for name, node in index.pre_nodes.items():
            label = f"{name} · {packet(node.target)}"
            ref = self._add(Level.FX_PRE_GRAD, name, label, "it has no stack trace")
            for place in self._places(node.stack):
                self._edge(self._source(place), ref, Evidence.MEASURED, "stack_trace")
        for name in index.post_nodes:
            origin = origins[name]
            reason = origin.reason or "no pre-grad node has its line"
            ref = self._add(Level.FX_POST_GRAD, name, name, reason)
            rule = _call_rule(origin)
            for call in origin.calls:
                start = Ref(Level.FX_PRE_GRAD, call)
                self._edge(start, ref, origin.calls_evidence, rule)
            if not index.pre_nodes:
                for place in self.facts.node_locations(name):
                    self._edge(
                        self._source(place), ref, origin.evidence, str(origin.rule)
                    )

    def add_ir(self) -> None:
        """Add the operations before and after the passes."""
        index = self.facts.index
        for buffer, op in index.ir_pre.items():
            ref = self._add(Level.LOOP_IR_PRE, buffer, op.name, "its origins are lost")
            self._origin_edges(op.origins, ref)
        for buffer, op in index.ir_post.items():
            reason = self.facts.ir_answers[buffer].origin.reason
            ref = self._add(Level.LOOP_IR_POST, buffer, op.name, reason)
            if buffer in index.ir_pre:
                start = Ref(Level.LOOP_IR_PRE, buffer)
                self._edge(start, ref, Evidence.MEASURED, "buffer")
                self._absorbed_edges(buffer, ref)
            elif index.ir_pre:
                self._inserted_edges(buffer, ref)
            else:
                self._origin_edges(op.origins, ref)

    def add_kernels(self) -> None:
        """Add the device ops and their kernels."""
        for kernel, op, found in self._ops():
            label = f"{found.ir_op or op.spec_path} · {op.op}"
            key = f"{kernel}/{op.spec_path}"
            ref = self._add(Level.OP_SPEC, key, label, found.reason)
            index = self.facts.index
            if index.ir_post or index.ir_pre:
                last = Level.LOOP_IR_POST if index.ir_post else Level.LOOP_IR_PRE
                start = Ref(last, op.buffer or "")
                self._edge(start, ref, Evidence.MEASURED, "buffer")
            else:
                self._origin_edges(found.nodes, ref)
            end = self._add(Level.KERNEL, kernel, kernel, "no op of it has a line")
            self._edge(ref, end, Evidence.MEASURED, "kernel")

    def _ops(self) -> Iterator[tuple[str, Op, Attribution]]:
        pairs = zip(self.facts.bundle.ops, self.facts.attributions, strict=True)
        for (kernel, op), found in pairs:
            yield kernel.name, op, found

    def _origin_edges(self, names: Iterable[str], end: Ref) -> None:
        for name in names:
            if name in self.facts.index.post_nodes:
                start = Ref(Level.FX_POST_GRAD, name)
                self._edge(start, end, Evidence.MEASURED, "origins")

    def _inserted_edges(self, buffer: str, end: Ref) -> None:
        """Hang an operation that is new on those that it was made from or serves."""
        for evidence, rule, old in self._ancestors(buffer, frozenset()):
            self._edge(Ref(Level.LOOP_IR_PRE, old), end, evidence, rule)

    def _absorbed_edges(self, buffer: str, end: Ref) -> None:
        """Hang an operation on those that are gone and whose origins it has now."""
        index = self.facts.index
        gained = set(index.ir_post[buffer].origins) - set(index.ir_pre[buffer].origins)
        for old in self._computing_any(gained):
            if old not in index.ir_post:
                start = Ref(Level.LOOP_IR_PRE, old)
                self._edge(start, end, Evidence.MEASURED, "origins")

    def _computing_any(self, names: Iterable[str]) -> Iterator[str]:
        for name in sorted(names):
            yield from self._computing.get(name, ())

    def _ancestors(
        self, buffer: str, seen: frozenset[str]
    ) -> Iterator[tuple[Evidence, str, str]]:
        answer = self.facts.ir_answers[buffer]
        index = self.facts.index
        names = [node.name for node in answer.nodes]
        for rule, parents in (
            ("origins", index.post_nodes.keys() & names),
            ("from_node", computed_nodes(names, index)),
        ):
            made_from = tuple(self._computing_any(parents))
            yield from ((Evidence.MEASURED, rule, old) for old in made_from)
            if made_from:
                return
        rule = str(answer.origin.rule)
        for name in answer.serves:
            if name in self.facts.index.ir_pre:
                yield Evidence.INFERRED, rule, name
            elif name not in seen and name in self.facts.ir_answers:
                for _, _, old in self._ancestors(name, seen | {buffer}):
                    yield Evidence.INFERRED, rule, old

    @cached_property
    def _computing(self) -> Mapping[str, tuple[str, ...]]:
        """Return the buffers, before the passes, that have each FX node as origin."""
        buffers: dict[str, list[str]] = {}
        for buffer, op in self.facts.index.ir_pre.items():
            for name in op.origins:
                buffers.setdefault(name, []).append(buffer)
        return {name: tuple(found) for name, found in buffers.items()}

    def _places(self, stack: int | None) -> list[Location]:
        place = None if stack is None else self.facts.locations[stack]
        return [] if place is None else [place]

    def _source(self, place: Location) -> Ref:
        ref = Ref(Level.SOURCE, place.where)
        text = self.facts.text(place.frame)
        if ref not in self.entities:
            self.entities[ref] = Entity(ref=ref, label=text or "")
        return ref

    def _add(self, level: Level, key: str, label: str, missing: str) -> Ref:
        ref = Ref(level, key)
        reason = missing or "nothing above it has a line"
        self.entities[ref] = Entity(ref=ref, label=label, missing=reason)
        return ref

    def _edge(self, start: Ref, end: Ref, evidence: Evidence, rule: str) -> None:
        if start in self.entities:
            edge = Edge(start=start, end=end, evidence=evidence, rule=rule)
            self.edges.setdefault((start, end), edge)
