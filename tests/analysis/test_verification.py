"""Verification: whole bundles pass, and each kind of damage is found where it is."""

from __future__ import annotations

import pytest
from attrs import evolve
from bundle_factory import (
    RECORDED,
    bundle,
    fx,
    handle,
    ir,
    kernel,
    recorded,
    run_facts,
    sdsc,
    spec,
)

from torch_spyre_provenance.analysis.verification import (
    Check,
    compare_files,
    verify,
)
from torch_spyre_provenance.model import KernelFiles

KERNEL = "sdsc_fused_0"


def found(value):
    """Return the checks that found something, and where."""
    return [(each.check, each.where) for each in verify(value)]


def small(**parts):
    """Return a bundle of two nodes, two operations and one kernel."""
    whole = {
        "post": (fx("mm", "aten.mm.default"), fx("relu", "aten.relu.default", "mm")),
        "ir_post": (ir(0, "mm"), ir(1, "relu", reads=("buf0",))),
    }
    return bundle(**{**whole, **parts})


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_bundles_are_whole(name):
    """What the recorder writes hangs together."""
    assert () == verify(recorded(name))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            small(post=(fx("mm", "aten.mm.default"), fx("relu", "x", "mm", "gone"))),
            [(Check.REFERENCE, "$.fx_post_grad.nodes[1].inputs")],
        ),
        (
            small(post=(fx("mm", "x"), fx("mm", "x"), fx("relu", "x"))),
            [(Check.NAME, "$.fx_post_grad.nodes")],
        ),
        (
            small(ir_post=(ir(0, "mm"), ir(1, "gone"))),
            [
                (Check.REFERENCE, "$.loop_ir_pre.ops[1].origins"),
                (Check.REFERENCE, "$.loop_ir_post.ops[1].origins"),
            ],
        ),
        (
            small(kernels=(evolve(kernel(spec(0), spec(1)), ir_ops=("op0",)),)),
            [(Check.INVERSE, "$.kernels[0].ops[1].buffer")],
        ),
        (
            small(
                kernels=(
                    kernel(spec(0), name="a"),
                    evolve(kernel(spec(1), name="b"), ir_ops=("op0", "op1")),
                )
            ),
            [(Check.INVERSE, "$.kernels[1].ir_ops")],
        ),
        (
            small(kernels=(evolve(kernel(spec(0)), ir_ops=("op0", "op7")),)),
            [(Check.REFERENCE, "$.kernels[0].ir_ops")],
        ),
        (
            small(
                kernels=(
                    kernel(spec(0, handle=evolve(handle("mm", "buf0"), id=7)), spec(1)),
                )
            ),
            [(Check.ID, "$.kernels[0].ops[0].handle")],
        ),
        (
            small(
                run=run_facts("x", KernelFiles(kernel="other", directory="/k", sdsc=()))
            ),
            [(Check.REFERENCE, "$.run.files[0].kernel")],
        ),
        (
            small(
                run=run_facts(
                    "x",
                    KernelFiles(
                        kernel=KERNEL,
                        directory="/k",
                        sdsc=(sdsc(0),),
                        executes=("sdsc_0.json", "sdsc_9.json"),
                    ),
                )
            ),
            [(Check.REFERENCE, "$.run.files[0].executes")],
        ),
    ],
)
def test_damage_is_found_where_it_is(value, expected):
    """Each check names the part of the bundle that it is about, and no other."""
    assert expected == found(value)


def test_an_id_of_an_unknown_recipe_is_no_defect():
    """A newer torch-spyre may make its ids in another way."""
    wrong = kernel(spec(0, handle=evolve(handle("mm", "buf0"), id=7)), spec(1))
    value = small(kernels=(wrong,))
    other = evolve(value, compile=evolve(value.compile, front_end="torch-spyre"))
    assert [] == found(other)


def test_shared_and_stale_files_are_told_and_are_no_defects():
    """torch-spyre shares SDSC files and keeps those of equal kernels."""
    mine, others = handle("mm", "buf0"), handle("else", "buf0")
    files = KernelFiles(
        kernel=KERNEL,
        directory="/k",
        sdsc=(sdsc(0, others), sdsc(1)),
        executes=("sdsc_0.json", "sdsc_1.json", "sdsc_1.json"),
    )
    value = small(
        ir_post=(ir(0, "mm"), ir(1, "relu"), ir(2, "relu")),
        kernels=(kernel(spec(0, handle=mine), spec(1), spec(2)),),
        run=run_facts("x", files),
    )
    assert [
        (Check.STALE, "/k/sdsc_0.json"),
        (Check.SHARED, "/k/sdsc_1.json"),
        (Check.SHARED, "/k/sdsc_1.json"),
    ] == found(value)
    assert not any(each.check.is_defect for each in verify(value))


def test_files_on_disk_are_compared_one_by_one():
    """Gone, added, other content, another order: four findings."""
    then = KernelFiles(
        kernel=KERNEL,
        directory="/k",
        sdsc=(sdsc(0), sdsc(1)),
        executes=("sdsc_0.json", "sdsc_1.json"),
    )
    now = evolve(
        then,
        sdsc=(evolve(sdsc(0), sha256="1" * 64), sdsc(2)),
        executes=("sdsc_0.json", "sdsc_2.json"),
    )
    value = small(run=run_facts("x", then))
    assert () == compare_files(value, {KERNEL: then}, None)
    assert [
        (Check.CHANGED, "/k/sdsc_0.json"),
        (Check.MISSING, "/k/sdsc_1.json"),
        (Check.ADDED, "/k/sdsc_2.json"),
        (Check.CHANGED, "/k/bundle.mlir"),
    ] == [(f.check, f.where) for f in compare_files(value, {KERNEL: now}, None)]
    assert [(Check.MISSING, "/k")] == [
        (f.check, f.where) for f in compare_files(value, {KERNEL: None}, None)
    ]


@pytest.mark.parametrize(
    ("now", "expected"),
    [("a" * 64, []), ("b" * 64, [Check.CHANGED]), (None, [Check.MISSING])],
)
def test_the_generated_module_is_compared(now, expected):
    """Its digest at the time of the compile is part of the bundle."""
    run = evolve(run_facts("x"), module="/c/m.py", module_sha256="a" * 64)
    assert expected == [each.check for each in compare_files(small(run=run), {}, now)]
