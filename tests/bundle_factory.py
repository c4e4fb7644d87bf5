"""Small bundles made by hand, and the recorded ones."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from torch_spyre_provenance.model import (
    FX_FIELDS,
    IR_FIELDS,
    Bundle,
    CacheState,
    CompileInfo,
    CompileKind,
    DebugHandle,
    Field,
    Frame,
    FromNode,
    FxGraph,
    FxNode,
    IrGraph,
    IrOp,
    Kernel,
    KernelFiles,
    ModuleCall,
    Observation,
    Op,
    Presence,
    Replacement,
    RunFacts,
    SdscFile,
    SourceFn,
    SourceLoc,
    Stack,
    Stage,
    handle_id,
)
from torch_spyre_provenance.store import read_bundle

BUNDLES = Path(__file__).parent / "bundles"
GOLDENS = Path(__file__).parent / "goldens"
RECORDED = tuple(sorted(path.stem for path in BUNDLES.glob("*_torch*.json")))
FILE = "/models/model.py"
KERNEL = "sdsc_fused_0"


def recorded(name: str) -> Bundle:
    """Return a bundle that was recorded: ``simple_mlp_torch2.13``."""
    return read_bundle(BUNDLES / f"{name}.json")


def line(number: int, text: str | None = None, file: str = FILE) -> Stack:
    """Return a stack of one frame."""
    quoted = f"line {number}" if text is None else text
    return (Frame(file=file, line=number, function="forward", text=quoted),)


def lines(*numbers: int) -> tuple[Stack, ...]:
    """Return one stack for each line; stack 0 is of the first."""
    return tuple(line(number) for number in numbers)


def fx(  # noqa: PLR0913  a node has that many parts
    name: str,
    target: str,
    *inputs: str,
    stack: int | None = None,
    aten: str | None = None,
    came_from: Iterable[str | FromNode] = (),
    source_fn: str | None = None,
    module: str | None = None,
) -> FxNode:
    """Return an FX node; its findings follow from what it has."""
    history = tuple(step(s) if isinstance(s, str) else s for s in came_from)
    has = {
        "stack_trace": stack is not None,
        "nn_module_stack": module is not None,
        "source_fn_stack": source_fn is not None,
        "original_aten": aten is not None,
        "from_node": bool(history),
    }
    return FxNode(
        name=name,
        op="call_function",
        target=target,
        inputs=inputs,
        fields=tuple(found(field, has[field]) for field in FX_FIELDS),
        meta_keys=tuple(sorted(key for key in FX_FIELDS if has[key])),
        stack=stack,
        modules=() if module is None else (ModuleCall(path=module, type="nn.Linear"),),
        source_fns=()
        if source_fn is None
        else (SourceFn(name=source_fn, target="linear"),),
        original_aten=aten,
        from_nodes=history,
    )


def step(name: str, depth: int = 0, pass_name: str = "") -> FromNode:
    """Return one step of a node's history."""
    return FromNode(
        name=name, target="", pass_name=pass_name, action="create", depth=depth
    )


def found(name: str, is_there: bool) -> Field:  # noqa: FBT001  the finding itself
    """Return a finding."""
    presence = Presence.POPULATED if is_there else Presence.ABSENT
    return Field(name=name, presence=presence, type="str" if is_there else None)


def ir(
    number: int,
    *origins: str,
    reads: tuple[str, ...] = (),
    origin_node: str | None = "",
    kernel: str | None = None,
) -> IrOp:
    """Return the operation ``op<number>``; its first origin is its origin node."""
    if origin_node == "":
        origin_node = origins[0] if origins else None
    has = (bool(origins), origin_node is not None, False, False)
    return IrOp(
        name=f"op{number}",
        buffer=f"buf{number}",
        type="ComputedBuffer",
        origins=tuple(sorted(origins)),
        origin_node=origin_node,
        fields=tuple(map(found, IR_FIELDS, has)),
        attributes=("data", "layout"),
        reads=reads,
        kernel=kernel,
    )


def handle(*chain: str, start_line: int | None = None) -> DebugHandle:
    """Return a handle with the id that its content gives."""
    source = None
    if start_line is not None:
        source = SourceLoc(file=FILE, start_line=start_line)
    return DebugHandle(
        id=handle_id(source, None, chain), source=source, aten_op=None, ir_chain=chain
    )


def spec(number: int, op: str = "add", handle: DebugHandle | None = None) -> Op:
    """Return the device op that computes ``buf<number>``."""
    has_one = handle is not None
    return Op(
        path=(number,),
        op=op,
        is_reduction=False,
        iteration_space=(),
        args=(),
        buffer=f"buf{number}",
        handle=handle,
        fields=(found("debug_handle", has_one),),
    )


def kernel(*ops: Op, name: str = KERNEL) -> Kernel:
    """Return a kernel of some ops."""
    return Kernel(
        name=name, ops=ops, ir_ops=tuple(f"op{op.path[0]}" for op in ops), origins=()
    )


def sdsc(number: int, handle: DebugHandle | None = None) -> SdscFile:
    """Return ``sdsc_<number>.json`` with a handle or with null."""
    presence = Presence.EMPTY if handle is None else Presence.POPULATED
    return SdscFile(
        name=f"sdsc_{number}.json",
        op_key=f"{number}_add",
        sha256="0" * 64,
        handle_presence=presence,
        handle=handle,
    )


def run_facts(name: str = "0_inference", *files: KernelFiles) -> RunFacts:
    """Return the facts of an imaginary run."""
    return RunFacts(
        name=name,
        compile_id="0/0",
        cache=CacheState.MISS,
        time="2026-08-01T12:00:00+00:00",
        host="laptop",
        pid=4711,
        files=files,
    )


def bundle(  # noqa: PLR0913  and so does a bundle
    *,
    stacks: tuple[Stack, ...] = (),
    pre: tuple[FxNode, ...] | None = (),
    post: tuple[FxNode, ...] | None = (),
    ir_pre: tuple[IrOp, ...] | None = None,
    ir_post: tuple[IrOp, ...] | None = None,
    later: tuple[FxNode, ...] = (),
    kernels: tuple[Kernel, ...] | None = None,
    replacements: tuple[Replacement, ...] = (),
    observations: tuple[Observation, ...] = (),
    run: RunFacts | None = None,
) -> Bundle:
    """Return a bundle of these parts.

    Without `ir_pre`, the IR before the passes is the IR after them; without `kernels`,
    one kernel computes every operation.
    """
    ir_pre = ir_post if ir_pre is None else ir_pre
    if kernels is None and ir_post is not None:
        kernels = (kernel(*(spec(int(op.name[2:])) for op in ir_post)),)
    return Bundle(
        compile=CompileInfo(
            graph="0_inference",
            kind=CompileKind.INFERENCE,
            front_end="reference",
            devices=("spyre",),
        ),
        stacks=stacks,
        fx_pre_grad=None if pre is None else FxGraph(nodes=pre),
        fx_post_grad=None if post is None else FxGraph(nodes=post),
        replacements=replacements,
        loop_ir_pre=None if ir_pre is None else IrGraph(ops=ir_pre),
        loop_ir_post=None if ir_post is None else IrGraph(ops=ir_post, nodes=later),
        kernels=kernels,
        observations=observations
        or (Observation(point="wrapper_create", stage=Stage.LOOP_IR_PRE, fired=1),),
        run=run or run_facts(),
    )
