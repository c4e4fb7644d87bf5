"""What every test finds: caches of its own, and no settings from outside."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

# Before torch is imported, and once in each worker: compiles of one worker must not
# meet the cache of another, nor the developer's.
_CACHE = Path(tempfile.mkdtemp(prefix="spyre-provenance-tests-"))
os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(_CACHE)
os.environ.setdefault("OMP_NUM_THREADS", "1")
for _name in tuple(os.environ):
    if _name.startswith("TORCH_SPYRE_PROVENANCE"):
        del os.environ[_name]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that accepts the reports as they are now."""
    parser.addoption(
        "--update-goldens",
        action="store_true",
        help="write the golden files instead of comparing with them",
    )


def pytest_unconfigure() -> None:
    """Remove this worker's caches."""
    shutil.rmtree(_CACHE, ignore_errors=True)


@pytest.fixture
def update_goldens(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are written instead of compared."""
    return bool(request.config.getoption("--update-goldens"))


@pytest.fixture
def inductor_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty Inductor cache directory, also for child processes."""
    cache = tmp_path / "inductor"
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(cache))
    return cache
