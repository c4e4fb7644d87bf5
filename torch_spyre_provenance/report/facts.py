"""The report of one compile as plain values for JSON."""

from __future__ import annotations

from typing import Any

from attrs import asdict

from ..analysis.attribution import Attributor
from ..analysis.coverage import measure_coverage
from ..analysis.losses import find_losses
from ..analysis.matrix import build_matrix
from ..analysis.rewrites import find_rewrites
from ..analysis.sdsc import link_files
from ..model import Stage
from .kernel import op_record

SCHEMA_VERSION = 1
"""Version of the report's format."""


def report_facts(facts: Attributor) -> dict[str, Any]:
    """Return what the report says: counts, the attribution of each op, losses, matrix.

    Args:
        facts: The bundle and its attribution.
    """
    bundle, info = facts.bundle, facts.bundle.compile
    found = measure_coverage(facts.attributions)
    rows = zip(bundle.ops, facts.attributions, link_files(bundle), strict=True)
    return {
        "schema_version": SCHEMA_VERSION,
        "compile": {
            "name": bundle.run.name,
            "graph": info.graph,
            "kind": info.kind.value,
            "front_end": info.front_end,
            "error": info.error,
        },
        "stages": {stage.value: n for stage, n in bundle.counts().items()},
        "attribution": {
            "total": found.total,
            "measured": found.measured,
            "inferred": found.inferred,
            "missing": found.missing,
            "rules": {rule.value: n for rule, n in found.rules},
        },
        "observations": [
            {
                "point": each.point,
                "stage": each.stage.value if each.stage else None,
                "fired": each.fired,
                "failed": each.failed,
                "error": each.error,
                "unavailable": each.unavailable,
            }
            for each in bundle.all_observations
        ],
        "losses": [
            {"pass": each.pass_name, **asdict(each.loss)}
            for each in find_losses(bundle)
        ],
        "rewrites": [
            {"shape": each.shape.value, **asdict(each)}
            for each in find_rewrites(bundle)
        ],
        "matrix": [
            {
                "layer": row.layer.value,
                "field": row.field,
                "cells": {
                    stage.value: {"state": cell.state.value, "n": cell.n}
                    for stage, cell in zip(Stage, row.cells, strict=True)
                },
            }
            for row in build_matrix(bundle)
        ],
        "ops": [
            {"kernel": kernel.name, **op_record(facts, op, found, link)}
            for (kernel, op), found, link in rows
        ],
    }
