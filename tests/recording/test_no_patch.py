"""No function, method or class of torch is ever replaced."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent

REGISTRATION = """
import sys
sys.path.insert(0, sys.argv[1])
import snapshot
import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
before, kept = snapshot.take()
_setup_privateuseone_for_python_backend("spyre")
after, _ = snapshot.take()
print(*snapshot.changed(before, after), sep="\\n")
"""
"""What torch itself changes when a Python backend gives PrivateUse1 its name."""

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import snapshot
import torch

def step(x):
    return torch.relu(x @ x + 1)

# What torch sets up by itself on its first compile is no patch of ours.
torch.compile(step)(torch.ones(4, 4))
import torch._inductor.compile_fx, torch._inductor.fx_passes.post_grad
import torch._inductor.codegen.common, torch._inductor.lowering
before, kept = snapshot.take()

import torch_spyre_provenance
with torch_spyre_provenance.record(out=sys.argv[2], strict=True) as recording:
    torch._dynamo.reset()
    torch.compile(step)(torch.ones(4, 4).to("spyre"))
    {extra}
    during, _ = snapshot.take()
after, _ = snapshot.take()
assert len(recording.bundles) == 1, recording.bundles
assert recording.bundles[0].bundle.kernels
assert len(before) > 20_000, len(before)
found = snapshot.changed(before, during) + snapshot.changed(before, after)
print(*found, sep="\\n")
"""


def changes(program, *args):
    """Return what a program changed in torch, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, HERE, *args],
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def registration():
    """Return what torch's own registration of a device's name changes."""
    return changes(REGISTRATION)


def test_recording_replaces_nothing(tmp_path, registration):
    """Every callable of torch's compiler is the same object before, during and after.

    The one exception is torch's own: it adds the device's name to its classes when
    a backend registers under it.
    """
    found = changes(PROGRAM.format(extra="pass"), tmp_path)

    assert registration == found
    assert all("spyre" in name or "_C." in name for name in registration)


PATCHES = {
    "torch._inductor.compile_fx.compile_fx": "torch._inductor.compile_fx.compile_fx",
    "torch._inductor.graph.GraphLowering.run": (
        "torch._inductor.graph:GraphLowering.run"
    ),
    "torch.nn.Module.to": "torch.nn.modules.module:Module.to",
    "torch.fx.Graph.added": "torch.fx.graph:Graph.added",
}
"""What a patch assigns to, and how the check names it."""


def test_patches_would_be_found(tmp_path, registration):
    """The check above fails as soon as someone patches a module or a class."""
    patches = "; ".join(f"{target} = step" for target in PATCHES)

    found = changes(PROGRAM.format(extra=patches), tmp_path)

    assert set(PATCHES.values()) == found - registration
