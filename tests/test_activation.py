"""Turning recording on and off in a process."""

from __future__ import annotations

import pytest
import torch
from process import run_python
from torch._inductor import config

import torch_spyre_provenance
from torch_spyre_provenance.errors import OutputError
from torch_spyre_provenance.recording.current import current_session

TAKEN = """
import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
_setup_privateuseone_for_python_backend("other")
import torch_spyre_provenance
try:
    torch_spyre_provenance.enable()
except torch_spyre_provenance.ProvenanceError as error:
    print(error)
model = torch.nn.Linear(4, 4)
compiled = torch.compile(model, backend="spyre_provenance")
print(torch.allclose(compiled(torch.ones(4)), model(torch.ones(4))))
"""


def step(x):
    """Return something that takes one op."""
    return x * 3


def test_record_ends_with_its_block(tmp_path):
    """Inside the block compiles are recorded, outside they are not."""
    torch._dynamo.reset()
    with torch_spyre_provenance.record(out=tmp_path) as recording:
        assert current_session() is recording
        torch.compile(step)(torch.ones(4, 64).to("spyre"))
    torch._dynamo.reset()

    result = torch.compile(step)(torch.ones(2, 64).to("spyre"))

    assert torch.equal(torch.full((2, 64), 3.0), result.cpu())
    assert None is current_session()
    assert 1 == len(recording.bundles)
    assert None is config.pre_grad_custom_pass


def test_record_inside_a_recording_gives_it_back(tmp_path):
    """After an inner block the outer recording is the active one again."""
    with torch_spyre_provenance.record(out=tmp_path / "a") as outer:
        with torch_spyre_provenance.record(out=tmp_path / "b") as inner:
            assert current_session() is inner
        assert current_session() is outer


def test_users_own_passes_stay(tmp_path):
    """A pass that the user configured runs while recording, and is left there after."""
    seen = []
    with config.patch(pre_grad_custom_pass=seen.append):
        torch._dynamo.reset()
        with torch_spyre_provenance.record(out=tmp_path) as recording:
            torch.compile(step)(torch.ones(4, 64).to("spyre"))
        assert seen.append == config.pre_grad_custom_pass

    assert 1 == len(seen)
    assert recording.bundles[0].bundle.fx_pre_grad is not None


def test_every_graph_has_its_bundle(tmp_path):
    """A training step has one for the forward and one for the backward graph."""
    torch._dynamo.reset()
    with torch_spyre_provenance.record(out=tmp_path, strict=True) as recording:
        model = torch.nn.Linear(64, 64).to("spyre")
        torch.compile(model)(torch.ones(4, 64).to("spyre")).sum().backward()

    kinds = [done.bundle.compile.kind.value for done in recording.bundles]
    assert ["forward", "backward"] == kinds
    assert all(done.bundle.ops for done in recording.bundles)
    assert 2 == len({done.path for done in recording.bundles})


def test_directory_that_cannot_be_written_is_an_error(tmp_path):
    """A file in the way of the output directory is said at once, before compiling."""
    (tmp_path / "file").touch()

    with (
        pytest.raises(OutputError, match=r"\[output\]"),
        torch_spyre_provenance.record(out=tmp_path / "file" / "out"),
    ):
        pass

    assert None is current_session()


def test_taken_device_steps_back(tmp_path):
    """Under another PrivateUse1 backend the reference says so, and the rest works."""
    done = run_python(TAKEN, cache=tmp_path)

    assert 0 == done.returncode, done.stderr
    message, worked = done.stdout.splitlines()
    assert "other" in message
    assert message.endswith("[device-taken]")
    assert "True" == worked
    assert "no device kernels" in done.stderr


def test_unknown_name_is_an_attribute_error():
    """The lazy package has the attributes of its public names and no others."""
    assert "record" in dir(torch_spyre_provenance)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        torch_spyre_provenance.nothing  # noqa: B018
