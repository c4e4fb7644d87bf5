"""Comparing our lines with those of the front end's own handles."""

from __future__ import annotations

from bundle_factory import FILE, bundle, fx, handle, ir, kernel, line, lines, spec

from torch_spyre_provenance.analysis.agreement import Agreement, compare_handles
from torch_spyre_provenance.analysis.attribution import attribute
from torch_spyre_provenance.model import Bundle, SourceLoc

RELU = "aten.relu.default"


def agreement(value: Bundle) -> Agreement:
    """Compare the ops of a bundle."""
    ops = (op for _, op in value.ops)
    return compare_handles(zip(ops, attribute(value), strict=True))


def test_every_op_is_counted_once():
    """The same line, another line, a line on one side only, and none."""
    handles = (
        handle("a", "buf0", start_line=1),
        handle("b", "buf1", start_line=9),
        handle("c", "buf2"),
        handle("lost", "buf3", start_line=4),
        None,
    )
    found = agreement(
        bundle(
            stacks=lines(1, 2, 3),
            pre=None,
            post=(
                fx("a", RELU, stack=0, aten=RELU),
                fx("b", RELU, stack=1, aten=RELU),
                fx("c", RELU, stack=2, aten=RELU),
                fx("lost", RELU, aten=RELU),
            ),
            ir_post=(ir(0, "a"), ir(1, "b"), ir(2, "c"), ir(3, "lost"), ir(4)),
            kernels=(kernel(*(spec(n, handle=h) for n, h in enumerate(handles))),),
        )
    )
    assert (found.agree, found.only_ours, found.only_theirs, found.neither) == (
        1,
        1,
        1,
        1,
    )
    (difference,) = found.differ
    assert difference.theirs == SourceLoc(file=FILE, start_line=9)
    assert [place.frame.line for place in difference.ours.locations] == [2]


def test_a_frame_further_in_is_no_difference():
    """The front end names a library's line; ours is the call of the user's."""
    library = "/v/site-packages/hf/model.py"
    inner = handle("a", "buf0", start_line=1)
    found = agreement(
        bundle(
            stacks=((*line(7, file=library), *line(1)),),
            post=(fx("a", RELU, stack=0, aten=RELU),),
            ir_post=(ir(0, "a"),),
            kernels=(kernel(spec(0, handle=inner)),),
        )
    )
    assert (found.agree, found.differ) == (1, ())
