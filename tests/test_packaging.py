"""The distribution: what is in it, what it needs, and that it installs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from email import message_from_string
from email.message import Message
from importlib import metadata
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
SOURCES = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the sources and without the network."""
    tree = tmp_path_factory.mktemp("sources")
    for name in SOURCES:
        shutil.copy(ROOT / name, tree)
    shutil.copytree(
        ROOT / "torch_spyre_provenance",
        tree / "torch_spyre_provenance",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    out = tmp_path_factory.mktemp("wheel")
    command = "pip wheel --quiet --no-deps --no-index --no-build-isolation --wheel-dir"
    subprocess.run(
        [sys.executable, "-m", *command.split(), out, tree],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def contents(wheel: Path) -> dict[str, bytes]:
    """The files of the wheel, by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def wheel_file(contents: dict[str, bytes], name: str) -> str:
    """Return a file of the wheel's metadata directory."""
    (text,) = (data for path, data in contents.items() if path.endswith(f"/{name}"))
    return text.decode()


def wheel_metadata(contents: dict[str, bytes]) -> Message:
    """Return the wheel's metadata."""
    return message_from_string(wheel_file(contents, "METADATA"))


def pins() -> dict[str, str]:
    """Return the versions that are pinned for this Python, by canonical name."""
    rows = (ROOT / "constraints.txt").read_text().splitlines()
    wanted = (Requirement(row) for row in rows if row and not row.startswith("#"))
    return {
        canonicalize_name(each.name): str(each.specifier)
        for each in wanted
        if each.marker is None or each.marker.evaluate()
    }


def needed(requirements: list[str]) -> set[str]:
    """Return the canonical names of what these requirements install, all the way."""
    found: set[str] = set()
    pending = [Requirement(text) for text in requirements]
    while pending:
        wanted = pending.pop()
        name = canonicalize_name(wanted.name)
        if name in found:
            continue
        found.add(name)
        for text in metadata.requires(name) or ():
            below = Requirement(text)
            if below.marker is None or below.marker.evaluate({"extra": ""}):
                pending.append(below)
    return found


def test_the_wheel_has_every_file_of_the_package(contents: dict[str, bytes]) -> None:
    """No module, schema or template is left out."""
    expected = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "torch_spyre_provenance").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }

    assert expected == {name for name in contents if ".dist-info/" not in name}


def test_the_entry_points_are_those_of_the_documentation(
    contents: dict[str, bytes],
) -> None:
    """The command, the backend by name, and the hook of `import torch`."""
    expected = """\
[console_scripts]
spyre-provenance = torch_spyre_provenance.cli:main

[torch.backends]
torch_spyre_provenance = torch_spyre_provenance.autoload:autoload

[torch_dynamo_backends]
spyre_provenance = torch_spyre_provenance.backend:spyre_provenance
"""

    assert expected == wheel_file(contents, "entry_points.txt")


def test_the_metadata_is_real(contents: dict[str, bytes]) -> None:
    """Name, licence and the least Python are stated."""
    found = wheel_metadata(contents)

    assert "torch-spyre-provenance" == found["Name"]
    assert "Apache-2.0" == found["License-Expression"]
    assert ">=3.11" == found["Requires-Python"]


def test_the_changelog_begins_with_this_version(contents: dict[str, bytes]) -> None:
    """A release without a line in the changelog does not happen."""
    changelog = (ROOT / "CHANGELOG.md").read_text()
    first = re.search(r"^## (\S+)", changelog, re.MULTILINE)

    assert first is not None
    assert wheel_metadata(contents)["Version"] == first[1]


def test_everything_that_is_installed_is_pinned(contents: dict[str, bytes]) -> None:
    """The constraints reach what our dependencies depend on, and nothing else."""
    wanted = wheel_metadata(contents).get_all("Requires-Dist", [])

    assert needed(wanted) == pins().keys()


def test_every_pin_is_exact() -> None:
    """Two set-ups a month apart install the same."""
    assert [] == [pin for pin in pins().values() if not re.fullmatch(r"==[\w.]+", pin)]


def test_torch_is_pinned() -> None:
    """A plain `torch` would be whatever is newest, with CUDA."""
    assert "==2.13.0" == pins()["torch"]


def test_every_ignored_lint_rule_has_a_reason() -> None:
    """Each code in an ignore list stands on a line of its own, with a comment."""
    text = (ROOT / "pyproject.toml").read_text()
    lint = tomllib.loads(text)["tool"]["ruff"]["lint"]
    ignored = list(chain(lint["ignore"], *lint["per-file-ignores"].values()))
    explained = re.findall(r'^ +"([A-Z]+\d*)", *# \w.*$', text, re.MULTILINE)

    assert sorted(ignored) == sorted(explained)


@pytest.mark.slow
def test_the_wheel_installs_and_runs(wheel: Path, tmp_path: Path) -> None:
    """In an environment of its own, the command starts and is the installed one."""
    home = tmp_path / "venv"
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    site = Path(
        sysconfig.get_path("purelib", vars={"base": str(home)}),
    )
    # What the package depends on comes from the environment of the tests.
    (site / "tests.pth").write_text(sysconfig.get_path("purelib"))
    command = ["pip", "--python", python, "install", "--quiet", "--no-deps", wheel]
    subprocess.run([sys.executable, "-m", *command], check=True)

    version = subprocess.run(
        [home / "bin" / "spyre-provenance", "--version"],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    ).stdout
    file = subprocess.run(
        [python, "-c", "import torch_spyre_provenance as p; print(p.__file__)"],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    ).stdout

    assert f"spyre-provenance {wheel.name.split('-')[1]}\n" == version
    assert file.startswith(str(site))


def test_make_help_lists_every_target() -> None:
    """`make help` is how a developer finds the rest."""
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", "")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    listed = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout

    assert phony is not None
    assert phony[1].split() == [row.split()[0] for row in listed.splitlines()]
