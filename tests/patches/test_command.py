"""The command line that all codemods share, and what each does to a checkout."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from patches import buffer_name, compose_passes, kernel_class, observe_passes
from patches.command import run
from torch_spyre_provenance.commands.conventions import ExitCode

CODEMODS = [
    each.CODEMOD for each in (buffer_name, compose_passes, kernel_class, observe_passes)
]
COMPILER = "torch_spyre/_inductor"
CHANGED = {
    "buffer_name": {"op_spec.py", "spyre_kernel.py"},
    "compose_passes": {"patches.py", "pass_composition.py"},
    "kernel_class": {"scheduler.py"},
    "observe_passes": {"passes.py"},
}
ROOT = Path(__file__).parents[2]

each_codemod = pytest.mark.parametrize(
    "codemod", CODEMODS, ids=[each.name for each in CODEMODS]
)


def contents(checkout):
    """Return the content of every file of a checkout, by its path."""
    return {
        str(path.relative_to(checkout)): path.read_bytes()
        for path in sorted(checkout.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def different(before, after):
    """Return the names of the files that differ or were added."""
    return {Path(path).name for path in after if before.get(path) != after[path]}


@each_codemod
def test_writing_changes_the_files_that_it_names(codemod, checkout, capsys):
    """Exactly these files change, they are still Python, and each is named."""
    before = contents(checkout)

    assert ExitCode.OK == run(codemod, ["--write", str(checkout)])
    after = contents(checkout)
    told = capsys.readouterr()

    assert CHANGED[codemod.name] == different(before, after)
    assert {f"{COMPILER}/{name}" for name in CHANGED[codemod.name]} == {
        line.split()[-1] for line in told.err.splitlines()
    }
    assert "" == told.out
    for path, content in after.items():
        compile(content, path, "exec")


@each_codemod
def test_a_diff_is_what_writing_does(codemod, checkout, tmp_path, capfdbinary):
    """The diff changes nothing by itself; applied by git, it gives the same files."""
    before = contents(checkout)

    assert ExitCode.OK == run(codemod, ["--diff", str(checkout)])
    diff = capfdbinary.readouterr().out
    assert before == contents(checkout)

    subprocess.run(
        ["git", "apply", "--whitespace=error-all", "-"],
        input=diff,
        cwd=checkout,
        check=True,
        env={"GIT_CEILING_DIRECTORIES": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    applied = contents(checkout)
    assert CHANGED[codemod.name] == different(before, applied)
    assert ExitCode.OK == run(codemod, ["--write", str(checkout)])
    assert applied == contents(checkout)


@each_codemod
def test_a_second_run_says_that_it_is_applied(codemod, checkout, capsys):
    """Running again changes nothing, prints no diff, and is no error."""
    run(codemod, ["--write", str(checkout)])
    before = contents(checkout)
    capsys.readouterr()

    for option in ("--write", "--diff"):
        assert ExitCode.OK == run(codemod, [option, str(checkout)])
        told = capsys.readouterr()
        assert (f"{codemod.name}: already applied\n", "") == (told.err, told.out)
    assert before == contents(checkout)


def test_codemods_do_not_meet(checkout):
    """All of them apply to one checkout, in any order, with the same result."""
    other = checkout.with_name("other")
    subprocess.run(["cp", "-r", checkout, other], check=True)

    for codemod in CODEMODS:
        assert ExitCode.OK == run(codemod, ["--write", str(checkout)])
    for codemod in reversed(CODEMODS):
        assert ExitCode.OK == run(codemod, ["--write", str(other)])

    assert contents(checkout) == contents(other)


@each_codemod
def test_a_half_applied_change_is_completed(codemod, checkout):
    """Where one of its files has the change and the others do not, those get it."""
    before = contents(checkout)
    run(codemod, ["--write", str(checkout)])
    after = contents(checkout)

    for name in CHANGED[codemod.name]:
        path = f"{COMPILER}/{name}"
        if path in before:
            (checkout / path).write_bytes(before[path])
        else:
            (checkout / path).unlink()
        assert ExitCode.OK == run(codemod, ["--write", str(checkout)])
        assert after == contents(checkout)


@each_codemod
def test_source_that_is_not_recognised_stays_as_it_is(codemod, checkout, capsys):
    """One file of another shape is an error that names it, and nothing is written."""
    name = max(CHANGED[codemod.name] - {"pass_composition.py"})
    (checkout / COMPILER / name).write_text("def unlike():\n    return None\n")
    before = contents(checkout)

    assert ExitCode.ERROR == run(codemod, ["--write", str(checkout)])
    assert re.fullmatch(
        rf"{codemod.name}: {COMPILER}/{name}: no .* \[unrecognised\]\n",
        capsys.readouterr().err,
    )
    assert before == contents(checkout)


@each_codemod
def test_a_missing_file_is_an_error(codemod, checkout, capsys):
    """A checkout without one of the files is not what the codemod knows."""
    name = max(CHANGED[codemod.name] - {"pass_composition.py"})
    (checkout / COMPILER / name).unlink()
    before = contents(checkout)

    assert ExitCode.ERROR == run(codemod, ["--write", str(checkout)])
    told = capsys.readouterr().err
    assert (
        f"{codemod.name}: {checkout} has no {COMPILER}/{name} [unrecognised]\n" == told
    )
    assert before == contents(checkout)


@pytest.mark.parametrize("broken", [b"class OpSpec(:\n", b"\xff\xfe\n", b"a\0b\n"])
def test_what_is_no_python_is_not_recognised(broken, checkout, capsys):
    """A file that does not parse, or is no text, is an error like any other."""
    (checkout / COMPILER / "scheduler.py").write_bytes(broken)

    assert ExitCode.ERROR == run(kernel_class.CODEMOD, ["--write", str(checkout)])
    told = capsys.readouterr().err
    assert f"{COMPILER}/scheduler.py: it cannot be parsed as Python" in told


@pytest.mark.parametrize(
    "arguments", [[], ["--diff", "a", "--write", "a"], ["--apply"]]
)
def test_wrong_arguments_are_usage_errors(arguments, capsys):
    """Neither option, both, or an unknown one: the usage is shown, the code is 2."""
    assert ExitCode.USAGE == run(kernel_class.CODEMOD, arguments)
    assert "python -m patches.kernel_class" in capsys.readouterr().err


@pytest.mark.parametrize("where", ["nowhere", ".", "torch_spyre/__init__.py"])
def test_a_path_that_is_no_checkout_is_an_error(where, checkout, capsys):
    """The message says which path, and what it lacks."""
    path = checkout.parent if where == "." else checkout / where

    assert ExitCode.ERROR == run(kernel_class.CODEMOD, ["--diff", str(path)])
    expected = (
        f"kernel_class: {path} is no torch-spyre checkout: "
        f"it has no {COMPILER} [checkout]\n"
    )
    assert expected == capsys.readouterr().err


def test_the_package_itself_is_taken_for_its_checkout(checkout):
    """A path to torch_spyre is as good as one to the directory that holds it."""
    path = checkout / "torch_spyre"

    assert ExitCode.OK == run(kernel_class.CODEMOD, ["--write", str(path)])
    assert b"self.kernel_class()" in (path / "_inductor/scheduler.py").read_bytes()


def test_a_traceback_is_shown_on_request(checkout, capsys):
    """With --debug the one line comes after the whole story."""
    arguments = ["--debug", "--write", str(checkout / "nowhere")]

    assert ExitCode.ERROR == run(kernel_class.CODEMOD, arguments)
    told = capsys.readouterr().err
    assert told.startswith("Traceback")
    assert told.endswith("[checkout]\n")


@each_codemod
def test_each_is_a_program_that_argues_for_itself(codemod):
    """``python -m`` runs it, without torch, and its help is the module's docstring."""
    program = (
        "import runpy, sys; sys.argv[1:] = ['--help']\n"
        "try:\n"
        f"    runpy.run_module('patches.{codemod.name}', run_name='__main__')\n"
        "finally:\n"
        "    assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        cwd=ROOT,
        text=True,
    )
    argument = import_module(f"patches.{codemod.name}").__doc__
    for part in ("What is wanted:", "Why:", "The change:", "What stays the same:"):
        assert part in argument
        assert part in done.stdout


def test_the_readme_explains_every_error():
    """A word in square brackets is explained beside the codemods, or under docs/."""
    errors = vars(import_module("patches.errors")).values()
    slugs = {
        each.slug for each in errors if "patches" in getattr(each, "__module__", "")
    }
    readme = (ROOT / "patches/README.md").read_text()

    assert {"checkout", "unrecognised"} == slugs
    assert all(f"`[{slug}]`" in readme for slug in slugs)
