"""The forward graph of a training step through a real torch-spyre.

torch-spyre puts passes of its own where the post-grad passes begin, so that the graph
is watched from the moment that it is cut out of the joint graph.
"""

from __future__ import annotations

import pytest

PROGRAM = """
import json, logging, sys
import torch
import torch_spyre_provenance
from torch_spyre_provenance.analysis.attribution import attribute
from torch_spyre_provenance.backend import spyre_provenance
from torch_spyre_provenance.errors import LaunchError

logging.disable(logging.CRITICAL)

def model(x, w, b, v, c):
    y = torch.addmm(b, x, w)
    z = torch.addmm(c, y, v)
    return torch.relu(z)

def half(*shape):
    return torch.ones(shape, dtype=torch.float16).to("spyre")

found = {}
for way, backend in {"plain": "inductor", "backend": spyre_provenance}.items():
    torch._dynamo.reset()
    with torch_spyre_provenance.record(
        sys.argv[2], torch_spyre=sys.argv[1], strict=True
    ) as recording:
        x = half(64, 64).requires_grad_()
        inputs = x, half(64, 64), half(64), half(64, 64), half(64)
        try:
            torch.compile(model, backend=backend)(*inputs)
        except LaunchError:
            pass
    (done,) = recording.bundles
    first = model.__code__.co_firstlineno
    found[way] = {
        "kind": done.bundle.compile.kind,
        "ops": [
            [each.op, each.evidence, [w.frame.line - first for w in each.locations]]
            for each in attribute(done.bundle)
        ],
        "replaced": sorted(each.new for each in done.bundle.replacements),
    }
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(checkout, json_of, tmp_path_factory):
    """What was recorded of the forward graph, in each way of compiling."""
    folder = tmp_path_factory.mktemp("training")
    program = folder / "model.py"
    program.write_text(PROGRAM)
    return json_of(program, checkout, folder / "out", cache=folder / "cache")


def test_every_op_has_its_line(found):
    """Products and sums that Inductor made of one call have that call's line."""
    lines = [
        ["batchmatmul", "measured", [1]],
        ["add", "measured", [1]],
        ["batchmatmul", "measured", [2]],
        ["add", "measured", [2]],
        ["relufwd", "measured", [3]],
        ["lesserequal", "measured", [3]],
    ]
    for way in found.values():
        assert "forward" == way["kind"]
        assert lines == [op for op in way["ops"] if op[0] != "ReStickifyOpHBM"]


def test_what_replaced_what_is_recorded(found):
    """A product and a sum, at least, are known to have taken another node's place."""
    for way in found.values():
        assert {"mm_default", "add_tensor"} <= set(way["replaced"])
