"""Measuring a compile: what is on, in which order, and what comes out."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager

import pytest
import torch

from torch_spyre_provenance.measuring.conditions import (
    CONDITIONS,
    Condition,
    nothing,
)
from torch_spyre_provenance.measuring.trials import Effort, measure
from torch_spyre_provenance.measuring.workloads import (
    compile_samples,
    job_of,
    make_device,
)


def double(x):
    """Return twice the input."""
    return x + x


@pytest.fixture(scope="module")
def job():
    """Return a small function with inputs of two shapes."""
    make_device()
    one, other = torch.ones(2, 64), torch.ones(4, 64)
    return job_of("double", double, (one,), (other,))


@pytest.fixture(scope="module")
def samples(job):
    """Measure it once under each of the package's conditions."""
    return {
        (sample.condition, sample.workload): sample
        for condition in CONDITIONS
        for sample in compile_samples(job, condition)
    }


def test_only_a_recording_writes(samples):
    """Off leaves no file; on leaves a bundle, and more where reports are part of it."""
    assert {0} == {samples["off", kind].written for kind in ("fresh", "hit")}
    assert 0 < samples["on", "fresh"].written
    assert 0 < samples["on", "hit"].written
    assert samples["on", "fresh"].written < samples["on, with reports", "fresh"].written


def test_the_recorders_own_time_is_a_part(samples):
    """Off has none; on, it is a part of the whole."""
    assert {0} == {samples["off", kind].own for kind in ("fresh", "hit")}
    for kind in ("fresh", "hit"):
        assert 0 < samples["on", kind].own < samples["on", kind].cpu / 2


def test_hit_is_a_hit(samples):
    """The second compile comes from the cache, off and on; the others do not."""
    for condition in CONDITIONS:
        hits = {
            kind: samples[condition.name, kind].hits > 0
            for kind in ("fresh", "hit", "recompile")
        }
        assert {"fresh": False, "hit": True, "recompile": False} == hits


def test_rounds_are_whole_and_alternatives_rarer(job):
    """Each condition takes part in each round, an alternative in every third."""
    entered = []

    def named(name, *, is_alternative=False):
        @contextmanager
        def enter(_):
            entered.append(name)
            yield nothing

        return Condition(name=name, enter=enter, is_alternative=is_alternative)

    conditions = (named("off"), named("other", is_alternative=True))
    effort = Effort(n_rounds=4, n_blocks=2, n_runs=3)
    taken = list(measure(job, conditions, effort))

    assert {
        ("off", "fresh"): 4,
        ("off", "hit"): 4,
        ("off", "recompile"): 4,
        ("off", "runs"): 2,
        ("other", "fresh"): 2,
        ("other", "hit"): 2,
        ("other", "recompile"): 2,
    } == Counter((each.condition, each.workload) for each in taken)
    # One more of each than was kept: the first round only warms up.
    assert {"off": 5 + 2, "other": 2} == Counter(entered)
