"""A reader sees the old file, the new one, or none."""

from __future__ import annotations

import os
import stat

import pytest

from torch_spyre_provenance.errors import OutputError
from torch_spyre_provenance.store import atomic


def test_a_file_is_written_whole_and_alone(tmp_path):
    """Nothing but the file is left, with the permissions of an ordinary file."""
    path = tmp_path / "a.json"
    atomic.write_bytes(path, b"new")
    mask = os.umask(0)
    os.umask(mask)
    assert path.read_bytes() == b"new"
    assert [path] == list(tmp_path.iterdir())
    assert 0o666 & ~mask == stat.S_IMODE(path.stat().st_mode)


def test_an_old_file_is_replaced(tmp_path):
    """The second content takes the place of the first."""
    path = tmp_path / "a.json"
    atomic.write_bytes(path, b"old and longer")
    atomic.write_bytes(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_planted_link_is_replaced_and_not_followed(tmp_path):
    """A symbolic link in a shared directory cannot redirect the writing."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    path = tmp_path / "a.json"
    path.symlink_to(victim)
    atomic.write_bytes(path, b"new")
    assert (victim.read_bytes(), path.read_bytes()) == (b"mine", b"new")
    assert not path.is_symlink()


def test_a_missing_directory_is_an_output_error(tmp_path):
    """The message names the file and the reason, in one line."""
    path = tmp_path / "gone" / "a.json"
    with pytest.raises(OutputError) as caught:
        atomic.write_bytes(path, b"new")
    assert str(caught.value) == (
        f"cannot write {path}: No such file or directory [output]"
    )


def test_a_failing_rename_leaves_nothing_half_written(tmp_path):
    """Where the target cannot be replaced, the temporary file goes."""
    path = tmp_path / "a.json"
    path.mkdir()
    (path / "child").touch()
    with pytest.raises(OutputError):
        atomic.write_bytes(path, b"new")
    assert [path] == list(tmp_path.iterdir())
