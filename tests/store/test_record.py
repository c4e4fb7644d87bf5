"""Bundles as text, and a compile's part of them in generated code."""

from __future__ import annotations

import binascii
import zlib

import pytest
from attrs import evolve
from bundle_factory import RECORDED, recorded, run_facts
from hypothesis import HealthCheck, given, settings
from strategies import bundles

from torch_spyre_provenance.errors import BundleFormatError
from torch_spyre_provenance.store import codec, record


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(bundles())
def test_a_packed_bundle_comes_back_with_the_facts_of_this_run(value):
    """Packing drops `run`; unpacking puts another one there, as `dumps` would."""
    run = run_facts("another")
    packed = record.unpack(record.record_of(value).packed())
    text = packed.with_run(run)
    assert evolve(value, run=run) == text.bundle
    assert codec.dumps(evolve(value, run=run)) == text.data
    assert (value.compile.graph, "another") == (packed.graph, text.name)


@pytest.mark.parametrize("name", RECORDED)
def test_a_packed_bundle_is_safe_and_small_in_source_code(name):
    """The text needs no escapes in a Python string and is a fraction of the bundle."""
    value = recorded(name)
    text = record.record_of(value).packed()
    assert text == eval(f"'{text}'")  # noqa: S307  the point is that it is a literal
    assert len(text) < len(codec.dumps(value)) / 4


def packed(data: bytes) -> str:
    """Return bytes as a record carries them."""
    return binascii.b2a_base64(zlib.compress(data), newline=False).decode()


@pytest.mark.parametrize("text", ["", "!", "AAAA", "eJw", "é", packed(b"{}")])
def test_what_was_not_packed_is_refused(text):
    """A damaged record in generated code is a format error."""
    with pytest.raises(BundleFormatError, match="embedded record"):
        record.unpack(text)


def test_a_changed_record_is_refused():
    """Its checksum tells."""
    text = record.record_of(recorded(RECORDED[0])).packed()
    data = bytearray(binascii.a2b_base64(text))
    data[len(data) // 2] ^= 1
    with pytest.raises(BundleFormatError, match=r"cannot be unpacked|cut off"):
        record.unpack(binascii.b2a_base64(data, newline=False).decode())


def test_a_packed_record_cannot_grow_without_bound(monkeypatch):
    """Decompression stops at the bound."""
    text = record.record_of(recorded("simple_mlp_torch2.13")).packed()
    monkeypatch.setattr(record, "MAX_BYTES", 100)
    with pytest.raises(BundleFormatError, match="over 100 bytes"):
        record.unpack(text)


def test_a_text_is_read_once_and_only_when_asked():
    """The object of a text that came from an object is that object."""
    value = recorded("simple_mlp_torch2.13")
    assert value is record.text_of(value).bundle
    text = record.unpack(record.record_of(value).packed()).with_run(value.run)
    assert value == text.bundle
    assert text.bundle is text.bundle


def test_a_text_that_is_no_bundle_is_an_error_when_asked():
    """Only the checksum was looked at before."""
    text = record.unpack(packed(b'"graph"\0{\0}'))
    with pytest.raises(BundleFormatError):
        _ = text.with_run(run_facts("name")).bundle
