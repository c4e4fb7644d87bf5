"""A recorder for each test here, with caches that no other test sees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from scenarios.compiling import Record, record_into


@pytest.fixture(scope="session")
def bundles(tmp_path_factory) -> Path:
    """Return the directory for the bundles."""
    return tmp_path_factory.mktemp("bundles")


@pytest.fixture
def record(bundles) -> Iterator[Record]:
    """Return a function that compiles, runs and records another one."""
    yield record_into(bundles)
    torch._dynamo.reset()


@pytest.fixture
def record_one(record):
    """Return the same for a function that compiles into one graph."""

    def run(function, *inputs):
        (bundle,) = record(function, *inputs)
        return bundle

    return run
