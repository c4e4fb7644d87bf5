"""What verifying, pruning and redacting found, as lines of text and for JSON."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from ..analysis.verification import Finding
from ..store.retention import Pruned
from .escape import visible

_LONGEST = 4096
_MOST_LISTED = 200


def findings_text(path: Path, findings: tuple[Finding, ...]) -> str:
    """Return what is wrong with one bundle as lines of text.

    Args:
        path: The bundle.
        findings: What was found; defects are marked with an exclamation mark.
    """
    n_defects = sum(each.check.is_defect for each in findings)
    verdict = f"{n_defects} defects" if n_defects else "whole"
    lines = [f"{path}: {verdict}"]
    ordered = sorted(findings, key=lambda each: not each.check.is_defect)
    for each in ordered[:_MOST_LISTED]:
        mark = "!" if each.check.is_defect else " "
        lines.append(f"{mark} {each.check:<10}{each.where}: {each.text}")
    rest = Counter(each.check for each in ordered[_MOST_LISTED:])
    lines += [f"  … and {count} more of {check}" for check, count in rest.items()]
    return "\n".join(visible(line, _LONGEST) for line in lines)


def findings_facts(findings: tuple[Finding, ...]) -> dict[str, Any]:
    """Return what is wrong with one bundle as plain values for JSON."""
    return {
        "whole": not any(each.check.is_defect for each in findings),
        "findings": [
            {
                "check": each.check.value,
                "defect": each.check.is_defect,
                "where": each.where,
                "text": each.text,
            }
            for each in findings
        ],
    }


def pruned_text(pruned: Pruned, *, only_looked: bool) -> str:
    """Return what became of a directory's bundles as lines of text."""
    verb = "would remove" if only_looked else "removed"
    lines = [f"{verb} {path}" for path in pruned.removed]
    lines += [f"left alone {path}: not only ours" for path in pruned.foreign]
    lines.append(f"{len(pruned.removed)} {verb}, {len(pruned.kept)} kept")
    return "\n".join(visible(line, _LONGEST) for line in lines)


def pruned_facts(pruned: Pruned) -> dict[str, list[str]]:
    """Return what became of a directory's bundles as plain values for JSON."""
    return {
        "removed": [str(path) for path in pruned.removed],
        "kept": [str(path) for path in pruned.kept],
        "foreign": [str(path) for path in pruned.foreign],
    }
