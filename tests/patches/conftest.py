"""A checkout to patch: a small package of our own, shaped like torch-spyre."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

STAND_IN = Path(__file__).with_name("checkout")
PACKAGE = "torch_spyre"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of its own for one test."""
    return shutil.copytree(
        STAND_IN, tmp_path / "checkout", ignore=shutil.ignore_patterns("__pycache__")
    )


@pytest.fixture
def load(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], ModuleType]]:
    """Import a module of the checkout's compiler, by name; undone after the test."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(checkout)
    assert PACKAGE not in sys.modules, "a real torch-spyre was imported here"

    yield lambda name: importlib.import_module(f"{PACKAGE}._inductor.{name}")

    for name in tuple(sys.modules):
        if name == PACKAGE or name.startswith(f"{PACKAGE}."):
            del sys.modules[name]
