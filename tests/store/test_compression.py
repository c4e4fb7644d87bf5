"""Compressed bundles: read like any other, and never a way around the bounds."""

from __future__ import annotations

import sys

import pytest
import zstandard
from attrs import evolve
from bundle_factory import recorded

from torch_spyre_provenance.errors import BundleFormatError, MissingExtraError
from torch_spyre_provenance.store import (
    bundle_file,
    codec,
    compression,
    find_bundles,
    read_bundle,
    write_bundle,
)

NAME = "simple_mlp_torch2.13"


def test_a_large_bundle_is_written_compressed_and_read_again(tmp_path):
    """From the size on that was asked for, ``bundle.json.zst`` stands alone."""
    value = recorded(NAME)
    size = len(codec.dumps(value))
    packed = write_bundle(tmp_path, value, {}, compress_from=size)
    plain = write_bundle(tmp_path, value, {}, compress_from=size + 1)
    names = [[path.name for path in each.iterdir()] for each in (packed, plain)]
    assert [["bundle.json.zst"], ["bundle.json"]] == names
    assert value == read_bundle(packed) == read_bundle(packed / "bundle.json.zst")
    assert packed / "bundle.json.zst" == bundle_file(packed)
    assert (packed, plain) == find_bundles(tmp_path)
    assert bundle_file(packed).stat().st_size < size / 5


def test_equal_bundles_have_equal_bytes():
    """The compressed form is canonical as well."""
    text = codec.dumps(recorded(NAME))
    assert compression.compress(text) == compression.compress(text)


def test_a_bomb_is_refused(tmp_path, monkeypatch):
    """A small frame that expands beyond the bound is not expanded to its end."""
    monkeypatch.setattr(compression, "MAX_BYTES", 10_000)
    (tmp_path / "bundle.json.zst").write_bytes(compression.compress(bytes(10_001)))
    with pytest.raises(BundleFormatError, match="holds more than 10000 bytes"):
        read_bundle(tmp_path)


def test_a_frame_that_wants_a_huge_window_is_refused():
    """The memory that a frame's header asks for is bounded, too."""
    options = zstandard.ZstdCompressionParameters.from_level(1, window_log=28)
    packer = zstandard.ZstdCompressor(compression_params=options)
    stream = packer.compressobj()
    frame = stream.compress(bytes(1000)) + stream.flush()
    with pytest.raises(BundleFormatError, match="cannot be expanded"):
        compression.expand(frame, "x")


@pytest.mark.parametrize("end", [5, 40, -1])
def test_a_cut_frame_is_refused(tmp_path, end):
    """Half a file is no bundle, wherever it ends."""
    frame = compression.compress(codec.dumps(recorded(NAME)))
    (tmp_path / "bundle.json").write_bytes(frame[:end])
    with pytest.raises(BundleFormatError):
        read_bundle(tmp_path)


def test_without_the_library_the_message_names_the_extra(tmp_path, monkeypatch):
    """Nothing is written either, where writing was to be compressed."""
    directory = write_bundle(tmp_path, recorded(NAME), {}, compress_from=0)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"\[zstd\]"):
        read_bundle(directory)
    other = evolve(recorded(NAME))
    with pytest.raises(MissingExtraError):
        write_bundle(tmp_path / "other", other, {}, compress_from=0)
    assert not (tmp_path / "other").exists()
