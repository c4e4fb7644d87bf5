"""What it costs to attribute the ops of a bundle, by the bundle's size.

    python -m benchmarks.attribution_cost 1000 10000

prints, for each shape of a program and each number of ops, the processor time of the
attribution and of the lineage, in seconds, and how much longer the largest bundle takes
than one that is ten times smaller. No torch is involved.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Sequence

from torch_spyre_provenance.analysis.attribution import Attributor
from torch_spyre_provenance.analysis.lineage import build_lineage
from torch_spyre_provenance.model import (
    Bundle,
    CacheState,
    CompileInfo,
    CompileKind,
    Frame,
    FromNode,
    FxGraph,
    FxNode,
    IrGraph,
    IrOp,
    Kernel,
    Op,
    RunFacts,
)

Parts = tuple[list[FxNode], list[FxNode], list[FxNode], list[IrOp]]
"""Pre-grad nodes, post-grad nodes, nodes made later, and operations."""


def layers(n_ops: int) -> Parts:
    """Linear layers, split in two; of every other one both halves lost their trace."""
    pre, post, ops = [], [], []
    for number in range(n_ops // 2):
        call, half, whole = f"call_{number}", f"mm_{number}", f"add_{number}"
        knows = number % 2 == 0
        before = f"add_{number - 1}"
        reads = (f"call_{number - 1}", f"w_{number}", f"b_{number}")
        pre.append(_node(call, "torch._C._nn.linear", *reads, stack=number))
        post.append(_node(half, "aten.mm.default", before, aten="addmm"))
        post.append(
            _node(
                whole,
                "aten.add.Tensor",
                half,
                aten="linear" if knows else "addmm",
                stack=number if knows else None,
                call=call if knows else None,
            )
        )
        ops.append(_op(2 * number, half, f"buf{2 * number - 1}"))
        ops.append(_op(2 * number + 1, whole, f"buf{2 * number}"))
    return pre, post, [], ops


def lost(n_ops: int) -> Parts:
    """The same with no trace left anywhere: every rule is tried, and none fits."""
    pre, post, later, ops = layers(n_ops)
    bare = [_node(n.name, n.target, *n.inputs, aten="addmm") for n in post]
    return pre, bare, later, ops


def constant(n_ops: int) -> Parts:
    """One constant that the ops of all lines read."""
    pre, post, _, ops = _lines(n_ops - 1)
    made = _node("constant", "spyre.constant.default")
    reading = [_op(n, f"relu_{n}", f"buf{n_ops}") for n in range(len(ops))]
    return pre, post, [made], [_op(n_ops, made.name), *reading]


def copies(n_ops: int) -> Parts:
    """A chain of copies, as long as there are ops that read the last of them."""
    half = n_ops // 2
    pre, post, _, ops = _lines(half)
    chain = range(half, 2 * half)
    later = [_node(f"copy_{n}", "spyre.restickify.default") for n in chain]
    made = [_op(n, f"copy_{n}", f"buf{n - 1}") for n in chain]
    reading = [_op(n, f"relu_{n}", f"buf{2 * half - 1}") for n in range(len(ops))]
    return pre, post, later, [*made, *reading]


SHAPES: dict[str, Callable[[int], Parts]] = {
    shape.__name__: shape for shape in (layers, lost, constant, copies)
}
"""Every shape by name."""


def bundle_of(shape: str, n_ops: int) -> Bundle:
    """Return a bundle of one shape with about this many device ops."""
    pre, post, later, ops = SHAPES[shape](n_ops)
    specs = tuple(
        Op(
            path=(number,),
            op="op",
            is_reduction=False,
            iteration_space=(),
            args=(),
            buffer=op.buffer,
        )
        for number, op in enumerate(ops)
    )
    return Bundle(
        compile=CompileInfo(
            graph="0_inference", kind=CompileKind.INFERENCE, front_end=None
        ),
        stacks=tuple(
            (Frame(file=f"/models/part_{n // 500}.py", line=n % 500, function="f"),)
            for n in range(n_ops)
        ),
        fx_pre_grad=FxGraph(nodes=tuple(pre)),
        fx_post_grad=FxGraph(nodes=tuple(post)),
        loop_ir_pre=IrGraph(ops=tuple(op for op in ops if op.origins)),
        loop_ir_post=IrGraph(ops=tuple(ops), nodes=tuple(later)),
        kernels=(Kernel(name="kernel", ops=specs, ir_ops=(), origins=()),),
        run=RunFacts(
            name="", compile_id=None, cache=CacheState.MISS, time="", host="", pid=0
        ),
    )


def measure(value: Bundle) -> tuple[float, float]:
    """Return the processor seconds of a bundle's attribution and of its lineage."""
    facts = Attributor(value)
    start = time.process_time()
    facts.attributions  # noqa: B018  computed when it is first asked for
    middle = time.process_time()
    build_lineage(facts)
    return middle - start, time.process_time() - middle


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ops", nargs="*", type=int, default=[1_000, 10_000])
    sizes = sorted(parser.parse_args(arguments).ops)
    print(f"{'shape':<10}{'ops':>8}{'attribution':>13}{'lineage':>10}{'us/op':>8}")
    for shape in SHAPES:
        for line in _rows(shape, sizes):
            print(line)


def _rows(shape: str, sizes: Iterable[int]) -> Iterable[str]:
    for size in sizes:
        value = bundle_of(shape, size)
        n_ops = len(value.ops)
        attribution, lineage = measure(value)
        per_op = 1e6 * attribution / n_ops
        yield f"{shape:<10}{n_ops:>8}{attribution:>13.3f}{lineage:>10.3f}{per_op:>8.1f}"


def _lines(n_ops: int) -> Parts:
    """Ops of one line each, which read nothing."""
    names = range(n_ops)
    pre = [_node(f"call_{n}", "torch.relu", stack=n) for n in names]
    post = [
        _node(f"relu_{n}", "aten.relu.default", stack=n, aten="relu", call=f"call_{n}")
        for n in names
    ]
    return pre, post, [], [_op(n, f"relu_{n}") for n in names]


def _node(
    name: str,
    target: str,
    *inputs: str,
    stack: int | None = None,
    aten: str | None = None,
    call: str | None = None,
) -> FxNode:
    step = FromNode(name=call or "", target="", pass_name="", action="", depth=0)
    return FxNode(
        name=name,
        op="call_function",
        target=target,
        inputs=inputs,
        fields=(),
        meta_keys=(),
        stack=stack,
        original_aten=None if aten is None else f"aten.{aten}.default",
        from_nodes=() if call is None else (step,),
    )


def _op(number: int, origin: str, *reads: str) -> IrOp:
    return IrOp(
        name=f"op{number}",
        buffer=f"buf{number}",
        type="ComputedBuffer",
        origins=(origin,),
        origin_node=origin,
        fields=(),
        attributes=(),
        reads=reads,
    )


if __name__ == "__main__":
    main()
