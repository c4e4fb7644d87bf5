"""What recording costs, counted in calls: no machine disturbs them."""

from __future__ import annotations

import cProfile
import os
import pstats
from pathlib import Path

import pytest
import torch
from process import run_python
from torch import nn

import torch_spyre_provenance
from torch_spyre_provenance.frontends import reference
from torch_spyre_provenance.measuring.conditions import CONDITIONS
from torch_spyre_provenance.measuring.workloads import compile_samples, job_of
from torch_spyre_provenance.recording.points import Point

MOST = 1.08
"""Bound on the calls of a recorded compile of 12 layers against those of a plain one."""

MOST_HIT = 1.15
"""The same for a compile that comes from the cache."""


@pytest.fixture(scope="module")
def calls():
    """Count the calls of a compile and of a cache hit, off twice and on."""
    reference.register()
    model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(12)))
    job = job_of("model", model, (torch.ones(2, 64),))
    counted: dict[str, list[int]] = {}
    # Once for nothing: much is done only once in a process.
    for condition in (*CONDITIONS[:3], *CONDITIONS[:3]):
        counted[condition.name] = []
        samples = compile_samples(job, condition)
        for _ in range(2):
            profile = cProfile.Profile()
            profile.enable()
            next(samples)
            profile.disable()
            counted[condition.name].append(pstats.Stats(profile).total_calls)
        samples.close()
    return counted
