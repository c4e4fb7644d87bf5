"""Ways in which torch-spyre and this package meet in a process, good and bad ones."""

from __future__ import annotations

import os

import pytest
from on_torch_spyre.installed import add_entry_point, install

import torch_spyre_provenance

COMPILE = """
import torch
from torch_spyre_provenance.errors import LaunchError
from torch_spyre_provenance.frontends import cardless
from torch_spyre_provenance.frontends.cardless import kernels
from torch_spyre_provenance.model import Bundle

def step(x):
    return torch.relu(x) + 1.0

def compile_on_device():
    registered = cardless.needs_host_copies() and kernels.register_copies()
    try:
        torch.compile(step)(torch.ones(64, 64, dtype=torch.float16).to("spyre"))
    except LaunchError:
        print("compiled")
"""

PLAIN_TORCH = """
import torch
step = torch.compile(lambda x: torch.relu(x) + 1.0, backend="aot_eager")
print(step(torch.ones(4)).tolist())
"""
WORKS = "[2.0, 2.0, 2.0, 2.0]"

RECORD = """
import torch_spyre_provenance
from torch_spyre_provenance.errors import ProvenanceError
def record(**options):
    try:
        with torch_spyre_provenance.record(**options) as recording:
            compile_on_device()
    except ProvenanceError as error:
        print(error)
    else:
        print([each.bundle.compile.front_end for each in recording.bundles])
"""


@pytest.fixture(scope="module")
def sites(checkout, tmp_path_factory):
    """Directories for PYTHONPATH, by what is installed in them."""
    root = tmp_path_factory.mktemp("sites")
    for name in ("theirs", "not loaded by torch"):
        install(checkout, root / name)
    add_entry_point(root / "theirs", "torch_spyre", "torch_spyre:_autoload")
    install(checkout, root / "broken", "raise OSError('libsenlib.so: not found')")
    ours = "torch_spyre_provenance.autoload:autoload"
    add_entry_point(root / "ours", "torch_spyre_provenance", ours)
    return root


@pytest.fixture
def run(sites, python, tmp_path):
    """Run a program with some of the sites installed; return its output and errors."""

    def run(program, *names, **variables):
        paths = [str(sites / name) for name in (*names, "ours")]
        done = python(
            "-W",
            "default::RuntimeWarning",
            "-c",
            program,
            cache=tmp_path / "cache",
            check=False,
            PYTHONPATH=os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")]),
            TORCH_SPYRE_PROVENANCE_DIR=str(tmp_path / "out"),
            **variables,
        )
        assert 0 == done.returncode, done.stderr[-3000:]
        return done.stdout.splitlines(), done.stderr

    return run


def bundles(tmp_path):
    """The front end of each bundle, and whether a point failed or was silent."""
    paths = (tmp_path / "out").iterdir()
    loaded = [torch_spyre_provenance.load(path) for path in paths]
    seen = [each for bundle in loaded for each in bundle.all_observations]
    silent = [each for each in seen if each.failed or not each.fired]
    assert {"pre_grad_graph", "pass_observer"} == {each.point for each in silent}
    return [bundle.compile.front_end for bundle in loaded]


@pytest.mark.parametrize("order", [("theirs",), ("ours", "theirs")])
def test_both_load_with_torch(run, tmp_path, order):
    """Whichever of the two torch calls first, a plain program is recorded."""
    lines, errors = run(
        f"{COMPILE}\ncompile_on_device()", *order, TORCH_SPYRE_PROVENANCE="1"
    )
    assert ["compiled"] == lines
    assert "provenance" not in errors
    assert ["torch-spyre"] == bundles(tmp_path)


def test_no_package_loads_with_torch(run):
    """With TORCH_DEVICE_BACKEND_AUTOLOAD=0 recording loads torch-spyre itself."""
    lines, _ = run(
        f"{COMPILE}{RECORD}\nrecord()", "theirs", TORCH_DEVICE_BACKEND_AUTOLOAD="0"
    )
    assert ["compiled", "['torch-spyre']"] == lines


def test_an_extension_that_does_not_import(run):
    """The message says what is missing, nothing is registered, and torch works."""
    program = f"{COMPILE}{RECORD}\nrecord()\n{PLAIN_TORCH}"
    lines, errors = run(program, "broken", TORCH_SPYRE_PROVENANCE="1")
    message = "torch-spyre does not load: OSError: libsenlib.so: not found [front-end]"
    assert [message, WORKS] == lines
    assert f"provenance is off: {message}" in errors


def test_a_checkout_that_was_imported_before(run, checkout):
    """Stand-ins would come too late: a new process is needed, and torch works."""
    program = f"""{COMPILE}{RECORD}
import sys
sys.path.insert(0, {str(checkout)!r})
import torch_spyre
record(torch_spyre={str(checkout)!r})
{PLAIN_TORCH}"""
    lines, _ = run(program)
    assert lines[0].startswith("torch_spyre was imported before, from [")
    assert lines[0].endswith("in a process that has not imported it [front-end]")
    assert WORKS == lines[1]


def test_torch_spyre_that_comes_after_the_reference(run):
    """The device is taken: torch says so, and the reference goes on."""
    program = f"""{COMPILE}{RECORD}
torch_spyre_provenance.enable(front_end="reference")
import torch_spyre
try:
    torch_spyre._autoload()
except RuntimeError as error:
    print(error)
print(torch.compile(step)(torch.ones(2, 64).to("spyre")).cpu().sum().item())
{PLAIN_TORCH}
"""
    lines, _ = run(program, "not loaded by torch")
    assert "The runtime module of 'spyre' has already been registered" in lines[0]
    assert ["256.0", WORKS] == lines[1:]


def test_a_checkout_by_variable(run, checkout, tmp_path):
    """TORCH_SPYRE_PROVENANCE_CARDLESS compiles a plain program through a checkout."""
    program = f"{COMPILE.replace('registered =', 'unused = None and')}"
    lines, errors = run(
        f"{program}\ncompile_on_device()\n{PLAIN_TORCH}",
        TORCH_SPYRE_PROVENANCE="1",
        TORCH_SPYRE_PROVENANCE_CARDLESS=str(checkout),
    )
    assert ["compiled", WORKS] == lines
    assert "provenance" not in errors
    assert ["torch-spyre-cardless"] == bundles(tmp_path)


def test_half_a_checkout(run, checkout, tmp_path):
    """Sources that lack a part are refused by name, and torch works."""
    half = tmp_path / "half" / "torch_spyre"
    half.mkdir(parents=True)
    (half / "__init__.py").symlink_to(checkout / "torch_spyre" / "__init__.py")
    lines, errors = run(
        PLAIN_TORCH,
        TORCH_SPYRE_PROVENANCE="1",
        TORCH_SPYRE_PROVENANCE_CARDLESS=str(half.parent),
    )
    assert [WORKS] == lines
    assert "no torch-spyre that can be used: it lacks _inductor/scheduler.py" in errors
