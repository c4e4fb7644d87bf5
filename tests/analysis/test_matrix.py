"""The matrix of stages and fields: measured, and what carries what."""

from __future__ import annotations

import pytest
from attrs import evolve
from bundle_factory import (
    KERNEL,
    bundle,
    fx,
    handle,
    ir,
    kernel,
    lines,
    recorded,
    run_facts,
    sdsc,
    spec,
)

from torch_spyre_provenance.analysis.matrix import CellState, build_matrix
from torch_spyre_provenance.model import (
    DebugHandle,
    Field,
    KernelFiles,
    Presence,
    SourceLoc,
)

RELU = "aten.relu.default"


def symbols(value) -> dict[str, str]:
    """Return each field's six symbols."""
    return {
        row.field: " ".join(cell.symbol for cell in row.cells)
        for row in build_matrix(value)
    }


def test_the_matrix_of_the_seeds_example():
    """Torch 2.11 shows where each field of the small model is dropped."""
    dash = "\N{EN DASH}"
    assert symbols(recorded("simple_mlp_torch2.11")) == {
        "stack_trace": f"✓ ◐ 3/7 {dash} {dash} {dash} {dash}",
        "nn_module_stack": f"◐ 2/3 ◐ 2/7 {dash} {dash} ✗ ✗",
        "source_fn_stack": f"✓ ◐ 3/7 {dash} {dash} ✗ ✗",
        "original_aten": f"{dash} ✓ {dash} {dash} {dash} {dash}",
        "from_node": f"{dash} ◐ 3/7 {dash} {dash} ✗ ✗",
        "origins": f"{dash} {dash} ✓ ✓ {dash} {dash}",
        "origin_node": f"{dash} {dash} ✓ ✓ {dash} {dash}",
        "traceback": f"{dash} {dash} ✗ ✗ ✗ ✗",
        "get_stack_traces": f"{dash} {dash} ◐ 3/5 ◐ 3/5 {dash} {dash}",
        "debug_handle": f"{dash} {dash} {dash} {dash} ✓ ✓",
    }


def small(the_handle: DebugHandle | None):
    """Return a bundle of one op with this handle, in its spec and its file."""
    files = KernelFiles(kernel=KERNEL, directory="/k", sdsc=(sdsc(0, the_handle),))
    return bundle(
        stacks=lines(1),
        pre=(fx("x", "relu", stack=0),),
        post=(fx("relu", RELU, stack=0, aten=RELU, came_from=("x",)),),
        ir_post=(ir(0, "relu"),),
        kernels=(kernel(spec(0, handle=the_handle)),),
        run=run_facts("b", files),
    )


@pytest.mark.parametrize(
    ("the_handle", "carried"),
    [
        (handle("buf0"), set()),
        (handle("relu", "buf0"), {"origins", "origin_node"}),
        (
            DebugHandle(id=1, source=None, aten_op=RELU, ir_chain=()),
            {"original_aten"},
        ),
        (
            DebugHandle(
                id=1,
                source=SourceLoc(file="m.py", start_line=1),
                aten_op=None,
                ir_chain=(),
            ),
            {"stack_trace", "get_stack_traces"},
        ),
        (
            evolve(handle("buf0"), fused_from=(handle("relu", "", start_line=1),)),
            {"stack_trace", "get_stack_traces", "origins", "origin_node"},
        ),
    ],
)
def test_what_a_handle_carries_is_read_from_the_handle(the_handle, carried):
    """A field is carried only if some handle holds what it says."""
    rows = build_matrix(small(the_handle))
    for column in (4, 5):
        elsewhere = {
            row.field for row in rows if row.cells[column].state is CellState.ELSEWHERE
        }
        assert elsewhere == carried


def test_without_a_handle_everything_is_dropped():
    """A front end without handles loses every field at the OpSpec."""
    rows = build_matrix(small(None))
    assert {row.cells[4].state for row in rows} == {CellState.EMPTY}


def test_origins_carry_what_their_nodes_have():
    """The nodes here have no module stack, so that nothing carries it."""
    cells = {row.field: row.cells[2].state for row in build_matrix(small(None))}
    assert cells["stack_trace"] is CellState.ELSEWHERE
    assert cells["nn_module_stack"] is CellState.EMPTY


def test_a_stage_that_was_not_recorded_is_unseen():
    """Not looking and finding nothing are two things."""
    value = bundle(pre=None, post=None, kernels=(kernel(spec(0)),))
    rows = build_matrix(value)
    states = [{row.cells[column].state for row in rows} for column in range(6)]
    unseen = {CellState.UNSEEN}
    assert [found == unseen for found in states] == [True] * 4 + [False, True]


def test_a_failed_look_is_shown():
    """A field whose reading raised is neither there nor absent."""
    node = fx("relu", RELU, stack=0)
    failed = Field(name="from_node", presence=Presence.FAILED)
    value = bundle(
        stacks=lines(1), post=(evolve(node, fields=(*node.fields[:4], failed)),)
    )
    cells = {row.field: row.cells[1].symbol for row in build_matrix(value)}
    assert cells["from_node"] == "!"


def test_an_empty_graph_lacks_nothing():
    """Where there are no objects there is nothing to drop."""
    rows = build_matrix(bundle(ir_post=()))
    states = {cell.state for row in rows for cell in row.cells}
    assert states == {CellState.ELSEWHERE}
