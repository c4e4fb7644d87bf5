"""A ``spyre_provenance.json`` as torch-spyre writes it, schema version 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MODEL = "/home/u/model.py"
FIRST, SECOND = "a" * 64, "b" * 64
KEYS = ("aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "cccccccccccccccc")
MM, ADD, FUSED, OTHER = "1", "2", "3", "9223372036854775807"
KERNEL = "sdsc_fused_addmm_relu_0"


def sidecar() -> dict[str, Any]:
    """Return one of two compiles, in which `mm` comes from two different lines."""
    return {
        "schemaVersion": 1,
        "eventKey": {
            "version": 1,
            "algorithm": "sha256-prefix-80-base32-lower",
            "width": 16,
            "stepAttribution": "bundle",
        },
        "mergeGeneration": 2,
        "status": "partial",
        "diagnostics": {},
        "handles": {
            MM: _handle(MM, 10, "aten.mm.default", ["mm", "buf0"]),
            ADD: _handle(ADD, 10, "aten.add.Tensor", ["add"]),
            FUSED: {
                **_handle(FUSED, None, None, ["add", "relu", "buf1"]),
                "fused_from": [ADD, "4"],
                "transform_history": [
                    {"kind": "fusion", "pass_name": "fuse", "reason": None}
                ],
            },
            "4": _handle("4", 11, "aten.relu.default", ["relu"]),
            OTHER: _handle(OTHER, 20, "aten.mm.default", ["mm", "buf0"]),
        },
        "kernelIdentities": {
            KEYS[0]: _identity([([1], FUSED), ([0, 0], MM)]),
            KEYS[1]: _identity([([0], OTHER)]),
        },
        "kernelOccurrences": {
            "0" * 64: _occurrence(KEYS[0], FIRST),
            "1" * 64: _occurrence(KEYS[1], SECOND),
        },
        "upstreamProjections": {
            FIRST: _projection(
                {"mm": ["linear"], "add": ["linear"], "relu": ["relu_1"]}
            ),
            SECOND: {**_projection({}), "upstreamJoin": "unavailable-cache-replay"},
        },
    }


def written(path: Path, content: Any = None) -> Path:
    """Write it, or something like it."""
    path.write_text(json.dumps(sidecar() if content is None else content))
    return path


def _handle(number: str, line: int | None, aten: str | None, chain: list[str]) -> dict:
    source = {
        "file": MODEL,
        "start_line": line,
        "start_col": 0,
        "end_line": None,
        "end_col": None,
    }
    return {
        "id": number,
        "source": source if line is not None else None,
        "aten_op": aten,
        "ir_chain": chain,
        "fused_from": [],
        "transform_history": [],
    }


def _identity(bindings: list[tuple[list[int], str]]) -> dict:
    return {
        "directHandleIds": [handle for _, handle in bindings],
        "specHandleBindings": [
            {"specPath": path, "handleId": handle} for path, handle in bindings
        ],
        "atenOps": ["aten.mm.default"],
        "eventNameBase": "spyre_kernel_v1_fused_addmm_relu",
    }


def _occurrence(key: str, compile_id: str) -> dict:
    return {
        "identityKey": key,
        "compileId": compile_id,
        "compilerKernelName": KERNEL,
        "registrations": [{"ordinal": 1, "alias": f"{KERNEL}:1"}],
    }


def _projection(post_to_pre: dict[str, list[str]]) -> dict:
    return {
        "source": "inductor_provenance_tracking_node_mappings",
        "version": 2.0,
        "producer": {"torchSpyreVersion": "0.0.1", "torchVersion": "2.13.0"},
        "settings": {"provenanceTrackingLevel": 1, "structuredTracing": False},
        "kernels": [],
        "uncollectedKernels": [],
        "upstreamProjectionFailed": False,
        "upstreamJoin": "ok",
        "preToPost": {},
        "postToPre": post_to_pre,
        "cppCodeToPost": {},
        "postToCppCode": {},
        "kernelStackTraces": {},
    }
