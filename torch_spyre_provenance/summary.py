"""The summary of a bundle: a few lines for a terminal, or one JSON object."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from .model import Bundle, Observation, Stage

REPORT_NAME = "report.md"


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
        bundle=str(path / "bundle.json"),
        report=str(path / REPORT_NAME),
        kernel_dirs=[files.directory for files in bundle.run.files],
        stages={str(stage): count for stage, count in bundle.counts().items()},
        kernels=[kernel.name for kernel in bundle.kernels or ()],
        health=_health(bundle.all_observations),
    )


def summary_text(bundle: Bundle, path: Path) -> str:
    """Return the summary of a bundle as lines of text: its stages, problems and paths.

    Args:
        bundle: What was recorded.
        path: Its directory.
    """
    lines = [_title(bundle), "", *_stage_table(bundle), "", *_problems(bundle)]
    lines += [
        f"{'report':8} {path / REPORT_NAME}",
        f"{'bundle':8} {path / 'bundle.json'}",
    ]
    directories = {files.kernel: files.directory for files in bundle.run.files}
    for kernel in bundle.kernels or ():
        lines.append(f"{'kernel':8} {kernel.name}")
        if kernel.name in directories:
            lines.append(f"{'':8} {directories[kernel.name]}")
    return "\n".join(map(_printable, lines))


def _printable(text: str) -> str:
    """Return a line without the means to drive a terminal: escapes, bells, bidi."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )


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
    return [*lines, ""] if lines else []


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
