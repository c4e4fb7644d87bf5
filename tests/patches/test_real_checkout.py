"""The codemods on a real torch-spyre, named by ``TORCH_SPYRE_CHECKOUT``.

The checkout itself stays as it is: each test patches a copy.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from patches import buffer_name, compose_passes, kernel_class, observe_passes
from patches.checkout import Checkout

PASS_OPTIONS = compose_passes.PASS_OPTIONS
CHECKOUT = os.environ.get("TORCH_SPYRE_CHECKOUT", "")
CODEMODS = [
    each.CODEMOD for each in (buffer_name, compose_passes, kernel_class, observe_passes)
]
PACKAGE = "torch_spyre"
N_PASSES = 16
"""Pre-scheduling passes of the oldest checkout."""

pytestmark = [
    pytest.mark.torch_spyre,
    pytest.mark.skipif(
        not CHECKOUT, reason="TORCH_SPYRE_CHECKOUT names no torch-spyre checkout"
    ),
]

COMPILE = """
import sys
from pathlib import Path
import torch
from torch_spyre_provenance.errors import ProvenanceError
from torch_spyre_provenance.simple_mlp import SimpleMLP

def compile_once():
    model = SimpleMLP().half().to("spyre")
    x = torch.randn(2, 128, dtype=torch.float16).to("spyre")
    try:
        with torch.no_grad():
            torch.compile(model)(x)
    except ProvenanceError as error:
        assert "did not run" in str(error), error
"""

PLAIN = f"""
{COMPILE}
from torch_spyre_provenance.frontends import cardless
cardless.load(Path(sys.argv[1]))
compile_once()
"""

RECORDED = f"""
{COMPILE}
import json
from torch._inductor import config
from torch._inductor.custom_graph_pass import CustomGraphPass
import torch_spyre_provenance

class Own(CustomGraphPass):
    def __init__(self, option):
        self.option = option
    def __call__(self, graph):
        ran[self.option] = ran.get(self.option, 0) + 1
    def uuid(self):
        return self.option

ran = {{}}
own = {{option: Own(option) for option in {PASS_OPTIONS[:3]!r}}}
for option in {PASS_OPTIONS[3:]!r}:
    own[option] = lambda nodes, option=option: (Own(option)(None), nodes)[1]
config.load_config(own)
with torch_spyre_provenance.record(
    torch_spyre=sys.argv[1], out=sys.argv[2], strict=True
) as recording:
    compile_once()
    try:
        x, w = (torch.ones(64, 64).half().to("spyre") for _ in range(2))
        torch.compile(lambda x, w: x @ w.t())(x, w)
    except ProvenanceError:
        pass
first, second = (each.bundle for each in recording.bundles)
fired = {{point.point: point.fired for point in first.all_observations}}
created = {{step.name: len(step.created) for step in second.passes}}
counts = {{str(stage): count for stage, count in first.counts().items()}}
found = {{"fired": fired, "created": created, "counts": counts, "ran": ran}}
print(json.dumps(found))
"""


@pytest.fixture
def copy(tmp_path):
    """A copy of the checkout's package."""
    return Checkout(copied(tmp_path / "patched").parent)


def copied(root):
    """Copy the package, and return where it is."""
    ignored = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(Path(CHECKOUT, PACKAGE), root / PACKAGE, ignore=ignored)


def python(program, *arguments, cache):
    """Return what a program prints in a process of its own."""
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *map(str, arguments)],
        capture_output=True,
        check=False,
        env=environment,
        text=True,
    )
    assert 0 == done.returncode, done.stderr[-2000:]
    return done.stdout


def generated(directory):
    """Return what a compile left behind: code, bundles and SuperDSC files."""
    return sorted(
        (path.name, path.read_bytes())
        for suffix in ("json", "mlir", "py")
        for path in Path(directory).rglob(f"*.{suffix}")
        if path.is_file()
    )


@pytest.mark.parametrize("codemod", CODEMODS, ids=[each.name for each in CODEMODS])
def test_each_applies_once(codemod, copy):
    """There is something to change, what it becomes is Python, and that is all."""
    changes = codemod.changes(copy)

    assert len(codemod.edits) + len(codemod.additions) >= len(changes) > 0
    for change in changes:
        compile(change.after, change.path, "exec")
    copy.write(changes)
    assert () == codemod.changes(copy)


def test_no_kernel_is_built_past_the_attribute(copy):
    """Nothing in torch-spyre calls SpyreKernel any more."""
    copy.write(kernel_class.CODEMOD.changes(copy))

    assert [] == [
        str(path)
        for path in (copy.root / PACKAGE).rglob("*.py")
        if "SpyreKernel()" in path.read_text(encoding="utf-8")
    ]


@pytest.mark.slow
def test_with_nobody_registered_a_compile_is_the_same(copy, tmp_path):
    """All patches together change no byte of what a compile generates."""
    unpatched = copied(tmp_path / "unpatched").parent
    for codemod in CODEMODS:
        copy.write(codemod.changes(copy))

    python(PLAIN, unpatched, cache=tmp_path / "before")
    python(PLAIN, copy.root, cache=tmp_path / "after")

    expected = generated(tmp_path / "before")
    assert any(name.startswith("sdsc_") for name, _ in expected)
    assert expected == generated(tmp_path / "after")


@pytest.mark.slow
def test_a_plain_compile_is_recorded_whole(copy, tmp_path):
    """With the patches nothing is unobservable: Dynamo's graph and each pass.

    The pass that inserted an operation is known by its name. Passes that were
    configured for Inductor's five options run in each of the two compiles, too.
    """
    for codemod in CODEMODS:
        copy.write(codemod.changes(copy))

    arguments = copy.root, tmp_path / "out"
    found = json.loads(python(RECORDED, *arguments, cache=tmp_path / "cache"))

    assert 1 == found["fired"]["pre_grad_graph"]
    assert 2 * N_PASSES <= found["fired"]["pass_observer"]
    assert [] == [point for point, times in found["fired"].items() if not times]
    assert 3 == found["counts"]["fx_pre_grad"]
    assert 1 == found["created"]["insert_restickify"]
    assert dict.fromkeys(compose_passes.PASS_OPTIONS, 2) == found["ran"]
