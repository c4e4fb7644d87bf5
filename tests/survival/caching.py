"""One program compiled again and again: ``caching.py OUT PHASE...``.

The phases are ``on`` and ``off``, a recorded compile and one without; ``save`` and
``load``, which carry torch's cache artifacts through a file in OUT. Prints one JSON
object for each compile.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import torch
import torch_spyre_provenance
from attrs import evolve
from torch._inductor.utils import run_and_get_code
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
    bundles = [recorded.bundle for recorded in recording.bundles]
    return {
        "phase": "on",
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
            for point in recording.observations() + bundles[0].all_observations
            if point.failed
        ],
    }


def off(_):
    """Return whether a compile without recording knows of the recorder."""
    return {"phase": "off", "recorder": "torch_spyre_provenance.rec" in compiled()}


def save(out):
    """Write torch's cache artifacts."""
    data, _ = torch.compiler.save_cache_artifacts()
    Path(out, "artifacts").write_bytes(data)


def load(out):
    """Read torch's cache artifacts."""
    torch.compiler.load_cache_artifacts(Path(out, "artifacts").read_bytes())


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(exist_ok=True)
    for phase in sys.argv[2:]:
        found = globals()[phase](sys.argv[1])
        if found is not None:
            sys.stdout.write(json.dumps(found) + "\n")
