"""The truth about an op, from its extents alone."""

from __future__ import annotations

import pytest
from attrs import evolve

from benchmarks.truth import Expected, Making, Truth, Value
from torch_spyre_provenance.model import Dim, Op, OpArg


def op(name, *extents, kept=None):
    """Return an op over these extents; `kept` are those that its result still has."""
    space = tuple(
        Dim(symbol=f"c{position}", extent=str(extent), split=1)
        for position, extent in enumerate(extents)
    )
    kept = extents if kept is None else kept
    result = OpArg(
        is_input=False,
        arg_index=0,
        device_dtype="SEN169_FP16",
        device_size=(),
        device_coordinates=tuple(
            f"Mod({dim.symbol}, 64)" for dim in space if int(dim.extent) in kept
        ),
    )
    return Op(
        path=(0,),
        op=name,
        is_reduction=len(kept) < len(extents),
        iteration_space=space,
        args=(result,),
    )


def making(line, extent, *ops):
    """Return the making of an extent by one of the file's lines."""
    return Making(place=f"m.py:{line}", extent=extent, ops=frozenset(ops))


def value(*extents, lines):
    """Return a value that these lines touch."""
    places = frozenset(f"m.py:{line}" for line in lines)
    return Value(extents=frozenset(extents), places=places)


TRUTH = Truth(
    makings=(
        making(3, 71, "batchmatmul"),
        making(4, 71, "tanh"),
        making(5, 73),
        making(6, 79),
    ),
    values=(
        value(67, lines=[3]),
        value(71, lines=[3, 4, 5]),
        value(71, 73, lines=[5]),
        value(73, lines=[5, 6]),
        value(79, lines=[6]),
    ),
    reducers={73: "m.py:6"},
    row_lines=frozenset({"m.py:6"}),
)


def needed(line):
    """Return what is expected of an op that belongs to one line."""
    return Expected(allowed=frozenset({f"m.py:{line}"}), needed=f"m.py:{line}")


def test_extent_tells_the_line():
    """An extent that one line makes is that line's, whatever the op."""
    assert needed(6) == TRUTH.expected(op("mul", 16, 79))


def test_product_belongs_to_the_later_extent():
    """A matrix product reduces an earlier line's extent and makes its own."""
    assert needed(5) == TRUTH.expected(op("batchmatmul", 16, 73, 71, kept=(16, 73)))


def test_gradient_of_an_operand_belongs_to_the_later_extent():
    """A product that reduces the later extent is the later line's gradient."""
    assert needed(5) == TRUTH.expected(
        op("batchmatmul", 16, 71, 73, kept=(16, 71)), backward=True
    )


@pytest.mark.parametrize(("name", "line"), [("batchmatmul", 3), ("tanh", 4)])
def test_op_tells_lines_of_one_extent_apart(name, line):
    """Lines that share an extent are told apart by the device's op."""
    assert needed(line) == TRUTH.expected(op(name, 16, 71))


def test_op_that_no_line_claims_may_be_of_any_of_them():
    """Where every line of an extent names its ops, another op tells nothing more."""
    expected = TRUTH.expected(op("exp", 16, 71))

    assert Expected(allowed=frozenset({"m.py:3", "m.py:4"})) == expected


def test_reduction_of_an_earlier_extent_belongs_to_its_reader():
    """A reduction that keeps no extent is the line's that reduces it."""
    assert needed(6) == TRUTH.expected(op("sum", 16, 73, kept=(16,)))
    assert needed(5) == TRUTH.expected(op("sum", 16, 73, kept=(73,)))


def test_row_values_belong_to_the_lines_that_make_some():
    """An op with one element for each row belongs to a line that has such."""
    assert needed(6) == TRUTH.expected(op("rsqrt", 16))


def test_number_may_be_of_any_line():
    """An op over nothing has no extent to tell a line, but it is of some line."""
    lines = frozenset(f"m.py:{line}" for line in (3, 4, 5, 6))

    assert Expected(allowed=lines) == TRUTH.expected(op("identity"))
    assert Expected(allowed=lines) == TRUTH.expected(op("identity", 1))


def test_moved_value_belongs_to_all_that_touch_it():
    """A copy of a value may be attributed to its maker and to each of its readers."""
    expected = TRUTH.expected(op("ReStickifyOpHBM", 16, 71))

    assert Expected(allowed=frozenset({"m.py:3", "m.py:4", "m.py:5"})) == expected


def test_moved_weight_belongs_to_its_reader():
    """A copy of a weight is not its input's, although it has that extent too."""
    expected = TRUTH.expected(op("ReStickifyOpHBM", 71, 73))

    assert Expected(allowed=frozenset({"m.py:5"})) == expected


def test_moved_input_belongs_to_its_reader():
    """A copy of an input that no line makes is its reader's."""
    expected = TRUTH.expected(op("identity", 16, 67))

    assert Expected(allowed=frozenset({"m.py:3"})) == expected


def test_sum_of_gradients_belongs_to_all_readers():
    """Autograd adds up the gradients of a value's readers; in a forward it is plain."""
    backward = TRUTH.expected(op("add", 16, 73), backward=True)

    assert Expected(allowed=frozenset({"m.py:5", "m.py:6"})) == backward
    assert needed(5) == TRUTH.expected(op("add", 16, 73))


def test_merged_dimensions_are_known():
    """A dimension that holds rows and an extent is known by its factors."""
    assert frozenset({73}) == TRUTH.known(["1168", "16", "s0", "0"])


def test_padded_extents_are_unknown():
    """What a compiler rounds an extent up to is no line's."""
    assert frozenset() == TRUTH.known(["128", "64", "192"])


EITHER = Expected(allowed=frozenset({"m.py:3", "m.py:5"}))


@pytest.mark.parametrize(
    ("expected", "claimed", "wrong"),
    [
        (needed(3), [], False),
        (needed(3), ["m.py:3"], False),
        (needed(3), ["m.py:4"], True),
        (needed(3), ["m.py:3", "m.py:4"], True),
        (EITHER, ["m.py:3"], False),
        (EITHER, ["m.py:5", "m.py:3"], False),
        (EITHER, ["m.py:4"], True),
        (Expected(allowed=frozenset()), ["m.py:4"], False),
    ],
)
def test_wrong(expected, claimed, wrong):
    """An attribution is wrong if it names a line too many or not the needed one."""
    assert wrong is expected.is_wrong(claimed)


def filling(*extents, shifted):
    """Return an op that writes a number over these extents, one of them shifted."""
    filled = op("identity", *extents)
    (result,) = filled.args
    places = tuple(
        f"c{position} + 64" if extent == shifted else f"c{position}"
        for position, extent in enumerate(extents)
    )
    number = evolve(result, is_input=True, device_coordinates=("0", "0"))
    return evolve(filled, args=(number, evolve(result, device_coordinates=places)))


def test_what_a_filling_leaves_over_is_no_extent():
    """A stick's rest may be as long as another line's extent, or a multiple of it."""
    alone = TRUTH.expected(filling(71, 2, shifted=71))
    beside = TRUTH.expected(filling(71, 79, shifted=71))

    assert not alone.is_wrong(["m.py:6"])
    assert not beside.is_wrong(["m.py:6"])
    assert beside.is_wrong(["m.py:3"])
