"""Equal calls that were computed once: when a node has their lines, and when not."""

from __future__ import annotations

import pytest
from bundle_factory import bundle, fx, lines

from torch_spyre_provenance.analysis.index import BundleIndex
from torch_spyre_provenance.analysis.origins import Origin, Rule
from torch_spyre_provenance.analysis.siblings import resolve_origins
from torch_spyre_provenance.model import Evidence

EXP = "aten.exp.default"
MUL = "aten.mul.Tensor"
RELU = "aten.relu.default"


def origins(pre, post) -> dict[str, Origin]:
    """Return the origins of a graph whose stack ``n`` is line ``n``."""
    return dict(
        resolve_origins(
            BundleIndex(bundle(stacks=lines(*range(9)), pre=pre, post=post))
        )
    )


def call(name: str, target: str, stack: int | None, *inputs: str):
    """Return a call of the model."""
    return fx(name, target, *inputs, stack=stack)


def node(name: str, aten: str, of: str, stack: int, *inputs: str):
    """Return the node of a call."""
    return fx(name, aten, *inputs, stack=stack, aten=aten, came_from=(of,))


TWINS = (call("a", "exp", 1, "x"), call("b", "exp", 2, "x"))


def test_node_of_two_equal_calls_has_both_lines():
    """``b`` is read by a call that never read ``a``, and whose node reads ``a``'s."""
    pre = (*TWINS, call("r", "relu", 3, "a"), call("m", "mul", 4, "r", "b"))
    post = (
        node("exp", EXP, "a", 1, "x"),
        node("relu", RELU, "r", 3, "exp"),
        node("mul", MUL, "m", 4, "relu", "exp"),
    )

    found = origins(pre, post)["exp"]

    assert ((1, 2), ("a", "b")) == (found.stacks, found.calls)
    assert (Evidence.INFERRED, Rule.MERGED_TWIN) == (found.evidence, found.rule)


def test_calls_of_equal_calls_are_equal():
    """Chains are merged whole; what reads the last one proves all of them."""
    pre = (
        *TWINS,
        call("r", "relu", 3, "a"),
        call("s", "relu", 4, "b"),
        call("m", "mul", 5, "s", "y"),
    )
    post = (
        node("exp", EXP, "a", 1, "x"),
        node("relu", RELU, "r", 3, "exp"),
        node("mul", MUL, "m", 5, "relu", "y"),
    )

    found = origins(pre, post)

    assert [(1, 2), (3, 4), (5,)] == [found[n].stacks for n in ("exp", "relu", "mul")]


def test_two_turns_of_a_loop_stay_one_measured_line():
    """Where both calls are of one line, there is nothing to infer about lines."""
    pre = (
        call("a", "exp", 1, "x"),
        call("b", "exp", 1, "x"),
        call("r", "relu", 2, "a"),
        call("m", "mul", 3, "r", "b"),
    )
    post = (
        node("exp", EXP, "a", 1, "x"),
        node("relu", RELU, "r", 2, "exp"),
        node("mul", MUL, "m", 3, "relu", "exp"),
    )

    found = origins(pre, post)["exp"]

    assert ((1,), ("a", "b")) == (found.stacks, found.calls)
    assert (Evidence.MEASURED, Rule.OWN_STACK) == (found.evidence, found.rule)


@pytest.mark.parametrize(
    "reader",
    [
        pytest.param(call("m", "mul", 3, "a", "b"), id="asked for the other one too"),
        pytest.param(call("m", "mul", 3, "c", "b"), id="does not read its node"),
        pytest.param(call("m", "mul", 3, "a"), id="never asked for it"),
    ],
)
def test_without_proof_there_is_no_second_line(reader):
    """Equal inputs are not equal calls: numbers among the arguments may differ."""
    pre = (call("c", "relu", 0, "x"), *TWINS, reader)
    read = "relu" if "c" in reader.inputs else "exp"
    post = (
        node("relu", RELU, "c", 0, "x"),
        node("exp", EXP, "a", 1, "x"),
        node("mul", MUL, "m", 3, read),
    )

    assert (1,) == origins(pre, post)["exp"].stacks


def test_calls_that_have_nodes_of_their_own_are_not_merged():
    """Two nodes are two ops, however equal they look."""
    pre = (*TWINS, call("m", "mul", 3, "b", "y"))
    post = (
        node("exp", EXP, "a", 1, "x"),
        node("exp_1", EXP, "b", 2, "x"),
        node("mul", MUL, "m", 3, "exp_1"),
    )

    found = origins(pre, post)

    assert [(1,), (2,)] == [found[name].stacks for name in ("exp", "exp_1")]
