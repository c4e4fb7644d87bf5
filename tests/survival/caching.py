"""One program compiled again and again: ``caching.py OUT PHASE...``.

The phases are ``on`` and ``off``, a recorded compile and one without; ``shape``, a
recorded compile and recompile for a new shape; ``save`` and ``load``, which carry
torch's cache artifacts through a file in OUT; ``compile`` and ``run``, which carry a
function that was compiled ahead of time. Prints one JSON object for each compile.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import torch
from attrs import evolve
from torch._inductor.utils import run_and_get_code

import torch_spyre_provenance
from torch_spyre_provenance.recording.builder import EMPTY_RUN
from torch_spyre_provenance.store import dumps


def step(x):
    """Compute something of several ops."""
    return torch.relu(x @ x + 1)


def compiled():
    """Compile the program anew, and return the generated code."""
    torch._dynamo.reset()
    x = torch.ones(64, 64).to("spyre")
    with torch.no_grad():
        y, code = run_and_get_code(torch.compile(step, dynamic=False), x)
    assert torch.equal(y.cpu(), torch.full((64, 64), 65.0)), y
    return "\n".join(code)


def on(out):
    """Return what a recorded compile leaves."""
    with torch_spyre_provenance.record(out=out) as recording:
        compiled()
    return facts("on", recording)


def shape(out):
    """Return what compiles for two shapes leave."""
    torch._dynamo.reset()
    function = torch.compile(step, dynamic=False)
    with torch_spyre_provenance.record(out=out) as recording, torch.no_grad():
        for size in (128, 192):
            function(torch.ones(size, size).to("spyre"))
    return facts("shape", recording)


def compile(out):  # noqa: A001  the phase's name
    """Compile ahead of time, and keep the function in a file."""
    x = torch.ones(64, 64).to("spyre")
    with torch_spyre_provenance.record(out=out) as recording, torch.no_grad():
        function = torch.compile(step, fullgraph=True).aot_compile(((x,), {}))
        function.save_compiled_function(str(Path(out, "function")))
    return facts("compile", recording)


def run(out):
    """Run a function that was compiled ahead of time."""
    x = torch.ones(64, 64).to("spyre")
    with (
        torch_spyre_provenance.record(out=out) as recording,
        torch.no_grad(),
        Path(out, "function").open("rb") as file,
    ):
        y = torch.compiler.load_compiled_function(file)(x)
    assert torch.equal(y.cpu(), torch.full((64, 64), 65.0)), y
    return facts("run", recording)


def facts(phase, recording):
    """Return what a recording holds, as plain values."""
    bundles = [recorded.bundle for recorded in recording.bundles]
    return {
        "phase": phase,
        "caches": [str(bundle.run.cache) for bundle in bundles],
        "contents": [
            hashlib.sha256(dumps(evolve(bundle, run=EMPTY_RUN))).hexdigest()
            for bundle in bundles
        ],
        "ops": [len(bundle.ops) for bundle in bundles],
        "directories": [
            files.directory for bundle in bundles for files in bundle.run.files
        ],
        "exist": all(
            Path(files.directory, sdsc.name).exists()
            for bundle in bundles
            for files in bundle.run.files
            for sdsc in files.sdsc
        ),
        "failed": [
            point.point
            for points in (
                recording.observations(),
                *(bundle.all_observations for bundle in bundles),
            )
            for point in points
            if point.failed
        ],
    }


def off(_):
    """Return whether a compile without recording knows of the recorder."""
    code = compiled()
    is_known = "torch_spyre_provenance.rec" in code or not code
    return {"phase": "off", "recorder": is_known}


def save(out):
    """Write torch's cache artifacts."""
    data, _ = torch.compiler.save_cache_artifacts()
    Path(out, "artifacts").write_bytes(data)


def load(out):
    """Read torch's cache artifacts."""
    torch.compiler.load_cache_artifacts(Path(out, "artifacts").read_bytes())


if __name__ == "__main__":
    torch._dynamo.config.enable_aot_compile = True
    Path(sys.argv[1]).mkdir(exist_ok=True)
    for phase in sys.argv[2:]:
        found = globals()[phase](sys.argv[1])
        if found is not None:
            sys.stdout.write(json.dumps(found) + "\n")
