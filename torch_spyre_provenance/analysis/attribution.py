"""Every device op's lines of the model, each with evidence.

The rules for FX nodes are in `origins` (measured) and `siblings` (inferred). An op has
the lines of the nodes that it computes; one that the compiler inserted has those of the
ops that it serves, all of them, which is the business of `inserted`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from attrs import evolve, frozen

from ..model import Bundle, Evidence, Frame, FxNode, IrOp, Kernel, ModuleCall, Op, Stack
from .aten import INSERTED_BY, is_view, packet
from .frames import POLICY, FramePolicy, source_text
from .index import BundleIndex, buffer_of
from .inserted import MAX_LOCATIONS, Answer, serve_inserted
from .makers import is_made_by_compiler
from .origins import Origin, Rule, distinct, some_of
from .siblings import resolve_origins


@frozen(kw_only=True)
class Location:
    """One place in the model.

    Attributes:
        frame: The frame that stands for the stack: the user's innermost.
        stack: The whole stack, outermost frame first.
    """

    frame: Frame
    stack: Stack

    @property
    def where(self) -> str:
        """Return ``file:line``, by which locations are told apart."""
        return self.frame.where


@frozen(kw_only=True)
class Attribution:
    """What one device op is attributed to.

    Attributes:
        kernel: The kernel's name.
        path: The op's position in the kernel's tree of specs.
        op: The device's name for it.
        buffer: The buffer that it computes, or None where that is not known.
        ir_op: Name of the LoopLevelIR operation behind it, or None.
        locations: Its lines, those of its own node first; several where it serves
            several, none where `evidence` is missing.
        evidence: How the lines are known.
        rule: The rule that found them.
        reason: Why there are none, or what is open about them; "" otherwise.
        modules: The enclosing `nn.Module` calls, outermost first.
        aten_op: The ATen overload that it was lowered from, or None.
        nodes: Names of the FX nodes that it computes.
        serves: Buffers of the ops that a compiler-inserted op was inserted for.
        pass_name: The pass that inserted or rewrote it, or None.
        more_locations: Lines beyond those kept; at least that many where it serves
            inserted ops whose lines were cut off themselves.
        more_served: The same for the ops that it serves.
    """

    kernel: str
    path: tuple[int, ...]
    op: str
    buffer: str | None
    ir_op: str | None = None
    locations: tuple[Location, ...] = ()
    evidence: Evidence = Evidence.MISSING
    rule: Rule = Rule.NONE
    reason: str = ""
    modules: tuple[ModuleCall, ...] = ()
    aten_op: str | None = None
    nodes: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()
    pass_name: str | None = None
    more_locations: int = 0
    more_served: int = 0

    @property
    def module_path(self) -> str:
        """Return the path of the innermost module, "" for the root or none."""
        return self.modules[-1].path if self.modules else ""


@frozen(slots=False)
class Attributor:
    """The attribution of one bundle's ops, each part computed when it is asked for.

    Attributes:
        bundle: The bundle.
        policy: Whose frames are whose.
    """

    bundle: Bundle
    policy: FramePolicy = POLICY

    @cached_property
    def index(self) -> BundleIndex:
        """Return the bundle's look-ups."""
        return BundleIndex(self.bundle)

    @cached_property
    def origins(self) -> Mapping[str, Origin]:
        """Return the origin of every post-grad and later FX node, by name."""
        return resolve_origins(self.index)

    @cached_property
    def attributions(self) -> tuple[Attribution, ...]:
        """Return the attribution of every device op, in execution order."""
        return tuple(self._attribute(kernel, op) for kernel, op in self.bundle.ops)

    @cached_property
    def locations(self) -> tuple[Location | None, ...]:
        """Return the location of each stack; None for one of framework frames alone."""
        return tuple(self._location(stack) for stack in self.bundle.stacks)

    @cached_property
    def ir_answers(self) -> Mapping[str, Answer]:
        """Return what is known of each operation after the passes, by its buffer."""
        answers = {b: self._computed(op) for b, op in self.index.ir_post.items()}
        serve_inserted(answers, self.index, self._line)
        return answers

    def node_locations(self, name: str) -> tuple[Location, ...]:
        """Return the locations of an FX node's origin."""
        origin = self.origins.get(name)
        return self._places(origin.stacks) if origin else ()

    def ir_locations(self, buffer: str) -> tuple[Location, ...]:
        """Return the locations of the operation that writes a buffer."""
        answer = self.ir_answers.get(buffer)
        return self._places(answer.origin.stacks) if answer else ()

    def text(self, frame: Frame) -> str | None:
        """Return the source line of a frame: as its trace quotes it, or as recorded."""
        quoted = source_text(frame)
        if quoted is not None:
            return quoted
        line = self.index.source_lines.get((frame.file, frame.line))
        return line.strip() or None if line else None

    def _location(self, stack: Stack) -> Location | None:
        frame = self.policy.headline(stack)
        return None if frame is None else Location(frame=frame, stack=stack)

    def _place(self, stack: int) -> Location | None:
        return self.locations[stack] if 0 <= stack < len(self.locations) else None

    def _line(self, stack: int) -> str | None:
        place = self._place(stack)
        return place.where if place else None

    def _places(self, stacks: Iterable[int]) -> tuple[Location, ...]:
        by_line: dict[str, Location] = {}
        for place in map(self._place, stacks):
            if place is not None:
                by_line.setdefault(place.where, place)
        return tuple(by_line.values())

    def _computed(self, op: IrOp) -> Answer:
        """Give an op the lines of its nodes, be it those that a pass took from it.

        An op of the user's that lost its origins was not inserted by the compiler: it
        computes for its own line, whatever reads it.
        """
        before = self.index.lost_origins.get(op.name)
        if before is None:
            return self._own(op.origins, op)
        answer = self._own(before, op)
        if not answer.origin.stacks:
            return answer
        origin = evolve(
            answer.origin, evidence=Evidence.INFERRED, rule=Rule.BEFORE_LOSS
        )
        return evolve(answer, origin=origin)

    def _own(self, names: Iterable[str], op: IrOp | None) -> Answer:
        """Give an op the lines of the nodes that it computes.

        Views among its origins do not count: they say where an operand was reshaped.
        `origin_node` counts only as one of the origins, for a view that renames a
        buffer becomes its `origin_node` although another line made the view.
        """
        names = sorted(names)
        nodes = [node for name in names if (node := self.index.node(name))]
        computed = [node for node in nodes if not is_view(node.target)]
        if op and not computed:
            computed = [node for node in nodes if node.name == op.origin_node]
        computed = computed or nodes
        if op:
            computed.sort(key=lambda node: node.name != op.origin_node)
        origins = [self.origins[node.name] for node in computed]
        if op and not names:
            inserted = self.index.only_moves(buffer_of(op))
        else:
            inserted = len(nodes) == len(names) and all(
                is_made_by_compiler(node, self.index) for node in computed
            )
        origin = _merged(origins, computed)
        if names and not nodes:
            origin = Origin(reason="its FX nodes were not recorded")
        return Answer(origin=origin, nodes=tuple(computed), inserted=inserted)

    def _attribute(self, kernel: Kernel, op: Op) -> Attribution:
        ir_op = self.index.ir_post.get(op.buffer) if op.buffer else None
        answer = self._answer(op, ir_op)
        origin, nodes = answer.origin, answer.nodes
        places = self._places(origin.stacks)
        evidence, reason = origin.evidence, origin.reason
        if origin.stacks and not places:
            evidence, reason = Evidence.MISSING, "its stack has framework frames alone"
        more = answer.more_locations + max(0, len(places) - MAX_LOCATIONS)
        if more:
            reason = "; ".join(filter(None, (reason, f"{more} more lines")))
        return Attribution(
            kernel=kernel.name,
            path=op.path,
            op=op.op,
            buffer=op.buffer,
            ir_op=ir_op.name if ir_op else None,
            locations=places[:MAX_LOCATIONS],
            evidence=evidence,
            rule=origin.rule if places else Rule.NONE,
            reason=reason,
            modules=origin.modules,
            aten_op=_aten_op(nodes, op),
            nodes=tuple(node.name for node in nodes),
            serves=answer.serves,
            pass_name=self._pass_name(answer, op, ir_op),
            more_locations=more,
            more_served=answer.more_served,
        )

    def _pass_name(self, answer: Answer, op: Op, ir_op: IrOp | None) -> str | None:
        """Return the pass that made an op, or None.

        It is the one that was seen making it, else the one that the op's handle or node
        names, else the one that makes such nodes by convention.
        """
        if ir_op is not None and ir_op.name in self.index.created_by:
            return self.index.created_by[ir_op.name]
        if op.handle is not None and op.handle.transform_history:
            return op.handle.transform_history[-1].pass_name
        late = [n for n in answer.nodes if n.name not in self.index.post_nodes]
        for node in answer.nodes if answer.inserted else late:
            if node.from_nodes and node.from_nodes[0].pass_name:
                return node.from_nodes[0].pass_name
        if not answer.inserted:
            return None
        targets = [packet(node.target) for node in answer.nodes]
        return next((INSERTED_BY[n] for n in targets if n in INSERTED_BY), None)

    def _answer(self, op: Op, ir_op: IrOp | None) -> Answer:
        if ir_op is not None:
            return self.ir_answers[buffer_of(ir_op)]
        if op.handle is not None and len(op.handle.ir_chain) > 1:
            # The chain of a handle names the same FX nodes as the operation's origins.
            return self._own(op.handle.ir_chain[:-1], None)
        return Answer(origin=Origin(reason="no operation is known to be behind it"))


def attribute(bundle: Bundle, policy: FramePolicy = POLICY) -> tuple[Attribution, ...]:
    """Return the attribution of every device op of a bundle, in execution order.

    Args:
        bundle: The bundle.
        policy: Whose frames are whose.
    """
    return Attributor(bundle, policy).attributions


def _merged(origins: list[Origin], nodes: list[FxNode]) -> Origin:
    """Return the origin of an op that computes several nodes: all their lines."""
    if not origins:
        return Origin(reason="the compiler inserted it without an origin")
    known = [origin for origin in origins if origin.stacks]
    if not known:
        return origins[0]
    inferred = [o for o in known if o.evidence is not Evidence.MEASURED]
    lost = [n.name for o, n in zip(origins, nodes, strict=True) if not o.stacks]
    return Origin(
        stacks=distinct(stack for origin in known for stack in origin.stacks),
        modules=next((origin.modules for origin in known if origin.modules), ()),
        calls=distinct(call for origin in known for call in origin.calls),
        calls_evidence=max((o.calls_evidence for o in known), key=_DOUBT.index),
        evidence=Evidence.INFERRED if inferred else Evidence.MEASURED,
        rule=(inferred or known)[0].rule,
        reason=f"nothing is known of {some_of(lost)}" if lost else "",
    )


_DOUBT = (Evidence.MEASURED, Evidence.INFERRED, Evidence.MISSING)


def _aten_op(nodes: tuple[FxNode, ...], op: Op) -> str | None:
    for node in nodes:
        if node.original_aten is not None:
            return node.original_aten
    return op.handle.aten_op if op.handle else None
