"""Reading a checkout, and changing all of its files or none."""

from __future__ import annotations

import pytest

from patches.checkout import Change, Checkout
from patches.diff import unified_diff
from patches.errors import CheckoutError
from torch_spyre_provenance.errors import OutputError


@pytest.fixture
def files(tmp_path):
    """A directory with two files."""
    (tmp_path / "first.py").write_bytes(b"one\n")
    (tmp_path / "second.py").write_bytes(b"two\n")
    return Checkout(tmp_path)


def test_a_failure_takes_back_what_was_written(files):
    """When the last file cannot be written, no file is changed and none is added."""
    changes = [
        Change(path="first.py", before=b"one\n", after=b"1\n"),
        Change(path="added.py", before=None, after=b"new\n"),
        Change(path="no/such/place.py", before=None, after=b"new\n"),
    ]

    with pytest.raises(OutputError, match=r"cannot write .*place\.py.*\[output\]"):
        files.write(changes)

    assert {"first.py": b"one\n", "second.py": b"two\n"} == {
        path.name: path.read_bytes() for path in files.root.iterdir()
    }


def test_modes_and_links_survive(files):
    """A file keeps its mode, and a link stays one: what it points to is changed."""
    target = files.root / "first.py"
    target.chmod(0o755)
    (files.root / "link.py").symlink_to("first.py")

    files.write([Change(path="link.py", before=b"one\n", after=b"1\n")])

    assert (files.root / "link.py").is_symlink()
    assert b"1\n" == target.read_bytes()
    assert 0o755 == target.stat().st_mode & 0o777


def test_a_directory_is_no_file(files):
    """What is there and cannot be read is an error, what is not there is None."""
    (files.root / "third.py").mkdir()

    with pytest.raises(CheckoutError, match=r"cannot read .*third\.py"):
        files.read("third.py")
    assert files.read("fourth.py") is None


def test_a_diff_says_where_a_newline_is_missing():
    """The last line of a file may have none; git and patch want to be told."""
    change = Change(path="a/b.py", before=b"x\r\ny", after=b"x\r\nz\n")

    assert (
        b"--- a/a/b.py\n+++ b/a/b.py\n@@ -1,2 +1,2 @@\n x\r\n-y\n"
        b"\\ No newline at end of file\n+z\n"
    ) == unified_diff(change)


def test_a_diff_of_a_new_file_starts_from_nothing():
    """Lines end at newlines only, so a form feed stays within its line."""
    change = Change(path="new.py", before=None, after=b"a\x0cb\n")

    assert (b"--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+a\x0cb\n") == unified_diff(
        change
    )
