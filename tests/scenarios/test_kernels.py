"""Kernels and their files: what each runs, in order, whoever shares a file."""

from __future__ import annotations

import pytest
import torch
from attrs import evolve
from bundle_factory import bundle as make_bundle
from bundle_factory import fx, handle, ir, kernel, lines, run_facts, spec
from scenarios.compiling import half, op_lines, record_into

from torch_spyre_provenance.analysis.attribution import attribute
from torch_spyre_provenance.analysis.sdsc import LinkState, link_files
from torch_spyre_provenance.model import KernelFiles


def model(x, y, w):
    """Two equal ops on two lines, with a product between them."""
    x = torch.relu(x)  # first
    product = x @ w  # product
    y = torch.relu(y)  # second
    return product, y


@pytest.fixture(scope="module")
def bundle(bundles):
    """Record one compile of the model."""
    (recorded,) = record_into(bundles)(model, half(64, 64), half(64, 64), half(64, 64))
    return recorded


EXPECTED = [
    ("relufwd", ["first"]),
    ("batchmatmul", ["product"]),
    ("relufwd", ["second"]),
]


def test_equal_ops_keep_their_lines_where_they_share_a_file(bundle):
    """A shared ``sdsc_N.json`` names its first op; we name all (torch-spyre#3868)."""
    (files,) = bundle.run.files
    first, product, _ = files.executes
    shared = evolve(files, executes=(first, product, first))
    sharing = evolve(bundle, run=evolve(bundle.run, files=(shared,)))

    assert EXPECTED == op_lines(sharing)
    assert [LinkState.SHARED, LinkState.OWN, LinkState.SHARED] == [
        link.state for link in link_files(sharing)
    ]


def test_file_of_another_compile_is_stale_and_lends_no_line(bundle):
    """A cached directory keeps another compile's handles (torch-spyre#2397, #3899)."""
    (files,) = bundle.run.files
    first, *rest = files.sdsc
    stale = evolve(first, handle=handle("other", "buf0", start_line=99))
    cached = evolve(
        bundle,
        run=evolve(bundle.run, files=(evolve(files, sdsc=(stale, *rest)),)),
    )

    assert EXPECTED == op_lines(cached)
    assert [LinkState.STALE, LinkState.OWN, LinkState.OWN] == [
        link.state for link in link_files(cached)
    ]


def test_kernel_lists_each_run_of_an_op_in_order(bundle):
    """A kernel is a sequence and no set: equal ops appear twice (pytorch#189270)."""
    assert EXPECTED == op_lines(bundle)
    (only,) = bundle.kernels
    assert [("op0", "op1", "op2"), ((0,), (1,), (2,))] == [
        only.ir_ops,
        tuple(op.path for op in only.ops),
    ]


def test_every_kernel_has_a_line(record_one):
    """No kernel is left blank, on either side of a library call (NVIDIA/PyProf#76)."""

    def cut(x, y):
        x = torch.relu(x)  # before
        x = torch.cumsum(x, 0)  # host
        return torch.exp(x) * y  # after

    bundle = record_one(cut, half(64, 64), half(64, 64))

    assert 2 == len(bundle.kernels)
    assert [
        ("relufwd", ["before"]),
        ("exp", ["after"]),
        ("mul", ["after"]),
    ] == op_lines(bundle)
    assert {each.name for each in bundle.kernels} == {
        found.kernel for found in attribute(bundle) if found.locations
    }


def test_ops_of_a_counted_loop_have_their_own_lines():
    """An op inside a ``LoopSpec`` is not given its neighbour's (tritonparse#193)."""
    inside = [
        evolve(spec(n), path=path, loops=("4",) * (len(path) - 1))
        for n, path in enumerate([(0, 0), (0, 1), (1,), (0, 0, 2)])
    ]
    value = make_bundle(
        stacks=lines(1, 2, 3, 4),
        post=tuple(
            fx(f"n{n}", "aten.relu.default", stack=n, aten="aten.relu.default")
            for n in range(4)
        ),
        ir_post=tuple(ir(n, f"n{n}") for n in range(4)),
        kernels=(kernel(*inside),),
        run=run_facts("loops", KernelFiles(kernel="k", directory="/k", sdsc=())),
    )

    assert [((0, 0), 1), ((0, 1), 2), ((1,), 3), ((0, 0, 2), 4)] == [
        (found.path, found.locations[0].frame.line) for found in attribute(value)
    ]
