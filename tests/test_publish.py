"""Everything that one compile leaves on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import evolve
from bundle_factory import recorded

from torch_spyre_provenance.errors import OutputError
from torch_spyre_provenance.model import Bundle
from torch_spyre_provenance.publish import Publisher
from torch_spyre_provenance.store import read_bundle


def with_directory(directory: Path) -> Bundle:
    """Return the recorded model with its kernel in a directory of this machine."""
    value = recorded("simple_mlp_torch2.13")
    files = tuple(evolve(f, directory=str(directory)) for f in value.run.files)
    return evolve(value, run=evolve(value.run, files=files))


def test_a_bundle_its_report_and_a_record_for_each_kernel(tmp_path):
    """The record leads from the kernel to the bundle."""
    kernel = tmp_path / "inductor-spyre" / "kernel_a1"
    kernel.mkdir(parents=True)
    value = with_directory(kernel)
    directory = Publisher().publish(value, tmp_path / "inductor-spyre" / "provenance")
    assert read_bundle(directory) == value
    assert sorted(path.name for path in directory.iterdir()) == [
        "bundle.json",
        "report.md",
    ]
    assert [path.name for path in kernel.iterdir()] == ["provenance.json"]
    record = json.loads((kernel / "provenance.json").read_bytes())
    assert (kernel / record["bundle"]["relative"]).resolve() == directory.resolve()
    assert len(record["ops"]) == 5


def test_a_vanished_kernel_directory_is_an_error_after_all_else_is_written(tmp_path):
    """The bundle stays, and the message says what is missing."""
    with pytest.raises(OutputError, match="1 of 1 kernel directories are not"):
        Publisher().publish(with_directory(tmp_path / "gone"), tmp_path / "out")
    assert read_bundle(tmp_path / "out" / "simple_mlp").ops


def test_a_root_that_cannot_be_made_is_an_error(tmp_path):
    """Nothing is written at all."""
    (tmp_path / "out").write_text("mine")
    with pytest.raises(OutputError, match="cannot write"):
        Publisher().publish(with_directory(tmp_path), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
