"""Questions are answered at once: without torch, within a stated CPU time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from report.many_ops import many_ops

from torch_spyre_provenance.store import dumps

BUDGET = 0.3
"""Seconds of CPU for a bundle of 1,000 ops, the start of Python included."""

LOOP = "x = 0\nfor i in range(5_000_000): x += i"
LOOP_SECONDS = 0.22
"""What `LOOP` takes on the machine that the budget is for: Python 3.11 at some 3 GHz,
with a core to itself. A core that is shared with other threads takes longer for
everything, and the budget grows with it."""

N_RUNS = 12
COMMANDS = {
    "show": ("show",),
    "show a line": ("show", "model.py:12"),
    "check": ("check", "--min-attributed", "100%", "--no-loss"),
}
WITHOUT_TORCH = """
import sys
from torch_spyre_provenance.cli import main
code = main(sys.argv[1:])
heavy = {"torch", "numpy", "jinja2", "rich"} & sys.modules.keys()
sys.exit(f"imported {heavy}" if heavy else code)
"""


@pytest.fixture(scope="module")
def thousand(tmp_path_factory) -> Path:
    """A bundle of 1,000 ops."""
    path = tmp_path_factory.mktemp("thousand") / "bundle.json"
    path.write_bytes(dumps(many_ops(1000)))
    return path


def arguments(command: str, bundle: Path) -> list[str]:
    """Return the command line of a question."""
    name, *rest = COMMANDS[command]
    return [name, str(bundle), *rest]


def cpu_seconds(command: list[str]) -> float:
    """Return the CPU time of one process from its beginning to its end."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("command", COMMANDS)
def test_an_answer_takes_no_longer_than_its_budget(command, thousand, record_property):
    """The least of some runs: what else the machine does only adds to it."""
    line = [sys.executable, "-m", "torch_spyre_provenance"]
    least = loop = float("inf")
    for _ in range(N_RUNS):
        least = min(least, cpu_seconds([*line, *arguments(command, thousand)]))
        loop = min(loop, cpu_seconds([sys.executable, "-c", LOOP]))
        if least < BUDGET:
            break
    record_property("cpu_seconds", least)

    assert least < BUDGET * max(1, loop / LOOP_SECONDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_reader_waits_for_torch(command, thousand):
    """Nor for anything else of weight."""
    line = [sys.executable, "-c", WITHOUT_TORCH, *arguments(command, thousand)]
    done = subprocess.run(line, check=False, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")


COMPLETE = "_SPYRE_PROVENANCE_COMPLETE"


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("sh", ["show"]),
        ("di", ["diff"]),
        ("show --j", ["--json"]),
        ("report b --format m", ["md", "mermaid", "mlir"]),
    ],
)
def test_shells_complete_commands_and_options(typed, expected):
    """As the docs set it up for bash."""
    words = f"spyre-provenance {typed}"
    environ = {
        COMPLETE: "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(typed.split())),
    }
    done = subprocess.run(
        [Path(sys.executable).with_name("spyre-provenance")],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **environ},
    )
    found = [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert found == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_documented_set_up_gives_a_script(shell):
    """Each shell's has the name of our command in it."""
    docs = Path(__file__).parents[1] / "docs" / "questions.md"
    done = subprocess.run(
        [Path(sys.executable).with_name("spyre-provenance")],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, COMPLETE: f"{shell}_source"},
    )

    assert f"{shell}_source" in docs.read_text()
    assert "spyre-provenance" in done.stdout
