"""The merged view of many processes, as lines of text and as plain values for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..analysis.merging import Member, MergedCompile, MergedJob, Variant
from .differences import difference_facts, difference_text
from .escape import visible

_LONGEST = 4096
_MOST_LABELS = 16


def jobs_text(jobs: tuple[MergedJob, ...]) -> str:
    """Return the merged view as lines of text.

    Compiles on which the processes differ are marked with an exclamation mark, and what
    differs stands below them.
    """
    lines = [line for job in jobs for line in _job_lines(job)]
    return "\n".join(visible(line, _LONGEST) for line in lines)


def jobs_facts(jobs: tuple[MergedJob, ...]) -> dict[str, Any]:
    """Return the merged view as plain values for JSON."""
    return {
        "uniform": all(job.is_uniform for job in jobs),
        "jobs": [
            {
                "job": job.job,
                "world_size": job.world_size,
                "processes": list(job.processes),
                "missing_ranks": list(job.missing_ranks),
                "uniform": job.is_uniform,
                "compiles": [_compile_facts(each) for each in job.compiles],
            }
            for job in jobs
        ],
    }


def _job_lines(job: MergedJob) -> Iterator[str]:
    size = f" of {job.world_size} ranks" if job.world_size is not None else ""
    yield f"job {job.job or '(none)'}: {len(job.processes)} processes{size}"
    if job.missing_ranks:
        ranks = ", ".join(map(str, job.missing_ranks))
        yield f"! no bundle of rank {ranks}"
    for each in job.compiles:
        yield from _compile_lines(each)


def _compile_lines(each: MergedCompile) -> Iterator[str]:
    mark = " " if each.is_uniform else "!"
    count = f" #{each.occurrence + 1}" if each.occurrence else ""
    yield f"{mark} {_name(each)}{count}: {_who(each.members)}"
    if each.absent:
        yield f"      not compiled by {_labels(each.absent)}"
    for number, variant in enumerate(each.variants):
        found = variant.coverage
        text = f"{found.attributed} of {found.total} ops have a line"
        caches = Counter(str(member.cache) for member in variant.members)
        states = ", ".join(f"{count} {state}" for state, count in caches.items())
        if len(each.variants) == 1:
            yield f"      {text}; cache: {states}"
            continue
        yield f"      variant {number + 1}, {_who(variant.members)}: {text}; {states}"
        yield from _variant_lines(variant)


def _variant_lines(variant: Variant) -> Iterator[str]:
    if variant.difference is None:
        return
    if variant.difference.is_empty:
        yield "        its ops and their lines are the same; other records differ"
        return
    for row in difference_text(variant.difference).splitlines():
        yield f"        {row}"


def _name(each: MergedCompile) -> str:
    return f"{each.graph} ({each.kind}, {each.compile_id or 'no compile id'})"


def _who(members: tuple[Member, ...]) -> str:
    return _labels(tuple(dict.fromkeys(member.label for member in members)))


def _labels(labels: tuple[str, ...]) -> str:
    shown = ", ".join(labels[:_MOST_LABELS])
    more = len(labels) - _MOST_LABELS
    return f"{shown} and {more} more" if more > 0 else shown


def _compile_facts(each: MergedCompile) -> dict[str, Any]:
    return {
        "graph": each.graph,
        "kind": each.kind.value,
        "compile_id": each.compile_id,
        "occurrence": each.occurrence,
        "uniform": each.is_uniform,
        "absent": list(each.absent),
        "variants": [
            {
                "ops": variant.coverage.total,
                "attributed": variant.coverage.attributed,
                "members": [
                    {
                        "bundle": member.path,
                        "rank": member.rank,
                        "host": member.host,
                        "pid": member.pid,
                        "cache": member.cache.value,
                    }
                    for member in variant.members
                ],
                "difference": None
                if variant.difference is None
                else difference_facts(variant.difference),
            }
            for variant in each.variants
        ],
    }
