"""No function, method or class of torch is ever replaced."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent

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
print(*snapshot.changed(before, during), *snapshot.changed(before, after), sep="\\n")
"""


def replaced(tmp_path, extra="pass"):
    """Return what a recorded compile replaced in torch, in a process of its own."""
    program = PROGRAM.format(extra=extra)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, HERE, tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout.split()


def test_recording_replaces_nothing(tmp_path):
    """Every callable of torch's compiler is the same object before, during and after."""
    assert [] == replaced(tmp_path)


@pytest.mark.parametrize(
    ("patch", "found"),
    [
        (
            "torch._inductor.compile_fx.compile_fx = step",
            "torch._inductor.compile_fx.compile_fx",
        ),
        (
            "torch._inductor.graph.GraphLowering.run = step",
            "torch._inductor.graph:GraphLowering.run",
        ),
        ("torch.nn.Module.to = step", "torch.nn.modules.module:Module.to"),
        (
            "torch.fx.Graph.added = step",
            "torch.fx.graph:Graph.added",
        ),
    ],
)
def test_a_patch_would_be_found(tmp_path, patch, found):
    """The check above fails as soon as someone adds a patch."""
    assert found in replaced(tmp_path, patch)
