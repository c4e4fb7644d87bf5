"""Whether a file on disk speaks of the op that runs it."""

from __future__ import annotations

import pytest
from bundle_factory import (
    KERNEL,
    bundle,
    handle,
    kernel,
    recorded,
    run_facts,
    sdsc,
    spec,
)

from torch_spyre_provenance.analysis.sdsc import LinkState, link_files
from torch_spyre_provenance.model import KernelFiles

A = handle("a", "buf0", start_line=1)
B = handle("b", "buf1", start_line=2)


def states(ops, files, executes) -> list[LinkState]:
    """Return the state of each op's file."""
    found = KernelFiles(kernel=KERNEL, directory="/k", sdsc=files, executes=executes)
    value = bundle(kernels=(kernel(*ops),), run=run_facts("b", found))
    return [link.state for link in link_files(value)]


def test_a_file_of_ones_own():
    """Each op runs the file that carries its handle."""
    ops = (spec(0, handle=A), spec(1, handle=B))
    names = ("sdsc_0.json", "sdsc_1.json")
    assert states(ops, (sdsc(0, A), sdsc(1, B)), names) == [LinkState.OWN] * 2


def test_a_file_that_two_ops_run_is_shared():
    """De-duplication leaves the first op's handle in the file of both."""
    ops = (spec(0, handle=A), spec(1, handle=B))
    names = ("sdsc_0.json", "sdsc_0.json")
    assert states(ops, (sdsc(0, A),), names) == [LinkState.SHARED] * 2


@pytest.mark.parametrize(("mine", "theirs"), [(A, B), (None, B), (A, None)])
def test_a_file_with_another_handle_is_stale(mine, theirs):
    """A cached kernel can carry another compile's handle."""
    ops = (spec(0, handle=mine),)
    assert states(ops, (sdsc(0, theirs),), ("sdsc_0.json",)) == [LinkState.STALE]


def test_nothing_is_said_where_nothing_is_known():
    """No handles, no file, or no list of executions: the link is unknown."""
    op = spec(0, handle=A)
    unknown = [LinkState.UNKNOWN]
    assert states((spec(0),), (sdsc(0),), ("sdsc_0.json",)) == unknown
    assert states((op,), (), ("sdsc_0.json",)) == unknown
    assert states((op,), (sdsc(0, A),), ()) == unknown
    assert [link.state for link in link_files(bundle(kernels=(kernel(op),)))] == unknown


def test_the_recorded_model_runs_its_own_files():
    """Five ops, five files, each with its op's handle."""
    links = link_files(recorded("simple_mlp_torch2.13"))
    assert [(link.file.name, link.state) for link in links] == [
        (f"sdsc_{n}.json", LinkState.OWN) for n in range(5)
    ]
