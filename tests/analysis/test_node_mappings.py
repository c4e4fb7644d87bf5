"""Bundles in the form of Inductor's provenance artifacts."""

from __future__ import annotations

import pytest
from bundle_factory import (
    RECORDED,
    bundle,
    fx,
    ir,
    kernel,
    lines,
    recorded,
    spec,
    step,
)

from torch_spyre_provenance.analysis.attribution import Attributor
from torch_spyre_provenance.analysis.node_mappings import map_nodes

KERNEL = "sdsc_fused_addmm_linear_relu_0:1"


def test_kernels_are_numbered_as_in_generated_code():
    """Name, colon, ordinal; their nodes in the order of the kernel's ops."""
    found = map_nodes(Attributor(recorded("simple_mlp_torch2.13")))

    assert list(found.kernel_to_post) == [KERNEL]
    assert found.kernel_to_post[KERNEL][:3] == ("mm_default_1", "add_tensor_1", "relu")
    assert found.node_json()["version"] == 2.0


def test_nodes_without_a_trace_have_their_calls_too():
    """Products that a pass split from a linear layer belong to the layer's call."""
    found = map_nodes(Attributor(recorded("simple_mlp_torch2.13")))

    assert set(found.post_to_pre) == set(found.post_to_kernel)
    assert set(found.pre_to_post["x"]) == {"permute", "mm_default_1", "add_tensor_1"}


@pytest.mark.parametrize("name", RECORDED)
def test_the_mappings_are_exact_inverses(name):
    """Readers check that."""
    found = map_nodes(Attributor(recorded(name)))
    pairs = (
        (found.pre_to_post, found.post_to_pre),
        (found.kernel_to_post, found.post_to_kernel),
    )
    for one, other in pairs:
        forward = {(a, b) for a, names in one.items() for b in names}
        assert forward == {(a, b) for b, names in other.items() for a in names}


def test_names_that_no_graph_has_are_left_out():
    """An op that the compiler inserted computes no post-grad node."""
    value = bundle(
        stacks=lines(1),
        pre=(fx("x", "torch.relu", stack=0),),
        post=(fx("relu", "aten.relu.default", came_from=(step("gone"), step("x", 1))),),
        ir_post=(ir(0, "relu"), ir(1, "restickify")),
        later=(fx("restickify", "spyre.restickify.default"),),
        kernels=(kernel(spec(0), spec(1), name="k"), kernel(name="empty")),
    )
    found = map_nodes(Attributor(value))

    assert found.kernel_to_post == {"k:1": ("relu",), "empty:2": ()}
    assert found.post_to_pre == {"relu": ("x",)}


def test_each_kernel_has_its_stacks_once():
    """As Python prints them; tlparse shows them beside the kernel."""
    value = bundle(
        stacks=lines(1),
        post=(
            fx("a", "aten.relu.default", stack=0),
            fx("b", "aten.relu.default", stack=0),
        ),
        ir_post=(ir(0, "a"), ir(1, "b")),
        kernels=(kernel(spec(0), spec(1), name="k"),),
    )

    assert map_nodes(Attributor(value)).stack_json() == {
        "k:1": ('  File "/models/model.py", line 1, in forward\n    line 1\n',)
    }
