"""Checkouts: what is one, what is not, and how it becomes importable."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from torch_spyre_provenance.errors import FrontEndError
from torch_spyre_provenance.frontends.cardless import checkout
from torch_spyre_provenance.frontends.cardless.checkout import (
    find_checkout,
    provide_backend_compiler,
)

FILES = ("__init__.py", "_inductor/scheduler.py", "execution/async_compile.py")


@pytest.fixture
def root(tmp_path):
    """The smallest directory that passes for a checkout."""
    for name in FILES:
        path = tmp_path / "clone" / "torch_spyre" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path / "clone"


def test_a_checkout_is_found_by_its_root_or_its_package(root):
    """The root and the package in it name the same checkout."""
    assert root == find_checkout(root).root
    assert root == find_checkout(root / "torch_spyre").root


def test_a_path_may_start_at_home(root, monkeypatch):
    """A tilde is understood."""
    monkeypatch.setenv("HOME", str(root.parent))
    assert root == find_checkout(Path("~/clone")).root


def test_other_directories_are_refused(tmp_path):
    """A path that holds no package is named in the message."""
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(FrontEndError, match=f"{path} is no torch-spyre checkout"):
            find_checkout(path)


@pytest.mark.parametrize("name", FILES)
def test_half_a_checkout_is_refused(root, name):
    """A package without the files that matter is refused, and they are named."""
    (root / "torch_spyre" / name).unlink()
    with pytest.raises(FrontEndError, match=f"it lacks {name}"):
        find_checkout(root)


def test_a_built_checkout_is_refused(root):
    """Stand-ins and the real extension do not meet."""
    (root / "torch_spyre" / "_C.py").touch()
    with pytest.raises(FrontEndError, match="was built"):
        find_checkout(root)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"HEAD": "abc123\n"}, "abc123"),
        ({"HEAD": "ref: refs/heads/main\n", "refs/heads/main": "def456\n"}, "def456"),
        (
            {
                "HEAD": "ref: refs/heads/main\n",
                "packed-refs": "# pack-refs\n0987 refs/heads/main\n65 refs/heads/x\n",
            },
            "0987",
        ),
        ({"HEAD": "ref: refs/heads/main\n"}, None),
    ],
)
def test_the_commit_is_read_from_gits_files(root, files, expected):
    """A detached, a loose and a packed reference are read; others are unknown."""
    for name, text in files.items():
        path = root / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert expected == find_checkout(root).commit()


def test_the_extension_is_supplied_only_where_there_is_none(root):
    """The stand-in is imported like a real extension, and bound to the package."""
    program = f"""
        import sys
        from pathlib import Path
        from types import ModuleType
        from torch_spyre_provenance.frontends.cardless.checkout import (
            find_checkout,
            make_importable,
        )
        stand_in = ModuleType("stand_in")
        stand_in.answer, stand_in.hidden = 42, 1
        stand_in.__all__ = ["answer"]
        for _ in range(2):
            make_importable(find_checkout(Path({str(root)!r})), stand_in)
        import torch_spyre
        from torch_spyre._C import answer
        print(answer, torch_spyre._C.__spec__.origin, hasattr(torch_spyre._C, "hidden"))
        print(len([f for f in sys.meta_path if type(f).__name__ == "_StandInFinder"]))
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "42 stand-in False\n1\n" == done.stdout


def test_the_backend_compilers_stand_in_makes_its_directory(tmp_path, monkeypatch):
    """The command is found on the PATH, and makes the output of either call."""
    monkeypatch.setenv("PATH", os.defpath)
    command = provide_backend_compiler()
    for options in (["-d"], ["--bundle", "-d"]):
        bundle = tmp_path / f"a kernel{len(options)}"
        bundle.mkdir()
        subprocess.run(["dxp_standalone", *options, str(bundle)], check=True)
        assert ["spyreCodeDir"] == [path.name for path in bundle.iterdir()]
    assert command.endswith("cardless/bin/dxp_standalone")


def test_a_real_backend_compiler_is_used(tmp_path, monkeypatch):
    """Where the stack is installed, its command keeps its place."""
    real = tmp_path / "dxp_standalone"
    real.write_text("#!/bin/sh\n")
    real.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert str(real) == provide_backend_compiler()
    assert str(tmp_path) == os.environ["PATH"]


def test_a_stand_in_that_cannot_be_executed_is_reported(tmp_path, monkeypatch):
    """An installation that lost the file's mode says what to do."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(checkout, "_SCRIPTS", tmp_path)
    with pytest.raises(FrontEndError, match=r"not executable: chmod \+x it"):
        provide_backend_compiler()
