"""The difference of two compiles: what is told, and what is no difference."""

from __future__ import annotations

import pytest
from attrs import evolve
from bundle_factory import RECORDED, bundle, fx, ir, kernel, line, recorded, spec

from torch_spyre_provenance.analysis.diff import Regrouping, compare
from torch_spyre_provenance.model import Bundle, Evidence, Loss, PassStep
from torch_spyre_provenance.report.differences import difference_text

RELU, ADD = "aten.relu.default", "aten.add.Tensor"


def model(*ops: tuple[str, int | None], first: int = 0, cut: int | None = None):
    """Return a bundle with an op for each operator and line.

    The buffers are numbered from `first`; the kernel is cut in two before op `cut`.
    """
    numbers = range(first, first + len(ops))
    stacks = tuple(line(number) for _, number in ops if number is not None)
    post, n = [], 0
    for name, (target, number) in zip(numbers, ops, strict=True):
        post.append(
            fx(f"n{name}", target, stack=None if number is None else n, aten=target)
        )
        n += number is not None
    specs = [spec(number, "relufwd") for number in numbers]
    specs = [evolve(one, path=(n,)) for n, one in enumerate(specs)]
    parts = [specs] if cut is None else [specs[:cut], specs[cut:]]
    return bundle(
        stacks=stacks,
        pre=None,
        post=tuple(post),
        ir_post=tuple(ir(number, f"n{number}") for number in numbers),
        kernels=tuple(kernel(*part, name=f"k{n}") for n, part in enumerate(parts)),
    )


def losing(value: Bundle, *ops: str) -> Bundle:
    """Return a bundle in which a pass loses the origins of some operations."""
    losses = tuple(
        Loss(op=op, buffer=None, what="origins", before=("a",), after=()) for op in ops
    )
    return evolve(value, passes=(PassStep(name="fuse", index=0, losses=losses),))


@pytest.mark.parametrize("name", RECORDED)
def test_a_compile_does_not_differ_from_itself(name: str):
    """Nothing changed, and the text says so."""
    found = compare(recorded(name), recorded(name))

    assert found.is_empty
    assert not found.is_regression
    assert difference_text(found) == "no difference"


def test_another_run_is_no_difference():
    """Time, host, directories and the names of buffers do not count."""
    one, other = model((RELU, 1), (ADD, 2)), model((RELU, 1), (ADD, 2), first=7)
    other = evolve(other, run=evolve(other.run, host="other", time="later", pid=1))

    assert compare(one, other).is_empty


def test_two_releases_of_torch_differ_in_what_is_known():
    """Since torch 2.13, a bias addition has a stack of its own."""
    found = compare(recorded("simple_mlp_torch2.11"), recorded("simple_mlp_torch2.13"))
    rules = [(p.before.found.rule, p.after.found.rule) for p in found.evidence]

    assert (found.gained, found.lost, found.moved, found.regrouped) == ((), (), (), ())
    assert [pair.after.found.op for pair in found.evidence] == ["add", "add"]
    assert rules == [("replaced", "own-stack")] * 2
    assert not found.is_regression


def test_an_op_in_the_middle_renumbers_no_other():
    """One op more is one op gained, whatever the buffers are called now."""
    found = compare(
        model((RELU, 1), (RELU, 3)), model((RELU, 1), (ADD, 2), (RELU, 3), first=1)
    )

    assert [op.numbers for op in found.gained] == [(2,)]
    assert (found.lost, found.moved, found.evidence) == ((), (), ())
    assert not found.is_regression


def test_an_op_that_is_gone_is_lost():
    """The other way round."""
    found = compare(model((RELU, 1), (ADD, 2)), model((RELU, 1)))

    assert [op.numbers for op in found.lost] == [(2,)]
    assert found.gained == ()


def test_lines_that_moved_are_paired():
    """An op whose line is now three lines further down is the same op."""
    stay, away = model((RELU, 1), (ADD, 2)), model((RELU, 1), (ADD, 5))
    found = compare(stay, away)
    (pair,) = found.moved

    assert (pair.before.numbers, pair.after.numbers) == ((2,), (5,))
    assert (found.gained, found.lost) == ((), ())
    assert not found.is_regression


def test_a_lost_line_is_a_regression():
    """An op that had a line and has none is told as such, not as lost and gained."""
    found = compare(model((RELU, 1), (RELU, 2)), model((RELU, 1), (RELU, None)))
    (pair,) = found.evidence

    assert (found.gained, found.lost) == ((), ())
    assert pair.after.found.evidence is Evidence.MISSING
    assert found.weakened == (pair,)
    assert found.is_regression
    assert "! evidence k0:1 relufwd  measured (own-stack) -> missing" in (
        difference_text(found)
    )


def test_a_found_line_is_no_regression():
    """The other way round, provenance got better."""
    found = compare(model((RELU, 1), (RELU, None)), model((RELU, 1), (RELU, 2)))

    assert len(found.evidence) == 1
    assert not found.is_regression


def test_a_new_op_without_a_line_is_a_regression():
    """A pass that inserts an op has to say where it is from."""
    found = compare(model((RELU, 1)), model((RELU, 1), (ADD, None)))

    assert [op.found.path for op in found.unplaced] == [(1,)]
    assert found.is_regression


def test_kernels_that_were_split_are_regrouped():
    """The ops are the same; they are in two kernels now."""
    ops = ((RELU, 1), (RELU, 2), (RELU, 3))
    found = compare(model(*ops), model(*ops, cut=2))

    assert found.regrouped == (Regrouping(before=("k0",), after=("k0", "k1")),)
    assert (found.gained, found.lost, found.moved) == ((), (), ())


def test_losses_are_compared_by_pass():
    """One more is a regression, one less is none."""
    value = model((RELU, 1), (RELU, 2))
    one, two = losing(value, "op0"), losing(value, "op0", "op1")
    (change,) = compare(one, two).losses

    assert (change.what, change.before, change.after) == ("fuse: origins", 1, 2)
    assert compare(one, two).is_regression
    assert not compare(two, one).is_regression
    assert compare(two, two).is_empty
