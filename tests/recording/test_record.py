"""Recording a real compile, from its six stages to the files."""

from __future__ import annotations

import pytest
import torch

import torch_spyre_provenance
from torch_spyre_provenance.model import CacheState, CompileKind, Stage
from torch_spyre_provenance.simple_mlp import SimpleMLP


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Record one compile of the SimpleMLP, with its result and eager's."""
    torch._dynamo.reset()
    out = tmp_path_factory.mktemp("bundles")
    model = SimpleMLP().half()
    x = torch.randn(2, 128, dtype=torch.float16)
    recorded = torch_spyre_provenance.record(out=out, strict=True)
    with recorded as recording, torch.no_grad():
        expected = model(x)
        actual = torch.compile(model.to("spyre"))(x.to("spyre")).cpu()
    (done,) = recording.bundles
    return done, expected, actual


@pytest.fixture(scope="module")
def bundle(recorded):
    """Return the bundle of that compile."""
    return recorded[0].bundle


def test_result_is_eager(recorded):
    """Recording changes nothing about the result (fp16, products of 256 terms)."""
    _, expected, actual = recorded

    torch.testing.assert_close(actual, expected, rtol=2e-3, atol=2e-3)


def test_figures_are_the_seeds(bundle):
    """Each stage has as many objects as the document that this project implements."""
    assert {
        Stage.FX_PRE_GRAD: 3,
        Stage.FX_POST_GRAD: 7,
        Stage.LOOP_IR_PRE: 5,
        Stage.LOOP_IR_POST: 5,
        Stage.OP_SPEC: 5,
        Stage.SUPER_DSC: 5,
    } == bundle.counts()


def test_names_are_the_seeds(bundle):
    """The graph's nodes, the kernel and its ops have the seed's names, in order."""
    assert (
        "permute",
        "mm_default_1",
        "add_tensor_1",
        "relu",
        "permute_1",
        "mm_default",
        "add_tensor",
    ) == tuple(node.name for node in bundle.fx_post_grad.nodes)
    assert ("batchmatmul", "add", "relufwd", "batchmatmul", "add") == tuple(
        op.op for _, op in bundle.ops
    )
    assert ("sdsc_fused_addmm_linear_relu_0",) == tuple(
        kernel.name for kernel in bundle.kernels
    )


def test_every_point_fired(bundle):
    """Every observation point was reached, and none failed."""
    assert [] == [
        each for each in bundle.all_observations if each.failed or not each.fired
    ]


def test_compile_is_described(bundle):
    """The bundle says what was compiled, through what, and that it was no cache hit."""
    assert CompileKind.INFERENCE is bundle.compile.kind
    assert "reference" == bundle.compile.front_end
    assert ("spyre",) == bundle.compile.devices
    assert CacheState.MISS is bundle.run.cache


def test_rewritten_nodes_know_their_origin(bundle):
    """The nodes that an `addmm` was split into name the node of Dynamo's behind it."""
    sources = {each.new: each.sources for each in bundle.replacements}

    assert {"mm_default_1", "add_tensor_1", "mm_default", "add_tensor"} <= set(sources)
    assert ("x",) == sources["mm_default_1"]
    assert ("x_2",) == sources["add_tensor"]


def test_files_are_where_the_bundle_says(recorded):
    """Bundle, report and kernel files exist; the kernel's file names the bundle."""
    done = recorded[0]
    (files,) = done.bundle.run.files

    assert {"bundle.json", "report.md"} <= {each.name for each in done.path.iterdir()}
    assert [f"sdsc_{n}.json" for n in range(5)] == [each.name for each in files.sdsc]
    provenance = (done.path.__class__(files.directory) / "provenance.json").read_text()
    assert done.bundle.run.name in provenance


def test_loaded_bundle_is_the_recorded_one(recorded):
    """What is read back equals what was recorded."""
    done = recorded[0]

    assert done.bundle == torch_spyre_provenance.load(done.path)
