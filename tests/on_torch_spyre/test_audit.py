"""The command line on a checkout: the figures of the seed, its ids, and the doctor."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.torch_version import TorchVersion

import torch_spyre_provenance
from torch_spyre_provenance.analysis.attribution import attribute
from torch_spyre_provenance.model import handle_id

SUBJECT = """
import torch
from torch import nn

class SimpleMLP(nn.Module):
    def __init__(self, n_in, n_hidden, n_out):
        super().__init__()
        self.fc1 = nn.Linear(n_in, n_hidden)
        self.fc2 = nn.Linear(n_hidden, n_out)

    def forward(self, x):
        x = self.fc1(x)
        x = torch.relu(x)
        x = self.fc2(x)
        return x

def factory():
    return SimpleMLP(128, 256, 128).half().eval(), (torch.randn(2, 128).half(),)
"""
N_ABOVE = 13
"""Lines above the model in the seed's file: its `forward` is on 25, 26 and 27."""

LINES = [25, 25, 26, 27, 27]
WITHOUT_SOURCE = {"buf1": 605170506422197115, "buf4": 6208522288796453179}
"""The seed's ids of the two additions, which have no source on torch 2.11."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working directory with the seed's model in it."""
    root = tmp_path_factory.mktemp("audit")
    (root / "reference_mlp.py").write_text("\n" * N_ABOVE + SUBJECT)
    return root


@pytest.fixture(scope="module")
def facts(checkout, json_of, folder):
    """What ``audit --json`` prints."""
    command = "-m", "torch_spyre_provenance", "audit", "--torch-spyre", checkout
    options = "--model", "reference_mlp:factory", "--out", folder / "out", "--json"
    return json_of(*command, *options, cache=folder / "cache", cwd=folder)


@pytest.fixture(scope="module")
def bundle(facts):
    """The bundle that was printed."""
    return torch_spyre_provenance.load(Path(facts["bundle"]))


def test_the_figures_are_the_seeds(facts):
    """Three nodes, seven, and five of everything from then on."""
    assert {
        "fx_pre_grad": 3,
        "fx_post_grad": 7,
        "loop_ir_pre": 5,
        "loop_ir_post": 5,
        "op_spec": 5,
        "super_dsc": 5,
    } == facts["stages"]
    assert "sdsc_fused_addmm_linear_relu_0" == facts["kernels"][0]
    assert len(facts["kernels"]) == len(facts["kernel_dirs"])
    health = facts["health"].items()
    assert [] == [point for point, seen in health if seen["failed"]]
    assert ["pass_observer"] == [point for point, seen in health if not seen["fired"]]


def test_the_ops_and_their_lines_are_the_seeds(bundle):
    """In order, each from the line that it is for, the additions too."""
    assert ["batchmatmul", "add", "relufwd", "batchmatmul", "add"] == [
        op.op for _, op in bundle.ops
    ]
    lines = [where.frame.line for each in attribute(bundle) for where in each.locations]
    assert LINES == lines


def test_the_ids_are_torch_spyres_own(bundle):
    """They are those of its SDSC files, and those that its recipe gives."""
    handles = [op.handle for _, op in bundle.ops]
    on_disk = [file.handle for files in bundle.run.files for file in files.sdsc]
    assert on_disk == handles
    if dict(bundle.run.versions)["debug_handle"] == "no":
        assert [None] * 5 == handles
        return
    assert [handle.id for handle in handles] == [
        handle_id(handle.source, handle.aten_op, handle.ir_chain) for handle in handles
    ]


def test_the_ids_without_a_source_are_the_seeds(bundle):
    """Where nothing of the model's path goes into an id, it is the seed's."""
    handles = {op.buffer: op.handle for _, op in bundle.ops if op.handle is not None}
    ids = {buffer: h.id for buffer, h in handles.items() if h.source is None}
    is_old = TorchVersion(torch.__version__) < TorchVersion("2.13")
    assert (WITHOUT_SOURCE if is_old and handles else {}) == ids


def test_the_doctor_finds_the_checkout(checkout, json_of, tmp_path):
    """It loads the checkout, and names what cannot be observed with the remedy."""
    command = "-m", "torch_spyre_provenance", "doctor", "--torch-spyre", checkout
    report = json_of(*command, "--json", cache=tmp_path)
    assert "torch-spyre-cardless" == report["front_end"]
    found = {(each["topic"], each["name"]): each for each in report["findings"]}
    assert found["front end", "torch-spyre-cardless"]["is_good"]
    assert str(checkout) in found["front end", "torch-spyre-cardless"]["value"]
    assert "torch_spyre._C" in found["versions", "stand-ins"]["value"]
    seams = {name: each for (topic, name), each in found.items() if topic == "seam"}
    bad = {name: each["value"] for name, each in seams.items() if not each["is_good"]}
    assert {"pre_grad_graph", "pass_observer"} == bad.keys()
    assert all("patches/" in remedy for remedy in bad.values())
    assert len(seams) >= 9
    is_cached = ("cache", "torch-spyre's compiles") not in found
    assert is_cached is (TorchVersion(torch.__version__) < TorchVersion("2.13"))
