"""With torch-spyre loaded: what it set up is what it still is while we record."""

from __future__ import annotations

from pathlib import Path

import pytest

SNAPSHOT = Path(__file__).parents[1] / "recording"

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import snapshot
import torch
from pathlib import Path
from torch_spyre_provenance.errors import LaunchError
from torch_spyre_provenance.frontends import cardless

ROOTS = (*snapshot.WATCHED, "torch_spyre")

def step(x):
    return torch.relu(x @ x + 1)

def compile_once():
    torch._dynamo.reset()
    try:
        torch.compile(step)(torch.ones(64, 64, dtype=torch.float16).to("spyre"))
    except LaunchError:
        pass

# What torch-spyre replaces in torch is its own business, and done before we look: as it
# is loaded, and in its first compile.
cardless.load(Path(sys.argv[2]))
compile_once()
before, kept = snapshot.take(ROOTS)

import torch_spyre_provenance
with torch_spyre_provenance.record(
    out=sys.argv[3], torch_spyre=sys.argv[2], strict=True
) as recording:
    compile_once()
    {extra}
    during, _ = snapshot.take(ROOTS)
after, _ = snapshot.take(ROOTS)
assert recording.bundles[0].bundle.kernels
watched = [owner for owner, _ in before if owner.startswith("torch_spyre.")]
assert len(watched) > 300, len(watched)
found = snapshot.changed(before, during) + snapshot.changed(before, after)
print(*sorted(set(found)), sep="\\n")
"""


@pytest.fixture(scope="module")
def changes(checkout, python, tmp_path_factory):
    """What a process that records found to be replaced."""

    def run(extra):
        cache, out = tmp_path_factory.mktemp("cache"), tmp_path_factory.mktemp("out")
        program = PROGRAM.format(extra=extra)
        return python("-c", program, SNAPSHOT, checkout, out, cache=cache).split()

    return run


def test_recording_replaces_nothing_of_torch_spyre(changes):
    """Every callable of torch-spyre and of torch's compiler is the same object."""
    assert [] == changes("pass")


PATCHES = {
    "torch_spyre._inductor.scheduler.SuperDSCScheduling.define_kernel": (
        "torch_spyre._inductor.scheduler:SuperDSCScheduling.define_kernel"
    ),
    "torch_spyre._inductor.passes.CustomPreSchedulingPasses.__call__": (
        "torch_spyre._inductor.passes:CustomPreSchedulingPasses.__call__"
    ),
    "torch_spyre.execution.async_compile.get_output_dir": (
        "torch_spyre.execution.async_compile.get_output_dir"
    ),
}
"""What the seed's tool assigns to, and how the check names it."""


def test_patches_of_torch_spyre_would_be_found(changes):
    """The check fails as soon as someone patches torch-spyre as the seed did."""
    imports = "import torch_spyre._inductor.passes, torch_spyre.execution.async_compile"
    patches = "; ".join((imports, *(f"{target} = step" for target in PATCHES)))
    assert {*PATCHES.values()} <= {*changes(patches)}
