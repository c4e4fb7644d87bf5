"""What a pass did to provenance, found by comparing before and after."""

from __future__ import annotations

import pytest

from torch_spyre_provenance.model import Created, Loss
from torch_spyre_provenance.recording.pass_record import PassRecorder


class Node:
    """A hashable stand-in for an FX node."""

    def __init__(self, name, stack_trace=None):
        self.name = name
        self.meta = {"stack_trace": stack_trace} if stack_trace else {}


class Operation:
    """A stand-in for an operation of LoopLevelIR."""

    def __init__(self, number, origins=(), origin_node=None):
        self.name = f"buf{number}"
        self.number = number
        self.origins = set(origins)
        self.origin_node = origin_node

    def get_operation_name(self):
        """Return the operation's name."""
        return f"op{self.number}"


A, B, MADE = Node("a", "trace"), Node("b", "trace"), Node("made")


def step(before, after, name="pass"):
    """Return the one step recorded for a pass, or None."""
    recorder = PassRecorder()
    recorder.begin(before)
    recorder.end(name, after)
    return recorder.steps[0] if recorder.steps else None


def test_pass_without_effect_leaves_no_step():
    """A pass that changes nothing is not recorded."""
    op = Operation(0, [A], A)

    assert None is step([op], [op])


def test_total_loss_is_charged_to_the_buffer():
    """An operation that had origins and has none is a loss, named with its buffer."""
    recorded = step([Operation(0, [A, B])], [Operation(0)], "drop_all")

    assert "drop_all" == recorded.name
    assert (
        Loss(op="op0", buffer="buf0", what="origins", before=("a", "b"), after=()),
    ) == recorded.losses


def test_partial_loss_is_a_loss():
    """One origin of two gone is found, although one is left."""
    recorded = step([Operation(0, [A, B])], [Operation(0, [A])])

    assert [("a", "b"), ("a",)] == [
        recorded.losses[0].before,
        recorded.losses[0].after,
    ]


def test_lost_and_replaced_origin_node_are_losses():
    """A primary origin that is cleared or exchanged is found by itself."""
    cleared = step([Operation(0, [A], A)], [Operation(0, [A])])
    exchanged = step([Operation(0, [A, B], A)], [Operation(0, [A, B], B)])

    assert [("origin_node", ("a",), ())] == [
        (loss.what, loss.before, loss.after) for loss in cleared.losses
    ]
    assert ("b",) == exchanged.losses[0].after


def test_created_removed_and_rebuilt_are_told_apart():
    """New names, missing names and new objects under old names are three things."""
    kept, gone = Operation(0, [A]), Operation(1, [B])
    recorded = step([kept, gone], [Operation(0, [A]), Operation(2, [MADE])])

    assert ("op1",) == recorded.removed
    assert ("op0",) == recorded.rebuilt
    assert (
        Created(op="op2", buffer="buf2", origins=("made",), has_source=False),
    ) == recorded.created
    assert () == recorded.losses


def test_loss_in_a_pass_that_also_creates_is_found():
    """Making source-less buffers is allowed; losing an old one's origins is not."""
    recorded = step([Operation(0, [A])], [Operation(0), Operation(1, [MADE])])

    assert ["op0"] == [loss.op for loss in recorded.losses]
    assert ["op1"] == [created.op for created in recorded.created]


def test_state_after_one_pass_is_the_state_before_the_next():
    """Passes that follow each other are compared in a chain, and counted."""
    recorder = PassRecorder()
    recorder.begin([Operation(0, [A])])
    op = Operation(0, [A])
    recorder.end("rebuilds", [op])
    recorder.end("nothing", [op])
    op.origins = set()
    recorder.end("drops", [op])

    assert [("rebuilds", 0), ("drops", 2)] == [
        (each.name, each.index) for each in recorder.steps
    ]


@pytest.mark.parametrize("kept", ["buffer", "object", "body"])
def test_renamed_operation_is_known_by_what_it_kept(kept):
    """A pass that renames and drops is found by buffer, object or loop body."""
    old = Operation(0, [A], A)
    old.data = body = object()
    seen = [old]
    recorder = PassRecorder()
    recorder.begin(seen)
    new = old if kept == "object" else Operation(7)
    new.number, new.origins, new.origin_node = 7, set(), None
    new.name = "buf0" if kept == "buffer" else "buf7"
    new.data = body if kept == "body" else object()
    recorder.end("renames", [new])

    (recorded,) = recorder.steps
    assert (("op0",), ["op7"]) == (
        recorded.removed,
        [made.op for made in recorded.created],
    )
    assert [
        ("op7", new.name, "origins", ("a",)),
        ("op7", new.name, "origin_node", ("a",)),
    ] == [(loss.op, loss.buffer, loss.what, loss.before) for loss in recorded.losses]


def test_new_operation_inherits_no_loss_from_one_that_is_gone():
    """Without anything in common it is a removal and a creation, and no loss."""
    recorded = step([Operation(0, [A])], [Operation(7)])

    assert (("op0",), ()) == (recorded.removed, recorded.losses)
