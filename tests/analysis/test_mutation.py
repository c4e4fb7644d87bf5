"""Which calls share memory that one of them changes."""

from __future__ import annotations

import pytest
from bundle_factory import bundle, fx

from torch_spyre_provenance.analysis.aten import changes_in_place, plain_name
from torch_spyre_provenance.analysis.index import BundleIndex
from torch_spyre_provenance.analysis.mutation import MOST_BESIDE, shared_memory


def shared(*calls) -> dict[str, frozenset[str]]:
    """Return the calls that share changed memory, by call."""
    index = BundleIndex(bundle(pre=calls))
    return shared_memory(index.pre_nodes, index.pre_users)


@pytest.mark.parametrize(
    ("target", "changes"),
    [
        ("add_", True),
        ("_operator.iadd", True),
        ("_operator.setitem", True),
        ("__imul__", True),
        ("torch.nn.functional.relu", True),
        ("_operator.add", False),
        ("__add__", False),
        ("torch.exp", False),
    ],
)
def test_what_changes_in_place(target, changes):
    """Methods with an underscore, augmented operators, and what has ``inplace``."""
    assert changes_in_place(target) is changes


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("_operator.truediv", "div"),
        ("_operator.imul", "mul"),
        ("__rsub__", "sub"),
        ("__matmul__", "matmul"),
        ("add_", "add"),
        ("torch.rsqrt", "rsqrt"),
        ("torch.square", "pow"),
        (None, ""),
    ],
)
def test_operator_behind_a_call(target, name):
    """However it is written, it is one operator."""
    assert plain_name(target) == name


def test_readers_of_an_input_that_is_changed_share_it():
    """An input of the model is no call, and its memory is changed all the same."""
    everyone = frozenset({"changed", "y", "z"})
    found = shared(
        fx("changed", "neg_", "a"),
        fx("y", "torch.exp", "a"),
        fx("z", "torch.tanh", "a"),
        fx("other", "torch.tanh", "b"),
    )
    assert found == dict.fromkeys(everyone, everyone)


def test_a_change_through_a_view_is_one_of_the_whole():
    """Who reads the value reads what was written into a part of it."""
    found = shared(
        fx("x", "torch.exp", "a"),
        fx("part", "narrow", "x"),
        fx("changed", "mul_", "part", "b"),
        fx("y", "torch.tanh", "x"),
    )
    assert found["y"] == frozenset({"x", "part", "changed", "y"})


def test_without_a_change_nothing_is_shared():
    """Views alone change nothing."""
    assert shared(fx("x", "narrow", "a"), fx("y", "torch.tanh", "x")) == {}


def test_one_that_reads_two_changed_values_is_of_both_groups():
    """It may come after either change."""
    found = shared(
        fx("c", "neg_", "a"), fx("d", "neg_", "b"), fx("y", "torch.add", "a", "b")
    )
    assert found["y"] == frozenset({"c", "d", "y"})
    assert found["c"] == frozenset({"c", "y"})


def test_groups_that_are_too_large_are_not_joined():
    """Such a group tells nothing, and joining many would take long."""
    readers = [fx(f"y{n}", "torch.exp", "a", "b") for n in range(MOST_BESIDE + 1)]
    found = shared(fx("c", "neg_", "a"), fx("d", "neg_", "b"), *readers)
    assert MOST_BESIDE < len(found["y0"]) <= len(readers) + 1
