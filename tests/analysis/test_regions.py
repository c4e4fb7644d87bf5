"""What a rewrite made of several calls has all their lines."""

from __future__ import annotations

import pytest
from attrs import evolve
from bundle_factory import bundle, fx, lines

from torch_spyre_provenance.analysis.index import BundleIndex
from torch_spyre_provenance.analysis.origins import Origin, Rule
from torch_spyre_provenance.analysis.siblings import resolve_origins
from torch_spyre_provenance.model import Evidence

BMM = "aten.bmm.default"
SOFTMAX = "aten._softmax.default"
PRE = (
    fx("scores", "_operator.matmul", "q", "k", stack=1),
    fx("scaled", "_operator.mul", "scores", stack=2),
    fx("weights", "torch.softmax", "scaled", stack=3),
)
ABOVE = fx("bmm", BMM, "q", "k", stack=1, aten=BMM, came_from=("scores",))
BELOW = fx(
    "exp", "aten.exp.default", "sub", stack=3, aten=SOFTMAX, came_from=("weights",)
)


def lost(name: str, operator: str, *inputs: str):
    """Return a node that a rewrite made; nothing but its operator is known."""
    return fx(name, operator, *inputs, aten=operator)


def origins(*post, pre=PRE) -> dict[str, Origin]:
    """Return the origins of a post-grad graph."""
    value = bundle(stacks=lines(0, 1, 2, 3), pre=pre, post=post)
    return dict(resolve_origins(BundleIndex(value)))


REWRITTEN = (
    ABOVE,
    lost("amax", "aten.amax.default", "abs"),
    lost("abs", "aten.abs.default", "sign"),
    lost("sign", "aten.sign.default", "bmm", "amax"),
    lost("sub", "aten.sub.Tensor", "amax", "sign"),
    BELOW,
)
"""What a scaled softmax is rewritten to: scale and softmax as one, not the product."""


def on_lines(*numbers: int):
    """Return the pre-grad graph with its calls on these lines."""
    return tuple(evolve(c, stack=n) for c, n in zip(PRE, numbers, strict=True))


def test_a_rewritten_pattern_has_the_line_of_its_calls():
    """Scale and softmax are written on one line, and what became of them is of it."""
    found = origins(*REWRITTEN[:-1], evolve(BELOW, stack=2), pre=on_lines(1, 2, 2))
    expected = Origin(
        stacks=(2,),
        calls=("scaled", "weights"),
        calls_evidence=Evidence.INFERRED,
        evidence=Evidence.INFERRED,
        rule=Rule.REGION,
    )
    assert found["abs"] == expected
    assert found["amax"] == expected


def test_a_rewritten_pattern_of_two_lines_gets_none():
    """Nothing tells which node is of which line, or whether all are of both."""
    found = origins(*REWRITTEN)
    assert {found[name].stacks for name in ("abs", "amax")} == {()}


@pytest.mark.parametrize("end", ["above", "below"])
def test_a_region_that_begins_or_ends_with_the_graph_gets_no_line(end):
    """Any calls up to there may be inside of it."""
    entry = lost("neg", "aten.neg.default", "x")
    body = [*REWRITTEN[:-1], evolve(BELOW, stack=2)]
    if end == "above":
        body[2] = lost("abs", "aten.abs.default", "sign", "neg")
        body.append(entry)
    else:
        body.append(lost("neg", "aten.neg.default", "abs"))
    found = origins(*body, pre=on_lines(1, 2, 2))
    assert {found[name].stacks for name in ("abs", "amax")} == {()}


def test_a_region_beside_a_change_in_place_gets_no_line():
    """What reads the memory afterwards is no reader in the graph of calls."""
    calls = (*on_lines(1, 2, 2), fx("changed", "mul_", "scaled", stack=3))
    found = origins(*REWRITTEN[:-1], evolve(BELOW, stack=2), pre=calls)
    assert {found[name].stacks for name in ("abs", "amax")} == {()}


def test_a_node_of_an_operator_that_a_call_beside_has_gets_no_line():
    """It may be the only node of that call."""
    calls = (*on_lines(1, 2, 2), fx("z", "torch.abs", "scores", stack=3))
    found = origins(*REWRITTEN[:-1], evolve(BELOW, stack=2), pre=calls)
    assert found["abs"].stacks == ()


def test_a_node_with_one_call_beside_it_is_that_calls():
    """Right behind the product only the scale can come."""
    found = origins(ABOVE, lost("mul", "aten.mul.Tensor", "bmm"), BELOW)
    assert (found["mul"].stacks, found["mul"].rule) == ((2,), Rule.DATA_FLOW)


def test_a_call_that_kept_a_node_of_its_own_is_not_part_of_a_region():
    """The scale is there; what lies behind it is the softmax alone."""
    scaled = fx(
        "mul",
        "aten.mul.Tensor",
        "bmm",
        stack=2,
        aten="aten.mul.Tensor",
        came_from=("scaled",),
    )
    found = origins(
        ABOVE,
        scaled,
        lost("amax", "aten.amax.default", "mul"),
        lost("sub", "aten.sub.Tensor", "mul", "amax"),
        BELOW,
    )
    assert {found["amax"].stacks, found["sub"].stacks} == {(3,)}


def test_a_product_inside_a_region_gets_no_line():
    """A product is one call's alone; several lines for it would be wrong ones."""
    found = origins(
        ABOVE,
        lost("mm", "aten.mm.default", "bmm"),
        lost("sub", "aten.sub.Tensor", "mm"),
        BELOW,
    )
    assert found["mm"].stacks == ()


def test_what_a_pass_made_inside_a_region_gets_no_line():
    """It may be a product by another name."""
    found = origins(
        ABOVE,
        lost("amax", "aten.amax.default", "made"),
        fx("made", "vendor.new.op", "sign"),
        lost("sign", "aten.sign.default", "bmm", "amax"),
        lost("sub", "aten.sub.Tensor", "amax", "sign"),
        evolve(BELOW, stack=2),
        pre=on_lines(1, 2, 2),
    )
    assert found["amax"].stacks == (2,)
    assert found["made"].stacks == ()


def test_a_region_of_half_the_model_gets_no_line():
    """So many lines would say nothing."""
    calls = [fx(f"c_{n}", "mul", f"c_{n - 1}", stack=n % 4) for n in range(40)]
    post = [fx("last", "aten.exp.default", "sub", stack=3, came_from=("c_39",))]
    found = origins(
        lost("abs", "aten.abs.default", "x"),
        lost("sub", "aten.sub.Tensor", "abs"),
        *post,
        pre=tuple(calls),
    )
    assert found["abs"].stacks == ()


def test_a_region_with_nothing_known_beside_it_gets_no_line():
    """Nothing bounds it, so nothing follows."""
    found = origins(lost("abs", "aten.abs.default", "x"))
    assert found["abs"].stacks == ()
