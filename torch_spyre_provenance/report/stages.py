"""The report's tables, one for each stage of the compile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..analysis.attribution import Attribution
from ..analysis.rewrites import Rewrite, find_rewrites
from ..analysis.sdsc import LinkState, link_files
from ..model import (
    FX_FIELDS,
    IR_FIELDS,
    DebugHandle,
    Evidence,
    FxNode,
    IrOp,
    Loss,
    Op,
    Presence,
    SourceLoc,
    Stage,
)
from .escape import EMPTY, code
from .page import DROPPED, Page, finding, names, table

_TRACKED = {
    "stack_trace": "user source file:line",
    "nn_module_stack": "owning nn.Module path",
    "source_fn_stack": "source function that produced it",
    "original_aten": "ATen op it was lowered from",
    "from_node": "nodes and passes it came through",
    "origins": "FX nodes lowered into this buffer",
    "origin_node": "the one FX node that stands for it",
    "traceback": "trace of the IR node's creation",
    "get_stack_traces": "source lines derived from origins",
}


def pre_grad(page: Page) -> Iterator[str]:
    """Yield the section of the graph that Dynamo traced."""
    yield from _fx_section(
        page,
        Stage.FX_PRE_GRAD,
        "Stage 2a — FX Graph (pre-grad)",
        "Dynamo traces the model; each node still carries its Python-source metadata.",
    )


def post_grad(page: Page) -> Iterator[str]:
    """Yield the section of the graph that is lowered."""
    yield from _fx_section(
        page,
        Stage.FX_POST_GRAD,
        "Stage 2b — FX Graph (post-grad)",
        "AOTAutograd and Inductor lower and decompose the graph; nodes that passes "
        "make keep part of the metadata. A line in *italics* is not in the node's own "
        "metadata: the rule beside it found it.",
    )


def loop_ir_pre(page: Page) -> Iterator[str]:
    """Yield the section of the IR before the front end's passes."""
    yield from _ir_section(
        page,
        Stage.LOOP_IR_PRE,
        "Stage 3 — LoopLevelIR (pre-pass)",
        "FX nodes are lowered into LoopLevelIR, which enters the Spyre passes.",
    )


def loop_ir_post(page: Page) -> Iterator[str]:
    """Yield the section of the IR after the front end's passes."""
    yield from _ir_section(
        page,
        Stage.LOOP_IR_POST,
        "Stage 4 — LoopLevelIR (post-pass)",
        "The same IR after the pre-scheduling passes changed it in place.",
    )
    yield from _passes(page)


def op_specs(page: Page) -> Iterator[str]:
    """Yield the section of the device ops."""
    bundle = page.bundle
    if bundle.kernels is None:
        yield from _unrecorded(page, Stage.OP_SPEC, "Stage 5 — OpSpec")
        return
    yield f"## Stage 5 — OpSpec: {_count(len(bundle.ops), 'op')}"
    yield ""
    yield (
        "Each scheduled buffer becomes an OpSpec, the device op. `origins` and "
        "`origin_node` are those of its buffer; the `debug_handle` is the front end's "
        "own; the source line is this audit's attribution."
    )
    yield ""
    yield f"OpSpec declared fields: {names(bundle.op_spec_fields)}."
    yield ""
    header = (
        "Kernel",
        "Spec",
        "Spyre op",
        "buffer",
        "`origins`",
        "`origin_node`",
        "`debug_handle` id",
        "source line",
        "evidence",
        "module",
    )
    rows = zip(bundle.ops, page.facts.attributions, strict=True)
    yield from table(header, (_op_row(page, op, found) for (_, op), found in rows))


def super_dsc(page: Page) -> Iterator[str]:
    """Yield the section of the ``sdsc_N.json`` files."""
    bundle = page.bundle
    files = [(each.kernel, file) for each in bundle.run.files for file in each.sdsc]
    title = f"Stage 6 — SuperDSC: {len(files)} `sdsc_*.json` files"
    yield f"## {title} ({_count(len(bundle.kernels or ()), 'kernel')})"
    yield ""
    if not files:
        yield page.why_unrecorded(Stage.SUPER_DSC)
        yield ""
        return
    present = [f for _, f in files if f.handle_presence is not Presence.ABSENT]
    full = [f for f in present if f.handle_presence is Presence.POPULATED]
    yield (
        "Each OpSpec is serialised to a `sdsc_*.json`; the front end's handle travels "
        "with it under `debug_handle_`. *shared*: several ops run the file, which can "
        "name one of them only. *stale*: the handle is another compile's."
    )
    yield ""
    yield (
        f"`debug_handle_` present in {len(present)}/{len(files)} files, "
        f"non-null in {len(full)}/{len(files)}."
    )
    yield ""
    states: dict[tuple[str, str], LinkState] = {}
    for link in link_files(bundle):
        if link.file is not None:
            states[link.kernel, link.file.name] = link.state
    header = (
        "Kernel",
        "`sdsc_*.json`",
        "Spyre op",
        "`aten_op`",
        "source line",
        "`fused_from`",
        "`debug_handle` id",
        "link",
    )
    yield from table(
        header,
        (
            [
                code(kernel),
                code(file.name),
                code(file.op_key),
                *_handle_cells(page, file.handle),
                str(states.get((kernel, file.name), LinkState.UNKNOWN)),
            ]
            for kernel, file in files
        ),
    )
    yield (
        "`fused_from` lists the ATen ops of the handle's constituents. The source line "
        "here is the one in the file: `—` means that the handle names an ATen op only. "
        "Stage 5 has the line that this audit attributes."
    )
    yield ""


def _unrecorded(page: Page, stage: Stage, title: str) -> Iterator[str]:
    yield f"## {title}: not recorded"
    yield ""
    yield page.why_unrecorded(stage)
    yield ""


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


def _tracked(fields: Iterable[str]) -> str:
    return f"Tracked fields: {', '.join(f'`{n}` ({_TRACKED[n]})' for n in fields)}."


def _fx_section(page: Page, stage: Stage, title: str, text: str) -> Iterator[str]:
    bundle = page.bundle
    graph = bundle.fx_pre_grad if stage is Stage.FX_PRE_GRAD else bundle.fx_post_grad
    if graph is None:
        yield from _unrecorded(page, stage, title)
        return
    yield f"## {title}: {_count(len(graph.nodes), 'compute node')}"
    yield ""
    yield text
    yield ""
    yield _tracked(FX_FIELDS)
    yield ""
    keys = sorted({key for node in graph.nodes for key in node.meta_keys})
    yield f"All observed node.meta keys: {names(keys)}."
    yield ""
    header = ("Node", "target", *(f"`{name}`" for name in FX_FIELDS), "source line")
    yield from table(header, (_fx_row(page, node) for node in graph.nodes))


def _fx_row(page: Page, node: FxNode) -> list[str]:
    found = {field.name: field for field in node.fields}
    return [
        code(node.name),
        code(node.target),
        *(finding(found.get(name), typed=True) for name in FX_FIELDS),
        _node_line(page, node.name, node.stack),
    ]


def _node_line(page: Page, name: str, stack: int | None) -> str:
    if stack is not None:
        place = page.facts.locations[stack]
        return page.place(place) if place else EMPTY
    places = page.facts.node_locations(name)
    if not places:
        return EMPTY
    rule = page.facts.origins[name].rule
    return f"*{page.places(places)}* ({rule})"


def _ir_section(page: Page, stage: Stage, title: str, text: str) -> Iterator[str]:
    bundle = page.bundle
    graph = bundle.loop_ir_pre if stage is Stage.LOOP_IR_PRE else bundle.loop_ir_post
    if graph is None:
        yield from _unrecorded(page, stage, title)
        return
    yield f"## {title}: {_count(len(graph.ops), 'operation')}"
    yield ""
    yield text
    yield ""
    yield _tracked(IR_FIELDS)
    yield ""
    attributes = sorted({name for op in graph.ops for name in op.attributes})
    yield f"All observed attributes: {names(attributes)}."
    yield ""
    header = ("Op", "type", "reads", *(f"`{name}`" for name in IR_FIELDS))
    yield from table(header, (_ir_row(op) for op in graph.ops))


def _passes(page: Page) -> Iterator[str]:
    """Yield what each pass between the two IR stages did."""
    steps = page.bundle.passes
    if steps is None:
        return
    yield "### Passes"
    yield ""
    if not steps:
        yield "Each pass was observed; none made, removed or rebuilt an operation."
        yield ""
        return
    yield "The passes that changed operations, and the provenance that got lost there."
    yield ""
    header = ("Pass", "made", "removed", "rebuilt", "lost")
    rows = (
        [
            code(step.name),
            names(made.op for made in step.created),
            names(step.removed),
            names(step.rebuilt),
            "<br>".join(_loss(loss) for loss in step.losses) or EMPTY,
        ]
        for step in steps
    )
    yield from table(header, rows)
    rewrites = find_rewrites(page.bundle)
    if rewrites:
        yield "What became of what: operations that a pass made of others."
        yield ""
        yield from table(("Pass", "shape", "of", "made"), map(_rewrite, rewrites))


def _rewrite(rewrite: Rewrite) -> list[str]:
    old, new = names(rewrite.old), names(rewrite.new)
    return [code(rewrite.pass_name), rewrite.shape, old, new]


def _loss(loss: Loss) -> str:
    gone = sorted(set(loss.before) - set(loss.after))
    return f"**{code(loss.op)}** {code(loss.what)}: {names(gone)}"


def _ir_row(op: IrOp) -> list[str]:
    found = {field.name: field for field in op.fields}
    kind = code(op.type) + (f" → {code(op.kernel)}" if op.kernel else "")
    return [
        code(op.name),
        kind,
        names(op.reads),
        names(op.origins) if op.origins else DROPPED,
        code(op.origin_node) if op.origin_node else DROPPED,
        finding(found.get("traceback"), typed=False),
        finding(found.get("get_stack_traces"), typed=False),
    ]


def _op_row(page: Page, op: Op, found: Attribution) -> list[str]:
    ir_op = page.facts.index.ir_post.get(op.buffer) if op.buffer else None
    loops = f" in loops of {code(op.trips)}" if op.loops else ""
    return [
        code(found.kernel),
        code(op.spec_path) + loops,
        code(op.op),
        code(found.ir_op or op.buffer),
        names(ir_op.origins) if ir_op else EMPTY,
        code(ir_op.origin_node) if ir_op else EMPTY,
        code(str(op.handle.id)) if op.handle else EMPTY,
        page.places(found.locations),
        evidence(found),
        code(found.module_path),
    ]


def evidence(found: Attribution) -> str:
    """Return a cell that says how an op's lines are known."""
    if found.evidence is Evidence.MISSING:
        return f"**missing**: {code(found.reason, 400)}"
    more = f" and {found.more_served} more" if found.more_served else ""
    served = f", for {names(found.serves)}{more}" if found.serves else ""
    made_by = f", by {code(found.pass_name)}" if found.pass_name else ""
    open_point = f"; {code(found.reason, 400)}" if found.reason else ""
    return f"{found.evidence} ({found.rule}{served}{made_by}){open_point}"


def _handle_cells(page: Page, handle: DebugHandle | None) -> list[str]:
    if handle is None:
        return [EMPTY] * 4
    parts = [part.aten_op for part in handle.fused_from if part.aten_op]
    return [
        code(handle.aten_op),
        _source(page, handle.source),
        names(parts),
        code(str(handle.id)),
    ]


def _source(page: Page, source: SourceLoc | None) -> str:
    return code(page.paths.where(source.file, source.start_line)) if source else EMPTY
