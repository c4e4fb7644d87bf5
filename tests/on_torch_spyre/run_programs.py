"""Compile the programs through a checkout, recorded and not; print one JSON object.

    python run_programs.py CHECKOUT OUT

It is a process of its own, as a process has one `spyre` device. Kernels are made and
not run.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from programs import LINES, subjects
from torch._inductor.runtime.runtime_utils import cache_dir

import torch_spyre_provenance
from torch_spyre_provenance.analysis.attribution import attribute
from torch_spyre_provenance.backend import spyre_provenance
from torch_spyre_provenance.errors import LaunchError
from torch_spyre_provenance.model import Bundle, handle_id

Program = Callable[..., object]
Inputs = tuple[torch.Tensor, ...]


def compile_once(function: Program, inputs: Inputs, backend: object) -> str:
    """Compile a program anew, and return what kept it from being compiled, or ""."""
    torch._dynamo.reset()
    if isinstance(function, torch.nn.Module):
        function = function.to("spyre")
    try:
        with torch.no_grad():
            compiled = torch.compile(function, backend=backend, dynamic=False)
            compiled(*(each.to("spyre") for each in inputs))
    except LaunchError:
        return ""
    except (RuntimeError, TypeError, AttributeError, KeyError) as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0]
    return "it ran"


def line_of(function: Program) -> int | None:
    """Return the line of a function that has only one."""
    code = getattr(function, "__code__", None)
    return None if code is None else code.co_firstlineno


def directories() -> set[Path]:
    """Return the kernel directories that there are."""
    kernels = Path(cache_dir(), "inductor-spyre")
    return {path.parent for path in kernels.glob("*/bundle.mlir")}


def digests(directory: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and digest of each file that torch-spyre wrote for a kernel."""
    for path in sorted((*directory.glob("sdsc_*.json"), directory / "bundle.mlir")):
        yield path.name, hashlib.sha256(path.read_bytes()).hexdigest()


def generated(made: set[Path]) -> list[list[tuple[str, str]]]:
    """Return the files of each kernel, without their directories' names."""
    return sorted(list(digests(directory)) for directory in made)


def facts(bundle: Bundle) -> dict[str, object]:
    """Return what the tests check of a bundle."""
    handles = [op.handle for _, op in bundle.ops if op.handle is not None]
    on_disk = [file.handle for files in bundle.run.files for file in files.sdsc]
    seen = bundle.all_observations
    attributions = attribute(bundle)
    lines = [where for each in attributions for where in each.locations]
    return {
        "counts": {str(stage): count for stage, count in bundle.counts().items()},
        "ops": [op.op for _, op in bundle.ops],
        "error": bundle.compile.error,
        "failed": [each.point for each in seen if each.failed],
        "unfired": [each.point for each in seen if not each.fired],
        "unavailable": [each.point for each in seen if each.unavailable],
        "lines": sorted({where.frame.line for where in lines}),
        "files": sorted({Path(where.frame.file).name for where in lines}),
        "missing": [each.op for each in attributions if not each.locations],
        "ids": [handle.id for handle in handles],
        "ids_on_disk": [handle.id for handle in on_disk if handle is not None],
        "ids_recomputed": [
            handle_id(handle.source, handle.aten_op, handle.ir_chain)
            for handle in handles
        ],
    }


def main(checkout: str, out: str) -> dict[str, dict[str, object]]:
    """Compile every program, recorded and then not, and return the facts by name."""
    found: dict[str, dict[str, object]] = {}
    backends = {"plain": "inductor", "backend": spyre_provenance}
    with torch_spyre_provenance.record(out, torch_spyre=checkout) as recording:
        for name, (function, inputs) in subjects().items():
            for way, backend in backends.items():
                if name in LINES and way == "backend" and len(found) % 4:
                    continue  # a sample of the lines will do
                n_before, before = len(recording.bundles), directories()
                error = compile_once(function, inputs, backend)
                bundles = [each.bundle for each in recording.bundles[n_before:]]
                found[f"{name} {way}"] = {
                    "raised": error,
                    "line": line_of(function),
                    "needs": LINES[name][2] if name in LINES else None,
                    "bundles": [facts(bundle) for bundle in bundles],
                    "generated": generated(directories() - before),
                }
    for name, (function, inputs) in subjects().items():
        before = directories()
        compile_once(function, inputs, "inductor")
        made = generated(directories() - before)
        found[f"{name} plain"]["generated_unrecorded"] = made
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    json.dump(main(*sys.argv[1:]), sys.stdout)
