"""The report of one compile as Markdown, from its bundle alone."""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.agreement import compare_handles
from ..analysis.attribution import Attributor
from ..analysis.coverage import measure_coverage
from ..analysis.lineage import build_lineage
from ..analysis.matrix import CellState, build_matrix
from ..model import (
    Bundle,
    Evidence,
    Kernel,
    KernelFiles,
    Presence,
    Redaction,
    Stage,
    spec_path_text,
)
from . import mermaid, stages
from .escape import EMPTY, code
from .page import REPLACED, Page, names, table, why_silent


def render(bundle: Bundle) -> str:
    """Return the report of a bundle.

    The same bundle gives the same text.

    Args:
        bundle: The bundle.
    """
    return render_facts(Attributor(bundle))


def render_facts(facts: Attributor) -> str:
    """Return the report of a bundle whose attribution may be at hand already."""
    page = Page(facts)
    sections = (
        _title,
        _observations,
        _attribution,
        _lineage,
        _matrix,
        stages.pre_grad,
        stages.post_grad,
        stages.loop_ir_pre,
        stages.loop_ir_post,
        stages.op_specs,
        stages.super_dsc,
        _kernels,
    )
    return "\n".join(line for section in sections for line in section(page)) + "\n"


def _title(page: Page) -> Iterator[str]:
    info, run = page.bundle.compile, page.bundle.run
    yield f"# Source-to-Kernel Provenance: {code(run.name or info.graph)}"
    yield ""
    facts = [
        f"graph {code(info.graph)} ({info.kind})",
        f"front end {code(info.front_end)}" if info.front_end else "no Spyre front end",
        f"devices {names(info.devices)}",
        f"compile id {code(run.compile_id)}",
        f"cache {run.cache}",
    ]
    yield " · ".join(facts)
    yield ""
    if page.bundle.redaction is not Redaction.NONE:
        yield f"**Redacted ({page.bundle.redaction})**: {REPLACED}."
        yield ""
    if info.error:
        yield f"**The compile failed**: {code(info.error, 600)}"
        yield ""
    if info.front_end is None:
        yield "The graph has no Spyre tensor, so there are no device kernels."
        yield ""
    yield (
        "Every table is computed from the recorded objects of this compile. The report "
        "quotes model source."
    )
    yield ""


def _observations(page: Page) -> Iterator[str]:
    yield "## Observations"
    yield ""
    yield (
        "Each point at which the compile was observed: how often it fired, and how "
        "often looking failed."
    )
    yield ""
    counts = page.bundle.counts()
    points = page.bundle.all_observations
    header = ("Point", "stage", "fired", "failed", "note")
    rows = (
        [
            code(each.point),
            each.stage.label if each.stage else EMPTY,
            str(each.fired),
            f"**{each.failed}**" if each.failed else "0",
            why_silent(each) or EMPTY,
        ]
        for each in points
    )
    yield from table(header, rows)
    yield from table(
        (stage.label for stage in Stage), [[str(counts[stage]) for stage in Stage]]
    )


_MOST_LISTED = 50


def _attribution(page: Page) -> Iterator[str]:
    found = page.facts.attributions
    counts = measure_coverage(found)
    yield "## Attribution"
    yield ""
    if not counts.total:
        yield "There are no device ops."
        yield ""
        return
    yield (
        f"**{counts.attributed} of {counts.total}** device ops have their line: "
        f"{counts.measured} measured, {counts.inferred} inferred, "
        f"{counts.missing} missing."
    )
    yield ""
    yield from table(
        ("Rule", "goes by", "ops"),
        ([code(rule), rule.meaning, str(number)] for rule, number in counts.rules),
    )
    missing = [op for op in found if op.evidence is Evidence.MISSING]
    for op in missing[:_MOST_LISTED]:
        path = spec_path_text(op.path)
        yield f"- {code(op.kernel)} {code(path)} {code(op.op)}: {code(op.reason, 400)}"
    if len(missing) > _MOST_LISTED:
        yield f"- and {len(missing) - _MOST_LISTED} more"
    yield from [""] if missing else []
    yield from _agreement(page)
    files = {place.frame.file for op in found for place in op.locations}
    if files:
        shorts = ((code(page.paths.of(f)), code(f, 1000)) for f in sorted(files))
        yield from table(("File", "path"), (list(pair) for pair in shorts))


def _agreement(page: Page) -> Iterator[str]:
    """Yield how the front end's own handles compare with the attribution."""
    ops = (op for _, op in page.bundle.ops)
    found = compare_handles(zip(ops, page.facts.attributions, strict=True))
    yield (
        f"The front end's own `debug_handle` gives the same line to {found.agree} ops, "
        f"another line to {len(found.differ)}, and none to "
        f"{found.only_ours + found.neither}."
    )
    yield ""
    if not found.differ:
        return
    rows = (
        [
            code(each.ours.kernel),
            code(spec_path_text(each.ours.path)),
            code(each.ours.op),
            page.places(each.ours.locations),
            stages.evidence(each.ours),
            code(page.paths.where(each.theirs.file, each.theirs.start_line)),
        ]
        for each in found.differ[:_MOST_LISTED]
    )
    header = ("Kernel", "Spec", "Spyre op", "source line", "evidence", "`debug_handle`")
    yield from table(header, rows)


def _lineage(page: Page) -> Iterator[str]:
    lineage = build_lineage(page.facts)
    yield "## Source → Kernel Lineage"
    yield ""
    yield (
        "Source → FX pre-grad → FX post-grad → LoopLevelIR pre-pass → LoopLevelIR "
        "post-pass → OpSpec → SuperDSC. A fan-out is a decomposition, a fan-in a "
        "fusion. A solid arrow is measured, a dotted one inferred by a named rule. An "
        "op that the compiler inserted hangs on all the ops that it serves."
    )
    yield ""
    if len(lineage.edges) > mermaid.MAX_EDGES:
        yield (
            f"The graph has {len(lineage.edges)} edges; the chart shows the first "
            "ops with all that leads to them."
        )
        yield ""
    yield "```mermaid"
    yield mermaid.render(lineage, page.paths).rstrip("\n")
    yield "```"
    yield ""


def _matrix(page: Page) -> Iterator[str]:
    rows = build_matrix(page.bundle)
    yield "## Stage \N{MULTIPLICATION SIGN} Field Matrix"
    yield ""
    legend = (
        "✓ present and non-empty on all objects · ◐ on some (n/total) · ✗ reachable "
        "here but empty or absent (dropped) · \N{EN DASH} not created yet, or carried "
        "inside another field"
    )
    seen = {cell.state for row in rows for cell in row.cells}
    legend += " · ! looking failed" if CellState.FAILED in seen else ""
    legend += " · ? stage not recorded" if CellState.UNSEEN in seen else ""
    yield legend + "."
    yield ""
    yield (
        "Every cell is measured: 0 counts as content; `None` and empty text and "
        "containers do not. What `origins` and `debug_handle` carry inside is read "
        "from them as well."
    )
    yield ""
    header = (
        "Layer",
        "Field",
        "FX Graph (pre-grad)",
        "FX Graph (post-grad)",
        "LoopLevelIR (pre-pass)",
        "LoopLevelIR (post-pass)",
        "OpSpec",
        "SuperDSC JSON",
    )
    yield from table(
        header,
        ([r.layer, f"`{r.field}`", *(cell.symbol for cell in r.cells)] for r in rows),
    )


def _kernels(page: Page) -> Iterator[str]:
    directories = {files.kernel: files for files in page.bundle.run.files}
    for kernel in page.bundle.kernels or ():
        yield from _kernel(kernel, directories.get(kernel.name))
    yield from _host_operations(page)


def _kernel(kernel: Kernel, files: KernelFiles | None) -> Iterator[str]:
    yield f"## {code(kernel.name)}"
    yield ""
    yield f"- buffers ({len(kernel.ir_ops)}): {names(kernel.ir_ops)}"
    yield f"- fx origins: {names(kernel.origins)}"
    if kernel.metadata:
        yield f"- kernel metadata: {code(kernel.metadata, 2000)}"
    if kernel.unimplemented:
        yield f"- the device lacks the op {code(kernel.unimplemented)}: not built"
    if files is None:
        yield "- no directory was observed"
    else:
        full = [f for f in files.sdsc if f.handle_presence is Presence.POPULATED]
        yield f"- directory: {code(files.directory, 1000)}"
        yield (
            f"- `sdsc_*.json` files: {len(files.sdsc)}; `debug_handle_` non-null: "
            f"{len(full)}/{len(files.sdsc)}"
        )
    yield ""


def _host_operations(page: Page) -> Iterator[str]:
    """Yield the operations that run as other kernels than the device's own."""
    graph = page.bundle.loop_ir_post
    ops = [op for op in graph.ops if op.kernel] if graph else []
    if not ops:
        return
    yield "## Operations outside the device kernels"
    yield ""
    rows = (
        [
            code(op.name),
            code(op.kernel),
            page.places(page.facts.ir_locations(op.buffer or op.name)),
        ]
        for op in ops
    )
    yield from table(("Op", "kernel", "source line"), rows)
