"""The README: what it tells people to type works, and what it shows is real."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from torch_spyre_provenance import settings
from torch_spyre_provenance.cli import cli

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = [row for kind, text in BLOCKS if kind == "sh" for row in text.splitlines()]
INLINE = re.findall(r"`(make [a-z]+|spyre-provenance [^`]+)`", TEXT)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository that is set up, with the README's own files in it.

    Its virtual environment is that of the tests, by links.
    """
    tree = tmp_path_factory.mktemp("clone") / "clone"
    unwanted = shutil.ignore_patterns(".*", "__pycache__", "build", "*.egg-info")
    shutil.copytree(ROOT, tree, ignore=unwanted)
    for kind, text in BLOCKS:
        if kind == "python":
            name = text.splitlines()[0].removeprefix("# ")
            (tree / name).write_text(text)
    (tree / ".venv").mkdir()
    for name in ("bin", "lib", "pyvenv.cfg"):
        (tree / ".venv" / name).symlink_to(Path(sys.prefix) / name)
    for stamp in (".ready", ".installed"):
        (tree / ".venv" / stamp).touch()
    return tree


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of someone who has followed the README up to here.

    pip installs this package alone, to a place of its own and without the network;
    `make test`, within a test, runs one test file.
    """
    scratch = tmp_path_factory.mktemp("environment")
    return os.environ | {
        "JOBS": "0",
        "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads this as "no isolation"
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "PIP_TARGET": str(scratch / "site"),
        "PYTEST_ADDOPTS": "tests/test_docs.py",
        "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"),
    }


@pytest.fixture(scope="module")
def outputs(clone: Path, environment: dict[str, str]) -> dict[str, str]:
    """What each command of the README prints, run in the order of reading.

    A command that fails ends the test, with all that it says.
    """
    printed = {}
    for command in COMMANDS:
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            check=False,
            cwd=clone,
            env=environment,
            text=True,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        printed[command] = done.stdout
    return printed


@pytest.mark.slow
def test_every_command_works_and_the_excerpts_are_real(outputs: dict[str, str]) -> None:
    """What the README shows of `make audit` and of its report is in both, verbatim."""
    printed = outputs["make audit"]
    (report,) = re.findall(r"^report +(.+)$", printed, re.MULTILINE)

    (lines,) = (text for kind, text in BLOCKS if kind == "text")
    (matrix,) = re.findall(r"^\| Layer .*?^$", TEXT, re.MULTILINE | re.DOTALL)

    assert set(lines.splitlines()) <= set(printed.splitlines())
    assert matrix in Path(report).read_text()


def test_commands_in_sentences_are_in_a_block() -> None:
    """So they are run as well."""
    assert [] == [command for command in INLINE if command not in COMMANDS]


def test_every_subcommand_is_shown() -> None:
    """A reader of the README has seen all that the command can do."""
    shown = {
        command.split()[1]
        for command in COMMANDS
        if command.startswith("spyre-provenance ")
    }

    assert set(cli.list_commands(click.Context(cli))) == shown


def test_every_setting_is_in_the_table() -> None:
    """Each environment variable has a row, and each row is one."""
    values = (value for value in vars(settings).values() if isinstance(value, str))
    expected = {value for value in values if value.startswith("TORCH_SPYRE_PROVENANCE")}

    assert expected == set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE))


def test_every_link_leads_somewhere() -> None:
    """Links within the repository point at files."""
    links = re.findall(r"\]\((?!https?:)([^)]+)\)", TEXT)

    assert [] == [link for link in links if not (ROOT / link).exists()]
