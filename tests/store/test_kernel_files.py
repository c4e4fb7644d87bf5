"""Files of a kernel's directory, read again for a bundle from anywhere."""

from __future__ import annotations

import hashlib
import json

import pytest

from torch_spyre_provenance.model import KernelFiles, Presence, SdscFile
from torch_spyre_provenance.store.kernel_files import (
    read_documents,
    read_kernel_files,
)

TEXT = '{"0_add": {"debug_handle_": null, "name": "caf\u00e9 \u202e"}}'


def recorded_as(directory, name: str, text: str = TEXT) -> KernelFiles:
    """Return what a bundle says of a file of this name and content."""
    file = SdscFile(
        name=name,
        op_key="0_add",
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        handle_presence=Presence.EMPTY,
    )
    return KernelFiles(kernel="k", directory=str(directory), sdsc=(file,))


def test_a_file_is_read_as_it_was_recorded(tmp_path):
    """Indented, and with nothing that a reader could not see."""
    (tmp_path / "sdsc_0.json").write_text(TEXT, encoding="utf-8")
    files = recorded_as(tmp_path, "sdsc_0.json")

    ((digest, text),) = read_documents([files, files]).items()

    assert digest == files.sdsc[0].sha256
    assert json.loads(text) == json.loads(TEXT)
    assert text.isascii()


def test_what_changed_or_is_gone_is_left_out(tmp_path):
    """A file on disk may be another compile's by now."""
    (tmp_path / "sdsc_0.json").write_text(TEXT + "\n", encoding="utf-8")

    files = [recorded_as(tmp_path, f"sdsc_{number}.json") for number in (0, 1)]

    assert read_documents(files) == {}


def test_no_other_name_is_read(tmp_path):
    """A stranger's bundle cannot fetch a file of another kind into a page."""
    (tmp_path / "secret.json").write_text(TEXT, encoding="utf-8")

    files = [recorded_as(tmp_path / "x", "../secret.json")]
    files += [recorded_as(tmp_path, "secret.json")]

    assert read_documents(files) == {}


def test_what_is_no_json_is_left_out(tmp_path):
    """Even where it is the very file that was recorded."""
    (tmp_path / "sdsc_0.json").write_text("{", encoding="utf-8")

    assert read_documents([recorded_as(tmp_path, "sdsc_0.json", "{")]) == {}


HANDLE = {"id": "7", "source": None, "aten_op": "aten.relu.default", "ir_chain": []}


LONG_HANDLE = HANDLE | {"ir_chain": ["buf"] * 5_000}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (json.dumps({"0_relu": {"debug_handle_": HANDLE, "sdscFoldProps_": []}}), 7),
        (json.dumps({"0_relu": {"sdscFoldProps_": [], "debug_handle_": HANDLE}}), 7),
        (json.dumps({"0_relu": {"debug_handle_": LONG_HANDLE}}), 7),
        (json.dumps({'a"\\b': {"debug_handle_": HANDLE}}, indent=2) + "\n", 7),
        (json.dumps({"0_relu": {"debug_handle_": None, "x": 1}}), Presence.EMPTY),
        (json.dumps({"0_relu": {"sdscFoldProps_": []}}), Presence.ABSENT),
        (json.dumps({"0_relu": {"debug_handle_": {"id": "7"}}}), Presence.FAILED),
        (
            json.dumps({"0_relu": {"debug_handle_": HANDLE, "x": [1]}})[:-3],
            Presence.FAILED,
        ),
        ('{"0_relu": {"debug_handle_": ' + "[" * 100_000 + "}", Presence.FAILED),
        ("", Presence.FAILED),
    ],
)
def test_a_handle_is_found_wherever_it_stands(tmp_path, text, expected):
    """First, as compilers write it, or later; what is no handle is a finding."""
    (tmp_path / "sdsc_0.json").write_text(text)
    (file,) = read_kernel_files("kernel", tmp_path).sdsc
    found = file.handle_presence if file.handle is None else file.handle.id
    assert expected == found
    assert hashlib.sha256(text.encode()).hexdigest() == file.sha256
