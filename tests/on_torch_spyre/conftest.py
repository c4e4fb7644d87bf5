"""What the tests on a real torch-spyre share: the checkout, and processes of their own.

``TORCH_SPYRE_CHECKOUT`` names the checkout; without it these tests skip. Nothing of
torch-spyre is imported here, since a process has one `spyre` device.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CHECKOUT = os.environ.get("TORCH_SPYRE_CHECKOUT", "")
NO_CHECKOUT = "TORCH_SPYRE_CHECKOUT names no torch-spyre checkout"


def pytest_collection_modifyitems(items):
    """Mark every test of this directory that takes the checkout."""
    for item in items:
        if HERE in item.path.parents and "checkout" in item.fixturenames:
            item.add_marker(pytest.mark.torch_spyre)


@pytest.fixture(scope="session")
def checkout():
    """The checkout's root, as an absolute path."""
    if not CHECKOUT:
        pytest.skip(NO_CHECKOUT)
    return Path(CHECKOUT).absolute()


@pytest.fixture(scope="session")
def python():
    """Run Python in a process of its own and return what it prints."""

    def run(*arguments, cache, check=True, cwd=None, **variables):
        path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        environment = {
            **os.environ,
            "PYTHONPATH": path,
            "TORCHINDUCTOR_CACHE_DIR": str(cache),
            **variables,
        }
        done = subprocess.run(
            [sys.executable, "-W", "ignore", *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            cwd=cwd,
            env=environment,
        )
        if check:
            assert 0 == done.returncode, done.stderr[-3000:]
            return done.stdout
        return done

    return run


@pytest.fixture(scope="session")
def json_of(python):
    """Run Python and return the JSON that it prints."""

    def run(*arguments, **options):
        return json.loads(python(*arguments, **options))

    return run
