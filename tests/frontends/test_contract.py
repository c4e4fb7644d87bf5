"""Front ends of other ages, all of which keep the contract and are recorded whole."""

from __future__ import annotations

import other_front_ends as others
import pytest
import torch
from torch._inductor import config

from torch_spyre_provenance.analysis.attribution import attribute
from torch_spyre_provenance.analysis.sdsc import LinkState, link_files
from torch_spyre_provenance.frontends import reference
from torch_spyre_provenance.model import CacheState
from torch_spyre_provenance.publish import Publisher
from torch_spyre_provenance.recording.installation import install, uninstall
from torch_spyre_provenance.recording.session import Session


def step(x):
    """Return something that takes three ops, two of them equal."""
    x = torch.relu(x)
    x = x + x
    return torch.relu(x)


def twin(x):
    """Return the same as `step`, from other lines."""
    x = torch.relu(x)
    x = x + x
    return torch.relu(x)


def line(function, offset):
    """The line of a function's body."""
    return function.__code__.co_firstlineno + offset


LINES = [2, 3, 4]
"""Lines of the ops of `step` and of `twin`, counted from their own."""


@pytest.fixture
def record(tmp_path):
    """Compile a function through a front end and return what was recorded."""
    torch._dynamo.reset()

    def run(front_end, *functions, strict=True):
        session = Session(
            publish=Publisher().write,
            render=Publisher().render,
            front_end=front_end,
            out=tmp_path,
            strict=strict,
        )
        install(session)
        try:
            for function in functions or (step,):
                x = torch.ones(4, 64)
                actual = torch.compile(function)(x.to("spyre")).cpu()
                torch.testing.assert_close(actual, function(x))
        finally:
            uninstall()
        assert [] == [each.failed for each in session.observations() if each.failed]
        return [each.bundle for each in session.bundles]

    with config.patch(fx_graph_cache=False):
        yield run
    uninstall()


def found_lines(bundle):
    """The line of each op, where it has one line."""
    return [where.frame.line for each in attribute(bundle) for where in each.locations]


def expected_lines(function):
    """The true lines of a function's ops."""
    return [line(function, offset) for offset in LINES]


def silent(bundle):
    """The points that failed or did not fire, with the reason."""
    return {
        each.point: each.error or each.unavailable
        for each in bundle.all_observations
        if each.failed or not each.fired
    }


def states(bundle):
    """Whose handle the file of each op carries."""
    return [link.state for link in link_files(bundle)]


@pytest.mark.parametrize("kind", [others.WithPool, others.WithFuture])
def test_later_forms_of_sdsc(record, kind):
    """A pool's size is passed on; a future is waited for."""
    (bundle,) = record(others.with_async_compile(kind))
    assert {} == silent(bundle)
    assert expected_lines(step) == found_lines(bundle)
    assert [LinkState.OWN] * len(bundle.ops) == states(bundle)


def test_the_pool_reaches_the_front_end(record):
    """What a later generated module passes to `sdsc` is not swallowed."""
    others.WithPool.pools.clear()
    record(others.with_async_compile(others.WithPool))
    assert [others.POOL_SIZE] == others.WithPool.pools


def test_a_future_that_breaks(record):
    """The kernel has no files; the failure is counted; the compile is not harmed."""
    (bundle,) = record(others.with_async_compile(others.WithoutFuture), strict=False)
    assert {"kernel_files": "OSError: the compiler's process is gone"} == silent(bundle)
    assert () == bundle.run.files
    assert expected_lines(step) == found_lines(bundle)


def test_kernels_that_are_prepared_early_and_twice(record):
    """A kernel that is defined again is recorded once."""
    others.PreparingScheduling.n_prepared = 0
    (bundle,) = record(others.preparing())
    assert 1 == others.PreparingScheduling.n_prepared
    assert {} == silent(bundle)
    (kernel,) = bundle.kernels
    assert ["relufwd", "add", "relufwd"] == [op.op for op in kernel.ops]
    assert [LinkState.OWN] * 3 == states(bundle)


def test_files_that_ops_share(record):
    """Each op keeps its line; the shared file is called so, as it can name one only."""
    (bundle,) = record(others.with_async_compile(others.WithSharedFiles))
    (files,) = bundle.run.files
    assert 2 == len(files.sdsc)
    assert ("sdsc_0.json", "sdsc_1.json", "sdsc_0.json") == files.executes
    assert [LinkState.SHARED, LinkState.OWN, LinkState.SHARED] == states(bundle)
    assert expected_lines(step) == found_lines(bundle)


def test_a_kernel_cache_without_provenance(record):
    """A directory from before has another function's lines: stale, and not believed."""
    others.WithKernelCache.kernels.clear()
    front_end = others.with_async_compile(others.WithKernelCache)
    before, after = record(front_end, step, twin)
    directories = [each.run.files[0].directory for each in (before, after)]
    assert directories[0] == directories[1]
    assert [LinkState.OWN] * 3 == states(before)
    assert [LinkState.STALE] * 3 == states(after)
    assert expected_lines(step) == found_lines(before)
    assert expected_lines(twin) == found_lines(after)
    assert CacheState.MISS is after.run.cache


def test_a_front_end_that_stops_before_the_files(record):
    """The bundle is whole up to the OpSpec, and says why there are no files."""
    (bundle,) = record(others.with_async_compile(others.FrontEndOnly))
    assert ["kernel_files"] == list(silent(bundle))
    assert "TORCH_SPYRE_FRONTEND_ONLY" in silent(bundle)["kernel_files"]
    assert () == bundle.run.files
    assert [LinkState.UNKNOWN] * 3 == states(bundle)
    assert expected_lines(step) == found_lines(bundle)


def test_the_reference_itself(record):
    """What the others are compared with: everything fired, every file is its op's."""
    (bundle,) = record(reference.load())
    assert {} == silent(bundle)
    assert [LinkState.OWN] * 3 == states(bundle)
