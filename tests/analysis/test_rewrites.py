"""What became of what, pass by pass: splits, merges, and one for one."""

from __future__ import annotations

from attrs import evolve
from bundle_factory import bundle, fx, ir, lines, step

from torch_spyre_provenance.analysis.attribution import Attributor
from torch_spyre_provenance.analysis.lineage import Level, build_lineage
from torch_spyre_provenance.analysis.rewrites import Shape, find_rewrites
from torch_spyre_provenance.model import Bundle, Created, Evidence, IrOp, PassStep

EXP = "aten.exp.default"
RELU = "aten.relu.default"
POST = (
    fx("relu", RELU, "x", stack=0, aten=RELU),
    fx("exp", EXP, "relu", stack=1, aten=EXP),
)
RELU_OP, EXP_OP = ir(0, "relu"), ir(1, "exp", reads=("buf0",))


def passed(*steps: PassStep, after: tuple[IrOp, ...], later=()) -> Bundle:
    """Return a bundle of relu and exp after these passes."""
    value = bundle(
        stacks=lines(1, 2),
        post=POST,
        ir_pre=(RELU_OP, EXP_OP),
        ir_post=after,
        later=later,
    )
    return evolve(value, passes=steps)


def created(op: IrOp) -> Created:
    """Return the record of an operation's making."""
    return Created(op=op.name, buffer=op.buffer, origins=op.origins, has_source=True)


def found(value: Bundle) -> list[tuple[Shape, tuple[str, ...], tuple[str, ...]]]:
    """Return the shape, the old and the new operations of each rewrite."""
    return [(each.shape, each.old, each.new) for each in find_rewrites(value)]


def ir_edges(value: Bundle) -> set[tuple[str, str, str]]:
    """Return the edges from LoopLevelIR to LoopLevelIR, with what they go by."""
    return {
        (edge.start.key, edge.end.key, edge.rule)
        for edge in build_lineage(Attributor(value)).edges
        if edge.start.level is Level.LOOP_IR_PRE and edge.evidence is Evidence.MEASURED
    }


def test_an_operation_that_is_split_became_many():
    """The part that keeps the name is one of them, with those that it lost to."""
    part = ir(2, "part")
    made_from_exp = fx("part", "aten.mul.Tensor", came_from=(step("exp"),))
    value = passed(
        PassStep(name="split", index=0, created=(created(part),)),
        after=(RELU_OP, part, EXP_OP),
        later=(made_from_exp,),
    )
    assert found(value) == [(Shape.ONE_TO_MANY, ("op1",), ("op1", "op2"))]
    assert ("buf1", "buf2", "from_node") in ir_edges(value)


def test_operations_that_are_merged_became_one():
    """The one that stays has the origins of the one that is gone."""
    both = evolve(EXP_OP, origins=("exp", "relu"), reads=())
    value = passed(PassStep(name="fuse", index=0, removed=("op0",)), after=(both,))
    assert found(value) == [(Shape.MANY_TO_ONE, ("op0", "op1"), ("op1",))]
    assert find_rewrites(value)[0].gained == ("relu",)
    assert {("buf0", "buf1", "origins"), ("buf1", "buf1", "buffer")} == ir_edges(value)


def test_operations_that_a_new_one_takes_the_place_of_became_one():
    """A new operation with the origins of two that are gone is made of both."""
    both = ir(5, "exp", "relu")
    fuse = PassStep(name="f", index=0, removed=("op0", "op1"), created=(created(both),))
    value = passed(fuse, after=(both,))
    assert found(value) == [(Shape.MANY_TO_ONE, ("op0", "op1"), ("op5",))]
    assert {("buf0", "buf5", "origins"), ("buf1", "buf5", "origins")} == ir_edges(value)


def test_a_new_object_or_a_new_name_is_one_for_one():
    """One operation was rebuilt, another one made anew under another name."""
    again = ir(7, "relu")
    value = passed(
        PassStep(name="rebuild", index=0, rebuilt=("op1",)),
        PassStep(name="name", index=1, removed=("op0",), created=(created(again),)),
        after=(again, EXP_OP),
    )
    assert found(value) == [
        (Shape.ONE_TO_ONE, ("op1",), ("op1",)),
        (Shape.ONE_TO_ONE, ("op0",), ("op7",)),
    ]
    assert [each.pass_name for each in find_rewrites(value)] == ["rebuild", "name"]


def test_two_that_were_cut_anew_became_two():
    """Where both new ones have something of both old ones, nothing is told apart."""
    one, two = ir(5, "exp", "relu"), ir(6, "exp", "relu")
    made = (created(one), created(two))
    value = passed(
        PassStep(name="cut", index=0, removed=("op0", "op1"), created=made),
        after=(one, two),
    )
    assert found(value) == [(Shape.MANY_TO_MANY, ("op0", "op1"), ("op5", "op6"))]


def test_what_a_later_pass_makes_of_what_an_earlier_one_made():
    """A pass's operations are those that the passes before it left."""
    first, second = ir(5, "exp"), ir(6, "exp")
    value = passed(
        PassStep(name="a", index=0, removed=("op1",), created=(created(first),)),
        PassStep(name="b", index=1, removed=("op5",), created=(created(second),)),
        after=(RELU_OP, second),
    )
    assert found(value) == [
        (Shape.ONE_TO_ONE, ("op1",), ("op5",)),
        (Shape.ONE_TO_ONE, ("op5",), ("op6",)),
    ]


def test_insertions_and_removals_are_no_rewrites():
    """A restickify is made of nothing, and of dead code nothing is left."""
    copy = ir(2, "restickify")
    value = passed(
        PassStep(name="dead", index=0, removed=("op1",)),
        PassStep(name="insert", index=1, created=(created(copy),)),
        after=(RELU_OP, copy),
        later=(fx("restickify", "spyre.restickify.default"),),
    )
    assert found(value) == []


def test_without_observed_passes_nothing_is_said():
    """Nobody saw them, or one end of the pipeline."""
    value = passed(PassStep(name="p", index=0, rebuilt=("op1",)), after=(EXP_OP,))
    assert found(evolve(value, passes=None)) == []
    assert found(evolve(value, loop_ir_pre=None)) == []
