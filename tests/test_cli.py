"""The command line: its answers, its errors and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from torch_spyre_provenance.cli import ExitCode, main

FACTORIES = """\
import torch

def raises():
    raise ValueError("no weights here\\nand a second line")

def leaves():
    raise SystemExit("a script, not a module")

def alone():
    return torch.nn.Linear(2, 2)

def chatty():
    print("printed by the factory")
    return torch.nn.Linear(64, 64), torch.ones(2, 64)

def untouched():
    return print, ()
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a module of factories, on nobody's path."""
    (tmp_path / "factories.py").write_text(FACTORIES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.delitem(sys.modules, "factories", raising=False)
    return tmp_path


def run(*arguments: str | Path, cwd: Path | None = None) -> tuple[int, str, str]:
    """Run the command in a process of its own; return code, output and errors."""
    done = subprocess.run(
        [sys.executable, "-m", "torch_spyre_provenance", *arguments],
        capture_output=True,
        check=False,
        cwd=cwd,
        text=True,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_audit_has_the_figures_of_the_seed(
    tmp_path: Path, inductor_cache: Path
) -> None:
    """The default subject goes through all six stages, with the known counts."""
    code, output, errors = run("audit", "--out", tmp_path / "out", "--json")

    assert (ExitCode.OK, PROGRESS) == (code, errors)
    facts = json.loads(output)
    assert {
        "fx_pre_grad": 3,
        "fx_post_grad": 7,
        "loop_ir_pre": 5,
        "loop_ir_post": 5,
        "op_spec": 5,
        "super_dsc": 5,
    } == facts["stages"]
    assert ["sdsc_fused_addmm_linear_relu_0"] == facts["kernels"]
    assert facts.keys() == {
        "bundle",
        "report",
        "kernel_dirs",
        "stages",
        "kernels",
        "health",
    }
    assert 0 == sum(point["failed"] for point in facts["health"].values())
    assert Path(facts["bundle"]).is_relative_to(tmp_path / "out")
    assert Path(facts["bundle"]).is_file()
    assert Path(facts["report"]).is_file()
    (kernel,) = map(Path, facts["kernel_dirs"])
    assert kernel.is_relative_to(inductor_cache / "inductor-spyre")
    assert (kernel / "provenance.json").is_file()


PROGRESS = """\
spyre-provenance: loading torch_spyre_provenance.simple_mlp:simple_mlp …
spyre-provenance: compiling torch_spyre_provenance.simple_mlp:simple_mlp for spyre …
"""


@pytest.mark.usefixtures("inductor_cache")
def test_the_audit_ends_with_a_table_and_paths(tmp_path: Path) -> None:
    """Without --json, people see the stages and where everything is."""
    code, output, _ = run("audit", "--out", tmp_path / "out")
    (directory,) = (tmp_path / "out").iterdir()
    rows = [row.split() for row in output.splitlines()]

    assert code == ExitCode.OK
    assert ["stage", "fired", "failed", "count"] in rows
    assert ["LoopLevelIR", "pre-pass", "1", "0", "5"] in rows
    assert [
        "relufwd",
        "measured",
        "simple_mlp.py:24",
        "x",
        "=",
        "torch.relu(x)",
    ] in rows
    assert ["report", str(directory / "report.md")] in rows
    assert ["bundle", str(directory / "bundle.json")] in rows


@pytest.mark.usefixtures("inductor_cache")
def test_what_a_model_prints_stays_off_standard_output(project: Path) -> None:
    """A model's own factory, in the working directory, may print what it likes."""
    code, output, errors = run(
        "audit", "--model", "factories:chatty", "--json", cwd=project
    )

    assert code == ExitCode.OK
    assert json.loads(output)["stages"]["fx_pre_grad"] == 1
    assert "printed by the factory" in errors


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("factories", "a model is named MODULE:FACTORY, not 'factories'"),
        (
            "nowhere:model",
            "cannot import nowhere: ModuleNotFoundError: No module named 'nowhere'",
        ),
        ("factories:nothing", "factories has no function nothing"),
        ("factories:raises", "factories:raises raised: ValueError: no weights here"),
        (
            "factories:leaves",
            "factories:leaves raised: SystemExit: a script, not a module",
        ),
        (
            "factories:alone",
            "factories:alone must return a module and its example inputs, not Linear",
        ),
    ],
)
@pytest.mark.usefixtures("project")
def test_a_subject_that_cannot_be_loaded_is_one_line(
    spec: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The message says what is wrong with the model, and has its slug."""
    code = main(["audit", "--model", spec])
    output, errors = capfd.readouterr()

    assert code == ExitCode.ERROR
    assert output == ""
    assert errors.splitlines()[1:] == [f"spyre-provenance: {message} [subject]"]


@pytest.mark.usefixtures("project")
def test_debug_shows_the_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    """With --debug, the model's own frames are to be seen."""
    code = main(["audit", "--model", "factories:raises", "--debug"])
    _, errors = capfd.readouterr()

    assert code == ExitCode.ERROR
    assert "in raises" in errors
    assert errors.endswith("raised: ValueError: no weights here [subject]\n")


def test_an_output_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    """A directory below a file cannot be made, not even by root."""
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "out"
    code, output, errors = run("audit", "--out", out)

    assert (code, output) == (ExitCode.ERROR, "")
    assert errors.replace(PROGRESS.splitlines(keepends=True)[0], "") == (
        f"spyre-provenance: cannot write into {out}: Not a directory [output]\n"
    )


def test_a_subject_without_a_compile_says_so(project: Path) -> None:
    """A callable that has nothing to compile is no bundle, and no crash."""
    code, output, errors = run("audit", "--model", "factories:untouched", cwd=project)

    assert (code, output) == (ExitCode.ERROR, "")
    assert errors.endswith(
        "factories:untouched ran, but nothing in it was compiled [subject]\n"
    )


@pytest.mark.parametrize("command", ["report", "show"])
@pytest.mark.parametrize(
    ("content", "slug"),
    [
        ('{"schema_version": 1, "comp', "bundle-format"),
        ('{"traceEvents": []}', "bundle-format"),
        ("", "bundle-format"),
        ('{"schema_version": 999}', "bundle-version"),
    ],
)
def test_a_file_that_is_no_bundle_is_one_line(
    tmp_path: Path,
    command: str,
    content: str,
    slug: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Truncated, foreign, empty or newer: each names its slug and exits with 1."""
    bundle = tmp_path / "bundle.json"
    bundle.write_text(content)
    code = main([command, str(bundle)])
    output, errors = capfd.readouterr()

    assert (code, output) == (ExitCode.ERROR, "")
    assert len(errors.splitlines()) == 1
    assert errors.endswith(f"[{slug}]\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "--modle", "x:y"],
        ["no-such-command"],
        ["show"],
        ["show", "/no/such/bundle"],
    ],
)
def test_arguments_that_make_no_sense_are_usage_errors(
    arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, nothing on standard output."""
    code = main(arguments)
    output, errors = capfd.readouterr()

    assert (code, output) == (ExitCode.USAGE, "")
    assert errors.startswith("Usage: spyre-provenance")


def test_the_doctor_names_the_front_end() -> None:
    """A machine with nothing but Python has the reference front end."""
    code, output, errors = run("doctor", "--json")

    assert (code, errors) == (ExitCode.OK, "")
    assert json.loads(output)["front_end"] == "reference"


def test_the_doctor_says_no_without_a_front_end(tmp_path: Path) -> None:
    """A path that is no checkout leaves none, which is a verdict and no error."""
    code, output, errors = run("doctor", "--torch-spyre", tmp_path)

    assert (code, errors) == (ExitCode.VERDICT, "")
    assert f"{tmp_path} is no torch-spyre checkout" in output


def test_the_command_line_starts_without_torch() -> None:
    """Help, errors and readers never wait for torch, nor for anything of weight."""
    code = (
        "import sys, torch_spyre_provenance.cli\n"
        "print(*sorted({'torch', 'cattrs', 'rich', 'numpy'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )

    assert done.stdout == "\n"


def test_a_closed_pipe_ends_the_command_quietly(tmp_path: Path) -> None:
    """`spyre-provenance … | head` ends without a traceback."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "torch_spyre_provenance", "--help"],
        check=False,
        cwd=tmp_path,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(write)

    assert (ExitCode.ERROR, "") == (done.returncode, done.stderr)


def test_an_interrupt_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is no traceback, and the shell sees what it expects."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("torch_spyre_provenance.audit.audit", interrupted)

    assert main(["audit"]) == ExitCode.INTERRUPTED
