"""Ops that nobody wrote: halves of a linear layer, restickifies, merged constants."""

from __future__ import annotations

import torch
from bundle_factory import bundle, fx, ir, lines
from scenarios.compiling import half, line_name, op_lines

from torch_spyre_provenance.analysis.attribution import Attributor, attribute
from torch_spyre_provenance.analysis.inserted import MAX_LOCATIONS, MAX_SERVED
from torch_spyre_provenance.analysis.origins import Rule
from torch_spyre_provenance.model import Evidence
from torch_spyre_provenance.report.markdown import render


def test_bias_add_has_its_line_and_says_how(record_one):
    """The addition that a linear layer is split into has a line (torch-spyre#2574)."""
    layer = torch.nn.Linear(64, 64).half().to("spyre")

    def model(x):
        y = layer(x)  # layer
        return torch.relu(y)  # act

    bundle = record_one(model, half(4, 64))

    assert [("batchmatmul", ["layer"]), ("add", ["layer"]), ("relufwd", ["act"])] == (
        op_lines(bundle)
    )
    found = attribute(bundle)
    assert {Evidence.MEASURED} == {each.evidence for each in found}
    assert Rule.REPLACED is found[0].rule


def test_restickify_is_marked_as_inserted_for_its_reader(record_one):
    """It has the product's line, and is not taken for the product (tt-mlir#2635)."""

    def model(a, b):
        return torch.exp(a @ b.t())  # product

    found = attribute(record_one(model, half(64, 64), half(64, 64)))

    copy, product, _ = found
    assert ("ReStickifyOpHBM", "insert_restickify") == (copy.op, copy.pass_name)
    assert (Evidence.INFERRED, Rule.FOR_READERS) == (copy.evidence, copy.rule)
    assert (product.buffer,) == copy.serves
    assert copy.locations == product.locations
    assert (Evidence.MEASURED, ()) == (product.evidence, product.serves)


def test_constant_keeps_the_lines_of_all_that_read_it(record_one):
    """Equal numbers of three lines are one constant with three (llvm/circt#4358)."""

    def model(x):
        a = torch.add(x, x, alpha=3.0)  # first
        b = torch.add(a, x, alpha=3.0)  # second
        return b * 3.0  # third

    recorded = record_one(model, half(4, 64))

    (constant,) = [
        op for op in recorded.loop_ir_post.ops if op.type == "SpyreConstantFallback"
    ]
    places = Attributor(recorded).ir_locations(constant.buffer)
    assert ["first", "second", "third"] == [line_name(place) for place in places]


def many_readers(n: int):
    """Return a bundle whose first two ops, a constant and its copy, serve `n` lines."""
    relu = "aten.relu.default"
    return bundle(
        stacks=lines(*range(n)),
        post=tuple(fx(f"r{i}", relu, stack=i, aten=relu) for i in range(n)),
        later=(fx("c", "spyre.constant.default"), fx("k", "spyre.restickify.default")),
        ir_post=(
            ir(n, "c"),
            ir(n + 1, "k", reads=(f"buf{n}",)),
            *(ir(i, f"r{i}", reads=(f"buf{n + 1}",)) for i in range(n)),
        ),
    )


def test_set_of_lines_that_is_cut_off_keeps_its_count():
    """A constant for 500 lines is bounded, and says of how many (llvm#75415)."""
    n = 500

    constant, copy, *_ = attribute(many_readers(n))

    for found in (constant, copy):
        assert MAX_LOCATIONS == len(found.locations)
        assert n == MAX_LOCATIONS + found.more_locations
        assert (n, MAX_SERVED) == (
            MAX_SERVED + found.more_served,
            len(found.serves),
        )
        assert f"{n - MAX_LOCATIONS} more lines" == found.reason
    report = render(many_readers(n))
    assert f" and {n - MAX_SERVED} more, by `insert_restickify`" in report


def test_fused_op_names_the_line_of_its_origin_node_first():
    """The order of several lines has a meaning (tt-mlir#1745)."""
    relu = "aten.relu.default"
    value = bundle(
        stacks=lines(1, 2, 3),
        post=tuple(fx(name, relu, stack=n, aten=relu) for n, name in enumerate("abc")),
        ir_post=(ir(0, "b", "a", "c"),),
    )

    (found,) = attribute(value)

    assert ("b", "a", "c") == found.nodes
    assert [2, 1, 3] == [place.frame.line for place in found.locations]
