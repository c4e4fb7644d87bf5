"""Compiles that a real torch-spyre breaks off: how far they came, and where."""

from __future__ import annotations

import pytest

PROGRAM = """
import json, logging, os, sys
from pathlib import Path
import torch
import torch_spyre_provenance
from torch_spyre_provenance.backend import spyre_provenance

logging.disable(logging.CRITICAL)

def topk(x):
    return torch.topk(x, 8)[0]  # in a decomposition, before there is any Inductor graph

def var(x):
    return x.var(-1)  # in a pre-scheduling pass

def tanh(x):
    y = x.float() if x.dtype != torch.float32 else x + 1.0
    return torch.tanh(y)  # as its OpSpec is made

def erf(x):
    y = x * 2.0
    return torch.erf(y)  # the device has no such op: compiled, and not to be run

def relu(x):
    return torch.relu(x)  # by the backend compiler

CASES = [
    ("topk", topk, torch.float16, "inductor"),
    ("topk backend", topk, torch.float16, spyre_provenance),
    ("var", var, torch.float16, "inductor"),
    ("tanh", tanh, torch.float32, "inductor"),
    ("erf", erf, torch.float16, "inductor"),
    ("relu", relu, torch.float16, "inductor"),
]
found = {}
with torch_spyre_provenance.record(sys.argv[2], torch_spyre=sys.argv[1]) as recording:
    for name, function, dtype, backend in CASES:
        if name == "relu":
            os.environ["PATH"] = sys.argv[3] + os.pathsep + os.environ["PATH"]
        before, raised = len(recording.bundles), ""
        try:
            compiled = torch.compile(function, backend=backend, dynamic=False)
            compiled(torch.ones(64, 128, dtype=dtype).to("spyre"))
        except Exception as error:
            raised = str(error)
        assert len(recording.bundles) == before + 1, (name, recording.bundles[before:])
        done = recording.bundles[-1]
        bundle = torch_spyre_provenance.load(done.path)
        found[name] = {
            "raised": raised,
            "error": bundle.compile.error,
            "line": function.__code__.co_firstlineno,
            "front_end": bundle.compile.front_end,
            "versions": dict(bundle.run.versions),
            "counts": {str(stage): n for stage, n in bundle.counts().items()},
            "failed": [each.point for each in bundle.all_observations if each.failed],
            "unimplemented": [kernel.unimplemented for kernel in bundle.kernels],
            "path": str(done.path),
        }
    own = {each.point: each.failed for each in recording.observations()}
# Reports are written as the recording ends.
for case in found.values():
    case["report"] = Path(case["path"], "report.md").read_text()
print(json.dumps({"found": found, "own": own}))
"""

FAILING = '#!/bin/sh\necho "no such instruction" >&2\nexit 3\n'
"""A backend compiler that refuses every kernel."""


@pytest.fixture(scope="module")
def printed(checkout, json_of, tmp_path_factory):
    """What was recorded of each compile, and the counts of the recorder itself."""
    folder = tmp_path_factory.mktemp("failures")
    compiler = folder / "bin" / "dxp_standalone"
    compiler.parent.mkdir()
    compiler.write_text(FAILING)
    compiler.chmod(0o755)
    program = folder / "model.py"
    program.write_text(PROGRAM)
    arguments = checkout, folder / "out", compiler.parent
    return json_of(program, *arguments, cache=folder / "cache")


@pytest.fixture(scope="module")
def found(printed):
    """What was recorded of each compile."""
    assert {0} == {*printed["own"].values()}
    assert {()} == {tuple(each["failed"]) for each in printed["found"].values()}
    return printed["found"]


def line(case, offset):
    """The line of a function's body, as an error names it."""
    return f"model.py:{case['line'] + offset}"


def test_a_decomposition_that_refuses(found):
    """Nothing was recorded yet but the node that torch-spyre refused, and its line."""
    case = found["topk"]
    assert "Topk is not supported for this config" in case["raised"]
    assert case["error"].startswith("Unsupported: Spyre backend does not support: Topk")
    assert "; at topk (" in case["error"]
    assert case["error"].endswith(line(case, 1))
    assert {0} == {*case["counts"].values()}


def test_with_the_backend_dynamos_graph_is_there(found):
    """The same failure through the backend leaves the pre-grad graph, too."""
    case = found["topk backend"]
    assert case["error"] == found["topk"]["error"]
    assert 1 <= case["counts"]["fx_pre_grad"]
    assert 0 == case["counts"]["fx_post_grad"]


def test_a_pass_that_fails(found):
    """The last stage is LoopLevelIR before the passes."""
    case = found["var"]
    assert "KeyError" in case["error"]
    assert case["error"].endswith(line(case, 1))
    assert 0 < case["counts"]["loop_ir_pre"]
    assert 0 == case["counts"]["loop_ir_post"]


def test_an_op_that_has_no_spec(found):
    """LoopLevelIR is whole, and the op in it that has no OpSpec is named."""
    case = found["tanh"]
    assert case["error"].startswith(
        "Unsupported: Spyre backend does not support: tanh on DataFormats.IEEE_FP32; "
        "at buf1 (tanh), "
    )
    assert case["error"].endswith(line(case, 2))
    assert 2 <= case["counts"]["loop_ir_post"]
    assert 0 == case["counts"]["op_spec"]


def test_an_op_that_the_device_lacks(found):
    """It compiles; the kernel that cannot run says which op it is for."""
    case = found["erf"]
    assert None is case["error"]
    assert ["erf"] == case["unimplemented"]
    assert "unimplemented operation erf" in case["raised"]
    assert (2, 0) == (case["counts"]["op_spec"], case["counts"]["super_dsc"])


def test_a_backend_compiler_that_fails(found):
    """Everything up to the OpSpec is there, and the kernel is named."""
    case = found["relu"]
    assert case["error"].startswith("CalledProcessError: Command")
    assert "; at kernel sdsc_fused_relu_0" in case["error"]
    assert 1 == case["counts"]["op_spec"]


def test_every_failure_is_reported(found):
    """The report begins with the failure; the versions are known."""
    for case in found.values():
        assert "torch-spyre-cardless" == case["front_end"]
        assert {"torch", "torch-spyre"} <= case["versions"].keys()
        if case["error"] is not None:
            assert case["error"].split(":")[0] in case["report"][:2000]
