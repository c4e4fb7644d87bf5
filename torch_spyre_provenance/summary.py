"""The summary of a bundle: a few lines for a terminal, or one JSON object."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from attrs import asdict

from .analysis.attribution import Attribution, attribute
from .analysis.frames import source_text
from .model import Bundle, Observation, Stage
from .report.escape import ShortPaths, visible
from .store import bundle_file

if TYPE_CHECKING:
    from .analysis.gate import Verdict

REPORT_NAME = "report.md"

_LONGEST = 4096  # characters of a line, which a long path may fill
_MAX_OPS = 40  # ops of one kernel, which a screen may hold


class PointHealth(TypedDict):
    """How one observation point went."""

    stage: str | None
    fired: int
    failed: int
    error: str | None
    unavailable: str | None


class AuditFacts(TypedDict):
    """What ``audit --json`` prints for one compile.

    `stages` counts the nodes, operations, ops or files of each stage; `health` is keyed
    by the observation point.
    """

    bundle: str
    report: str
    kernel_dirs: list[str]
    stages: dict[str, int]
    kernels: list[str]
    health: dict[str, PointHealth]


def audit_facts(bundle: Bundle, path: Path) -> AuditFacts:
    """Return the machine-readable summary of a bundle.

    Args:
        bundle: What was recorded.
        path: Its directory.
    """
    return AuditFacts(
        bundle=str(bundle_file(path)),
        report=str(path / REPORT_NAME),
        kernel_dirs=[files.directory for files in bundle.run.files],
        stages={str(stage): count for stage, count in bundle.counts().items()},
        kernels=[kernel.name for kernel in bundle.kernels or ()],
        health=_health(bundle.all_observations),
    )


def summary_text(bundle: Bundle, path: Path) -> str:
    """Return the summary of a bundle as lines of text.

    They hold its stages, its problems, the line of each kernel's ops, and the paths.

    Args:
        bundle: What was recorded.
        path: Its directory.
    """
    parts = (
        [_title(bundle)],
        _stage_table(bundle),
        _problems(bundle),
        *_kernels(bundle),
        [f"report  {path / REPORT_NAME}", f"bundle  {bundle_file(path)}"],
    )
    texts = ("\n".join(visible(line, _LONGEST) for line in part) for part in parts)
    return "\n\n".join(text for text in texts if text)


def verdict_text(path: Path, verdict: Verdict) -> str:
    """Return a verdict as lines of text, the offending ops below each limit.

    Args:
        path: The bundle that was judged.
        verdict: What came of it.
    """
    found = verdict.coverage
    counts = (
        f"{found.attributed} of {found.total} ops have a line, "
        f"{found.inferred} of them inferred"
    )
    lines = [f"{path}: {'good' if verdict.is_good else 'NOT GOOD'}: {counts}"]
    for offence in verdict.offences:
        lines.append(f"  {offence.limit}: {offence.text}")
        lines += [f"    {item}" for item in offence.items]
    return "\n".join(visible(line, _LONGEST) for line in lines)


def verdict_facts(verdict: Verdict) -> dict[str, object]:
    """Return a verdict as plain values for JSON."""
    found = verdict.coverage
    return {
        "good": verdict.is_good,
        "ops": found.total,
        "measured": found.measured,
        "inferred": found.inferred,
        "missing": found.missing,
        "offences": [asdict(offence) for offence in verdict.offences],
    }


def _title(bundle: Bundle) -> str:
    compile_ = bundle.compile
    front_end = compile_.front_end or "no Spyre front end"
    return f"{compile_.graph} ({compile_.kind}), {front_end}, cache {bundle.run.cache}"


def _stage_table(bundle: Bundle) -> list[str]:
    counts = bundle.counts()
    rows = [("stage", "fired", "failed", "count")]
    for stage in Stage:
        points = [point for point in bundle.all_observations if point.stage is stage]
        rows.append(
            (
                stage.label,
                str(sum(point.fired for point in points)),
                str(sum(point.failed for point in points)),
                str(counts[stage]),
            )
        )
    return [
        f"{name:<22}{fired:>7}{failed:>8}{count:>7}"
        for name, fired, failed, count in rows
    ]


def _problems(bundle: Bundle) -> list[str]:
    lines = []
    if bundle.compile.error is not None:
        lines.append(f"the compile failed: {bundle.compile.error}")
    for point in bundle.all_observations:
        if point.unavailable is not None:
            lines.append(f"{point.point} is not observable here: {point.unavailable}")
        if point.failed:
            lines.append(f"{point.point} failed ({point.failed}): {point.error}")
    return lines


def _kernels(bundle: Bundle) -> list[list[str]]:
    attributions = attribute(bundle)
    directories = {files.kernel: files.directory for files in bundle.run.files}
    short = ShortPaths(bundle)
    parts = []
    for kernel in bundle.kernels or ():
        ops = [each for each in attributions if each.kernel == kernel.name]
        part = [f"kernel  {kernel.name}"]
        if kernel.name in directories:
            part.append(f"        {directories[kernel.name]}")
        part += [_op_row(op, short) for op in ops[:_MAX_OPS]]
        if len(ops) > _MAX_OPS:
            part.append(f"        … and {len(ops) - _MAX_OPS} more: see the report")
        parts.append(part)
    return parts


def _op_row(op: Attribution, short: ShortPaths) -> str:
    frames = [location.frame for location in op.locations]
    where = ", ".join(short.where(frame.file, frame.line) for frame in frames)
    text = source_text(frames[0]) if len(frames) == 1 else None
    found = f"{where}  {text or ''}".rstrip() or op.reason
    return f"        {op.op:<16}{op.evidence:<10}{found}"


def _health(observations: tuple[Observation, ...]) -> dict[str, PointHealth]:
    health: dict[str, PointHealth] = {}
    for seen in observations:
        before = health.get(seen.point)
        health[seen.point] = PointHealth(
            stage=None if seen.stage is None else str(seen.stage),
            fired=seen.fired + (before["fired"] if before else 0),
            failed=seen.failed + (before["failed"] if before else 0),
            error=(before and before["error"]) or seen.error,
            unavailable=(before and before["unavailable"]) or seen.unavailable,
        )
    return health
