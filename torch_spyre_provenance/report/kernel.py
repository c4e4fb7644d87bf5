"""The ``provenance.json`` beside one kernel: its ops, their lines, and the bundle."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ..analysis.attribution import Attribution, Attributor, Location
from ..analysis.sdsc import SdscLink, link_files
from ..model import Frame, KernelFiles, Op

SCHEMA_VERSION = 1
"""Version of the record's format."""


def render(facts: Attributor, files: KernelFiles, bundle_directory: Path) -> bytes:
    """Return the record of one kernel as JSON, ASCII throughout.

    Args:
        facts: The bundle and its attribution.
        files: The kernel's directory and files.
        bundle_directory: Where the whole bundle lies.
    """
    return render_all(facts, bundle_directory, (files,))[0]


def render_all(
    facts: Attributor, bundle_directory: Path, which: tuple[KernelFiles, ...]
) -> tuple[bytes, ...]:
    """Return the records of several kernels, in the order of `which`."""
    by_kernel: dict[str, list[dict[str, Any]]] = {}
    rows = zip(
        facts.bundle.ops, facts.attributions, link_files(facts.bundle), strict=True
    )
    for (kernel, op), found, link in rows:
        by_kernel.setdefault(kernel.name, []).append(op_record(facts, op, found, link))
    return tuple(
        _text(_record(facts, files, bundle_directory, by_kernel.get(files.kernel, [])))
        for files in which
    )


def _record(
    facts: Attributor, files: KernelFiles, directory: Path, ops: list[dict[str, Any]]
) -> dict[str, Any]:
    compile_info = facts.bundle.compile
    return {
        "schema_version": SCHEMA_VERSION,
        "kernel": files.kernel,
        "bundle": {
            "relative": os.path.relpath(directory, files.directory),
            "absolute": str(directory),
        },
        "compile": {
            "name": facts.bundle.run.name,
            "graph": compile_info.graph,
            "kind": compile_info.kind.value,
            "front_end": compile_info.front_end,
        },
        "ops": ops,
    }


def op_record(
    facts: Attributor, op: Op, found: Attribution, link: SdscLink
) -> dict[str, Any]:
    """Return what is known of one op, as plain values for JSON.

    Args:
        facts: The bundle and its attribution.
        op: The op as recorded.
        found: Its attribution.
        link: The file that it runs.
    """
    return {
        "spec_path": op.spec_path,
        "op": op.op,
        "buffer": op.buffer,
        "locations": [_location(facts, place) for place in found.locations],
        "evidence": found.evidence.value,
        "rule": found.rule.value,
        "reason": found.reason,
        "module": found.module_path,
        "module_type": found.modules[-1].type if found.modules else None,
        "aten_op": found.aten_op,
        "fx_nodes": list(found.nodes),
        "serves": list(found.serves),
        "pass": found.pass_name,
        "handle_id": str(op.handle.id) if op.handle else None,
        "sdsc_file": link.file.name if link.file else None,
        "sdsc_handle": link.state.value,
    }


def _location(facts: Attributor, place: Location) -> dict[str, Any]:
    stack = [_frame(facts, frame) for frame in place.stack]
    return {**_frame(facts, place.frame), "stack": stack}


def _frame(facts: Attributor, frame: Frame) -> dict[str, Any]:
    return {
        "file": frame.file,
        "line": frame.line,
        "column": frame.column,
        "function": frame.function,
        "text": facts.text(frame),
    }


def _text(record: dict[str, Any]) -> bytes:
    return json.dumps(record, indent=1).encode("ascii") + b"\n"
