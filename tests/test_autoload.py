"""The environment variable around programs that never name this package."""

from __future__ import annotations

import json

import pytest
from process import run_python

import torch_spyre_provenance

USER = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(64, 64)
    def forward(self, x):
        return torch.relu(self.fc(x))
with torch.no_grad():
    net, x = Net(), torch.ones(2, 64)
    expected = net(x)
    actual = torch.compile(net.to("spyre"))(x.to("spyre")).cpu()
torch.testing.assert_close(actual, expected)
"""

HOST = """
import sys
import torch
from torch._inductor.utils import run_and_get_code
def step(x):
    return torch.relu(x + 1)
result, code = run_and_get_code(torch.compile(step), torch.ones(8))
assert torch.equal(torch.full((8,), 2.0), result)
print(*code)
print("ours:", *sorted(m for m in sys.modules if m.startswith("torch_spyre_prov")))
"""


def bundles(cache):
    """Return the bundle directories beside the kernels of an Inductor cache."""
    root = cache / "inductor-spyre" / "provenance"
    return sorted(root.iterdir()) if root.exists() else []


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Run a program without Spyre tensors, with recording off."""
    cache = tmp_path_factory.mktemp("plain")
    done = run_python(HOST, cache=cache)
    assert 0 == done.returncode, done.stderr
    return done.stdout, cache


def test_variable_leaves_the_bundle_beside_the_kernels(tmp_path):
    """A script with plain `torch.compile` is recorded, and its result is right."""
    done = run_python(USER, cache=tmp_path, TORCH_SPYRE_PROVENANCE="1")

    assert (0, "") == (done.returncode, done.stderr)
    (path,) = bundles(tmp_path)
    bundle = torch_spyre_provenance.load(path)
    assert ("batchmatmul", "add", "relufwd") == tuple(op.op for _, op in bundle.ops)
    (files,) = bundle.run.files
    assert files.directory.startswith(str(tmp_path / "inductor-spyre"))
    assert [] == [o for o in bundle.all_observations if o.failed or not o.fired]


def test_directory_variable_moves_the_bundle(tmp_path):
    """The bundle goes where the variable says, and nowhere else."""
    done = run_python(
        USER,
        cache=tmp_path / "cache",
        TORCH_SPYRE_PROVENANCE="1",
        TORCH_SPYRE_PROVENANCE_DIR=str(tmp_path / "here"),
    )

    assert 0 == done.returncode, done.stderr
    assert 1 == len(list((tmp_path / "here").iterdir()))
    assert [] == bundles(tmp_path / "cache")


def test_off_imports_nothing_but_the_entry_point(plain):
    """Without the variable only the entry point's module and package are imported."""
    printed, cache = plain

    assert "ours: torch_spyre_provenance torch_spyre_provenance.autoload" in printed
    assert not (cache / "inductor-spyre").exists()


def test_off_generates_the_same_code_as_without_us(plain, tmp_path):
    """The code of a process that never loads us is the same, byte for byte."""
    without = run_python(HOST, cache=tmp_path, TORCH_DEVICE_BACKEND_AUTOLOAD="0")

    assert "ours:\n" in without.stdout
    assert without.stdout.split("ours:")[0] == plain[0].split("ours:")[0]


def test_on_without_a_spyre_tensor_changes_nothing(plain, tmp_path):
    """With the variable such a program has the same code, and nothing is written."""
    done = run_python(HOST, cache=tmp_path, TORCH_SPYRE_PROVENANCE="1")

    assert (0, "") == (done.returncode, done.stderr)
    assert plain[0].split("ours:")[0] == done.stdout.split("ours:")[0]
    assert not (tmp_path / "inductor-spyre").exists()


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        ({"TORCH_SPYRE_PROVENANCE": "yes"}, "is neither 0 nor 1 [setting]"),
        (
            {
                "TORCH_SPYRE_PROVENANCE": "1",
                "TORCH_SPYRE_PROVENANCE_FRONTEND": "other",
            },
            "is neither of reference, torch-spyre [setting]",
        ),
        (
            {
                "TORCH_SPYRE_PROVENANCE": "1",
                "TORCH_SPYRE_PROVENANCE_CARDLESS": "/nowhere",
            },
            "[front-end]",
        ),
    ],
)
def test_bad_setting_warns_and_torch_keeps_working(environ, text, tmp_path):
    """A variable that means nothing is named in a warning, and torch imports."""
    done = run_python("import torch; print(torch.ones(1))", cache=tmp_path, **environ)

    assert (0, "tensor([1.])\n") == (done.returncode, done.stdout)
    assert text in done.stderr
    assert "provenance is off" in done.stderr


def test_device_is_there_only_when_asked_for(tmp_path):
    """Merely installed, the package makes no device; the variable does."""
    program = "import torch; print(hasattr(torch, 'spyre'))"

    assert "False\n" == run_python(program).stdout
    asked = run_python(program, TORCH_SPYRE_PROVENANCE_FRONTEND="reference")
    assert "True\n" == asked.stdout


def test_backend_is_found_by_name(tmp_path):
    """``backend="spyre_provenance"`` needs no import, and records."""
    program = USER.replace("(net.to", '(backend="spyre_provenance", model=net.to')
    done = run_python(
        program, cache=tmp_path, TORCH_SPYRE_PROVENANCE_FRONTEND="reference"
    )

    assert 0 == done.returncode, done.stderr
    (path,) = bundles(tmp_path)
    kernels = json.loads((path / "bundle.json").read_text())["kernels"]
    assert 1 == len(kernels)
