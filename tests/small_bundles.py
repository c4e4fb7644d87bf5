"""Hypothesis strategy for bundles whose parts hang together, and some that do not.

A program is drawn stage by stage as a compiler makes it: each stage is made from the
one before it and loses some of what that one knew.
"""

from __future__ import annotations

from attrs import evolve
from bundle_factory import bundle, fx, handle, ir, kernel, line, spec, step
from hypothesis import strategies as st

from torch_spyre_provenance.model import Bundle, FxNode, IrOp, Op, Replacement, Stack

FILES = ("/u/model.py", "/u/torch/net.py", "/v/lib/python3.11/site-packages/hf/m.py")
CALLS = ("relu", "torch._C._nn.linear", "_operator.add", "_operator.matmul", "dropout")
ATEN = ("relu", "addmm", "mm", "add", "permute", "clone")
INSERTED = ("spyre.restickify.default", "spyre.constant.default", "aten.clone.default")


def some(draw: st.DrawFn, names: list[str], most: int = 2) -> tuple[str, ...]:
    """Draw a few of some names."""
    if not names:
        return ()
    return tuple(draw(st.lists(st.sampled_from(names), max_size=most, unique=True)))


def one(draw: st.DrawFn, names: list[str]) -> tuple[str, ...]:
    """Draw one of some names, or none."""
    return some(draw, names, most=1)


def index(draw: st.DrawFn, size: int) -> int | None:
    """Draw an index, or None."""
    return draw(st.none() | st.integers(0, size - 1))


def stacks(draw: st.DrawFn) -> tuple[Stack, ...]:
    """Draw distinct stacks of one or two frames."""
    frames = st.tuples(st.sampled_from(FILES), st.integers(1, 4))
    traces = draw(st.lists(st.lists(frames, min_size=1, max_size=2), min_size=1))
    made = [
        tuple(frame for file, number in trace for frame in line(number, file=file))
        for trace in traces
    ]
    return tuple(dict.fromkeys(made))


def pre_grad(draw: st.DrawFn, n_stacks: int) -> list[FxNode]:
    """Draw Dynamo's nodes."""
    nodes: list[FxNode] = []
    for number in range(draw(st.integers(0, 5))):
        names = [node.name for node in nodes]
        target = draw(st.sampled_from(CALLS))
        inputs = some(draw, names)
        stack = index(draw, n_stacks)
        nodes.append(fx(f"c{number}", target, *inputs, stack=stack, module="m"))
    return nodes


def post_grad(draw: st.DrawFn, calls: list[FxNode], n_stacks: int) -> list[FxNode]:
    """Draw the nodes that calls are lowered to; some lose what led to their call."""
    nodes: list[FxNode] = []
    for number in range(draw(st.integers(0, 6))):
        names = [node.name for node in nodes]
        call = draw(st.sampled_from(calls)) if calls else None
        keeps_trace, keeps_history = draw(st.booleans()), draw(st.booleans())
        made_from = draw(st.none() | st.sampled_from(ATEN))
        nodes.append(
            fx(
                f"p{number}",
                f"aten.{draw(st.sampled_from(ATEN))}.default",
                *some(draw, names),
                stack=(call.stack if call else index(draw, n_stacks))
                if keeps_trace
                else None,
                aten=made_from and f"aten.{made_from}.default",
                came_from=(call.name,) if call and keeps_history else (),
            )
        )
    return nodes


def replacements(
    draw: st.DrawFn, nodes: list[FxNode], calls: list[FxNode], n_stacks: int
) -> tuple[Replacement, ...]:
    """Draw what some nodes took the place of."""
    names = [call.name for call in calls]
    return tuple(
        Replacement(
            new=node.name,
            old=f"old{draw(st.integers(0, 2))}",
            direct=draw(st.booleans()),
            sources=tuple(sorted(some(draw, names))),
            stack=index(draw, n_stacks),
        )
        for node in nodes
        if draw(st.booleans())
    )


def loop_ir(draw: st.DrawFn, nodes: list[FxNode]) -> list[IrOp]:
    """Draw the operations that nodes are lowered to."""
    names = [node.name for node in nodes]
    n_ops = draw(st.integers(0, 5))
    ops: list[IrOp] = []
    for number in range(n_ops):
        reads = some(draw, [f"buf{n}" for n in range(number)])
        origins = some(draw, names, most=4)
        op = ir(number, *origins, reads=tuple(sorted(reads)))
        node = draw(st.sampled_from((op.origin_node, None)))
        ops.append(evolve(op, origin_node=node))
    return ops


def after_passes(
    draw: st.DrawFn, before: list[IrOp], nodes: list[FxNode]
) -> tuple[list[IrOp], list[FxNode]]:
    """Draw what passes make of operations: some removed, robbed, and some inserted."""
    kept = [op for op in before if draw(st.integers(0, 5))]
    robbed = [evolve(op, origins=op.origins[draw(st.integers(0, 2)) :]) for op in kept]
    later: list[FxNode] = []
    for number in range(draw(st.integers(0, 3))):
        target = draw(st.sampled_from(INSERTED))
        parents = one(draw, [node.name for node in nodes])
        history = [step(name, pass_name="a_pass") for name in parents]
        later.append(fx(f"n{number}", target, came_from=history))
        place = draw(st.integers(0, len(robbed)))
        read = one(draw, [op.buffer or "" for op in robbed[:place]])
        made = ir(10 + number, later[-1].name, reads=read)
        robbed[place:] = [
            evolve(op, reads=tuple(sorted({*op.reads, made.buffer})))
            if draw(st.booleans())
            else op
            for op in robbed[place:]
        ]
        robbed.insert(place, made)
    return robbed, later


def device_op(draw: st.DrawFn, op: IrOp) -> Op:
    """Draw the device op of an operation, with or without a handle of its own."""
    own = handle(*op.origins, op.buffer, start_line=draw(st.none() | st.just(1)))
    return spec(int(op.name[2:]), handle=draw(st.none() | st.just(own)))


@st.composite
def small_bundles(draw: st.DrawFn) -> Bundle:
    """Draw a bundle of a small program; any stage may not have been recorded."""
    traces = stacks(draw)
    calls = pre_grad(draw, len(traces))
    nodes = post_grad(draw, calls, len(traces))
    before = loop_ir(draw, nodes)
    after, later = after_passes(draw, before, nodes)
    ops = [device_op(draw, op) for op in after]
    cut = draw(st.integers(0, len(ops)))
    value = bundle(
        stacks=traces,
        pre=tuple(calls),
        post=tuple(nodes),
        replacements=replacements(draw, nodes, calls, len(traces)),
        ir_pre=tuple(before),
        ir_post=tuple(after),
        later=tuple(later),
        kernels=tuple(
            kernel(*part, name=f"k{n}")
            for n, part in enumerate((ops[:cut], ops[cut:]))
            if part
        ),
    )
    stages = ("fx_pre_grad", "fx_post_grad", "loop_ir_pre", "loop_ir_post")
    lost = draw(st.sets(st.sampled_from(stages), max_size=2))
    return evolve(value, **dict.fromkeys(lost)) if draw(st.booleans()) else value
