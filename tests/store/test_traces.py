"""Chrome traces on disk."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from torch_spyre_provenance.errors import TraceFormatError
from torch_spyre_provenance.model.trace import TraceEvent
from torch_spyre_provenance.store import traces
from torch_spyre_provenance.store.traces import read_trace, write_annotated

LAUNCH = {
    "ph": "X",
    "cat": "user_annotation",
    "name": "launch_jobplan:k",
    "pid": 7,
    "tid": "stream 0",
    "ts": 5175801165909.438,
    "dur": 94.054,
    "args": {"External id": 213, "source": "theirs"},
}
DEVICE = {
    "dur": 2,
    "ts": 1,
    "ph": "X",
    "name": "spyre_kernel_v1_fused_add_abcdefgh234567yz#0",
    "args": {
        "provenance_key": "abcdefgh234567yz",
        "debug_handles": ["6233022986613039509", 1],
        "sdsc_bundle_dir_prefix": "0123abcd",
    },
}
MARK = {"ph": "i", "name": "instant", "ts": 3}
BARE = {"ph": "X", "name": "no args", "ts": 0}
DOCUMENT = {
    "schemaVersion": 1,
    "distributedInfo": {"rank": 3},
    "traceEvents": [LAUNCH, MARK, DEVICE, BARE],
    "traceName": "t.json",
}


def written(path: Path, content: object) -> Path:
    """Write a trace."""
    path.write_text(json.dumps(content))
    return path


def test_events_are_read_with_what_leads_to_a_kernel(tmp_path):
    """Times in whole nanoseconds, and what torch-spyre puts into an event."""
    trace = read_trace(written(tmp_path / "t.json", DOCUMENT)).trace

    assert trace.rank == 3
    assert trace.events == (
        TraceEvent(
            index=0,
            name="launch_jobplan:k",
            category="user_annotation",
            start_ns=5175801165909438,
            duration_ns=94054,
            process="7",
            thread="stream 0",
            external_id="213",
        ),
        TraceEvent(
            index=2,
            name=DEVICE["name"],
            start_ns=1000,
            duration_ns=2000,
            provenance_key="abcdefgh234567yz",
            handles=("6233022986613039509", "1"),
            directory="0123abcd",
        ),
        TraceEvent(index=3, name="no args", start_ns=0, duration_ns=0),
    )


def test_a_bare_list_of_events_is_a_trace(tmp_path):
    """The other form of the format."""
    trace = read_trace(written(tmp_path / "t.json", [BARE])).trace

    assert [event.name for event in trace.events] == ["no args"]


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
@pytest.mark.parametrize("document", [DOCUMENT, DOCUMENT["traceEvents"]])
def test_only_args_grow(tmp_path, name: str, document):
    """Every event keeps its fields and their order; what it has is not overwritten."""
    file = read_trace(written(tmp_path / "t.json", document))
    additions = {0: {"source": "m.py:1", "module": "fc1"}, 3: {"source": "m.py:2"}}
    write_annotated(tmp_path / name, file, additions)
    data = (tmp_path / name).read_bytes()
    text = (gzip.decompress(data) if name.endswith("gz") else data).decode()
    expected = json.loads(json.dumps(document))
    events = expected["traceEvents"] if isinstance(expected, dict) else expected
    events[0]["args"] |= {"provenance_source": "m.py:1", "module": "fc1"}
    events[3]["args"] = {"source": "m.py:2"}

    assert json.dumps(json.loads(text)) == json.dumps(expected)
    assert file.document == document


def test_annotating_twice_adds_nothing(tmp_path):
    """What is there already is not there twice."""
    file = read_trace(written(tmp_path / "t.json", DOCUMENT))
    additions = {3: {"source": "m.py:2"}}
    write_annotated(tmp_path / "a.json", file, additions)
    write_annotated(tmp_path / "b.json", read_trace(tmp_path / "a.json"), additions)

    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_numbers_that_are_no_json_survive(tmp_path):
    """Profilers write NaN, and addresses of more than 64 bits."""
    event = {**BARE, "args": {"bytes": float("nan"), "address": 1 << 70}}
    file = read_trace(written(tmp_path / "t.json", [event]))
    write_annotated(tmp_path / "a.json", file, {})

    assert json.dumps([event]) == json.dumps(
        json.loads((tmp_path / "a.json").read_text())
    )


def test_a_compressed_trace_is_told_by_its_bytes(tmp_path):
    """Its name does not matter."""
    path = tmp_path / "t.json"
    path.write_bytes(gzip.compress(json.dumps([BARE]).encode()))

    assert len(read_trace(path).trace.events) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b'{"traceEvents": {}}',
        b"[1]",
        b'[{"ph": "X", "name": "a", "ts": "x"}]',
        b'[{"ph": "X", "name": "a", "ts": 1e999}]',
        gzip.compress(b"[]", mtime=0)[:-9],
        b"[" * 100_000,
        b"\x1f\x8bnonsense",
    ],
)
def test_what_is_no_trace_is_refused(tmp_path, data: bytes):
    """With one error of ours, whatever it is."""
    (tmp_path / "t.json").write_bytes(data)

    with pytest.raises(TraceFormatError, match=r"\[trace-format\]"):
        read_trace(tmp_path / "t.json")


def test_a_bomb_is_refused(tmp_path, monkeypatch):
    """No more is decompressed than the bound."""
    monkeypatch.setattr(traces, "MAX_BYTES", 1000)
    (tmp_path / "t.json").write_bytes(
        gzip.compress(b"[" + b" " * 10_000 + b"]", mtime=0)
    )

    with pytest.raises(TraceFormatError, match="more than 1000 bytes"):
        read_trace(tmp_path / "t.json")
