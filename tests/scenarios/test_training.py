"""Forward and backward graphs: gradients, and what is computed again for them."""

from __future__ import annotations

import pytest
import torch
from scenarios.compiling import half, line_name, op_lines, record_into
from torch.utils.checkpoint import checkpoint

from torch_spyre_provenance.analysis.attribution import Attributor, attribute
from torch_spyre_provenance.analysis.origins import Rule
from torch_spyre_provenance.model import CompileKind, Evidence


def body(x, w):
    """Return two lines that a checkpoint computes again."""
    product = torch.tanh(x @ w)  # product
    return torch.exp(product)  # exp


def model(x, w):
    """Return a result whose gradient needs what the checkpoint dropped."""
    y = checkpoint(body, x, w, use_reentrant=False)  # caller
    return y * y  # square


@pytest.fixture(scope="module")
def graphs(bundles):
    """Record one training step: the forward and the backward graph."""
    return record_into(bundles)(model, half(64, 64), half(64, 64), trains=True)


def test_a_training_step_has_two_graphs(graphs):
    """Each of them has a bundle, with the same pre-grad graph in both."""
    forward, backward = graphs
    kinds = (forward.compile.kind, backward.compile.kind)
    assert (CompileKind.FORWARD, CompileKind.BACKWARD) == kinds
    assert forward.fx_pre_grad == backward.fx_pre_grad


def test_every_node_has_a_line_after_autograd(graphs):
    """No node of either graph comes out of AOTAutograd without (pytorch#107599)."""
    for bundle in graphs:
        facts = Attributor(bundle)
        assert [] == [
            node.name
            for node in bundle.fx_post_grad.nodes
            if not facts.node_locations(node.name)
        ]


def test_backward_ops_have_the_line_of_their_forward(graphs):
    """A gradient belongs to the line of what it is the gradient of."""
    _, backward = graphs
    found = attribute(backward)

    assert {Evidence.MEASURED, Evidence.INFERRED} == {each.evidence for each in found}
    assert {"ReStickifyOpHBM"} == {
        each.op for each in found if each.evidence is Evidence.INFERRED
    }
    assert [("batchmatmul", ["product"])] * 2 == [
        each for each in op_lines(backward) if each[0] == "batchmatmul"
    ][1:]
    assert {"product", "exp", "square"} == {
        name for _, names in op_lines(backward) for name in names
    }


def test_recomputed_ops_are_listed_where_they_run(graphs):
    """The backward kernel begins with the forward ops that it repeats.

    They are in the order of their execution, with their lines (pytorch#190535).
    """
    forward, backward = graphs

    repeated = [("batchmatmul", ["product"]), ("tanh", ["product"]), ("exp", ["exp"])]
    assert [*repeated, ("mul", ["square"])] == op_lines(forward)
    assert repeated == op_lines(backward)[:3]


def test_checkpoint_itself_is_only_in_the_stack(graphs):
    """The line inside the checkpointed function counts, its caller stays beside it."""
    forward, _ = graphs
    (place,) = attribute(forward)[0].locations

    assert "product" == line_name(place)
    assert ["model", "body"] == [
        frame.function for frame in place.stack if frame.file == __file__
    ]


def test_equal_calls_that_are_computed_once_keep_both_lines(record):
    """Common subexpressions are merged for training; no location is dropped.

    The op has its own line first, and the other call's by a rule (llvm/circt#4358).
    """

    def twice(x):
        a = torch.exp(x)  # first
        b = torch.exp(x)  # second
        return torch.relu(a) * b  # product

    forward, _ = record(twice, half(4, 64), trains=True)

    assert [
        ("exp", ["first", "second"]),
        ("relufwd", ["product"]),
        ("mul", ["product"]),
    ] == op_lines(forward)
    assert Rule.MERGED_TWIN is attribute(forward)[0].rule
