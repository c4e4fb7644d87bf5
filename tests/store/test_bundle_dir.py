"""Bundles on disk: each in a directory of its own, whole or not at all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from attrs import evolve
from bundle_factory import bundle, recorded, run_facts

from torch_spyre_provenance.errors import BundleFormatError, OutputError
from torch_spyre_provenance.store import bundle_dir, find_bundles, read_bundle
from torch_spyre_provenance.store.bundle_dir import write_bundle


def test_a_bundle_is_written_with_its_files(tmp_path):
    """The run's name is the directory's; the reports lie beside the bundle."""
    value = recorded("simple_mlp_torch2.13")
    directory = write_bundle(tmp_path / "new", value, {"report.md": b"text"})
    assert directory == tmp_path / "new" / "simple_mlp"
    assert read_bundle(directory) == value
    assert read_bundle(directory / "bundle.json") == value
    assert (directory / "report.md").read_bytes() == b"text"


def test_a_path_may_be_a_text(tmp_path):
    """As with `open`, a string will do."""
    directory = write_bundle(tmp_path, bundle(), {})

    assert read_bundle(directory) == read_bundle(str(directory))


def test_a_name_that_is_taken_gets_a_suffix(tmp_path):
    """No bundle is ever written over another."""
    names = [write_bundle(tmp_path, bundle(), {}).name for _ in range(3)]
    assert names == ["0_inference", "0_inference-1", "0_inference-2"]


def test_many_writers_do_not_meet(tmp_path):
    """Threads that write at once get a directory each."""
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: write_bundle(tmp_path, bundle(), {}), range(40)))
    assert sorted(found) == list(find_bundles(tmp_path))
    assert len(found) == 40


@pytest.mark.parametrize("name", ["../../etc", "/etc", "", ".", "..", "a/b", "\udcff"])
def test_a_name_stays_in_its_directory(tmp_path, name):
    """Whatever a run is called, its bundle lands directly below the root."""
    value = evolve(bundle(), run=run_facts(name))
    directory = write_bundle(tmp_path / "root", value, {})
    assert directory.parent == tmp_path / "root"
    assert ["root"] == [path.name for path in tmp_path.iterdir()]


def test_a_file_in_the_way_is_an_output_error(tmp_path):
    """The root is no directory: one line, and nothing is written."""
    root = tmp_path / "root"
    root.write_text("mine")
    with pytest.raises(OutputError, match="cannot write"):
        write_bundle(root, bundle(), {})
    assert root.read_text() == "mine"


def test_a_vanishing_directory_leaves_nothing_half_written(tmp_path, monkeypatch):
    """When a write fails, the claimed directory goes as well."""

    def fail(path, data):
        raise OutputError(f"cannot write {path}: {len(data)}")

    monkeypatch.setattr(bundle_dir, "write_bytes", fail)
    with pytest.raises(OutputError):
        write_bundle(tmp_path, bundle(), {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [None, b"", b"{", b"{}"])
def test_what_is_no_bundle_is_refused_by_its_path(tmp_path, content):
    """A missing, empty, truncated or foreign file is named in the message."""
    path = tmp_path / "bundle.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BundleFormatError, match=str(path)):
        read_bundle(tmp_path if content is not None else path)


def test_a_large_file_is_not_read(tmp_path, monkeypatch):
    """The size on disk is looked at first."""
    monkeypatch.setattr(bundle_dir, "MAX_BYTES", 3)
    (tmp_path / "bundle.json").write_bytes(b"{  }")
    with pytest.raises(BundleFormatError, match="larger than 3 bytes"):
        read_bundle(tmp_path)


def test_bundles_are_found_below_a_directory(tmp_path):
    """A directory of bundles, and a bundle's own directory, both work."""
    first = write_bundle(tmp_path / "a", bundle(), {})
    second = write_bundle(tmp_path / "b" / "c", bundle(), {})
    assert find_bundles(tmp_path) == (first, second)
    assert find_bundles(first) == (first,)
    assert find_bundles(tmp_path / "none") == ()
