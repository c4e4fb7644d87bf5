"""Chrome traces on disk, as `torch.profiler` exports them: reading, and annotating.

An annotated trace is the trace that was read: every event with its fields, in their
order, and only `args` that have grown.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from attrs import frozen

from ..errors import TraceFormatError
from ..model.trace import Trace, TraceEvent
from .atomic import write_bytes
from .exact import kind_of

MAX_BYTES = 2 << 30
"""Bytes of a trace, once it is decompressed."""

_GZIP = b"\x1f\x8b"
_COMPLETE = "X"
_DIRECTORIES = ("sdsc_bundle_dir_prefix", "code_dir")
_TAKEN = "provenance_"

Additions = Mapping[int, Mapping[str, str]]
"""What to add to the `args` of events, by their position in the file."""


@frozen(kw_only=True)
class TraceFile:
    """A trace that was read.

    Attributes:
        trace: What is known of its events.
        document: The whole file as plain JSON values.
    """

    trace: Trace
    document: Any


def read_trace(path: Path) -> TraceFile:
    """Read a trace, compressed by gzip or not.

    Args:
        path: The file.

    Raises:
        TraceFormatError: It cannot be read, is no Chrome trace, or is over `MAX_BYTES`.
    """
    try:
        document = _parse(_content(path))
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise TraceFormatError(f"{path} cannot be read: {error}") from error
    try:
        events = tuple(_events(_event_list(document)))
    except (TypeError, ValueError, OverflowError) as error:
        raise TraceFormatError(f"{path} is no Chrome trace: {error}") from error
    return TraceFile(
        trace=Trace(events=events, rank=_rank(document)), document=document
    )


def write_annotated(path: Path, file: TraceFile, additions: Additions) -> None:
    """Write a trace with more `args`, compressed where the name ends in ``.gz``.

    Args:
        path: Where to.
        file: The trace that was read; it is not changed.
        additions: What to add. An argument that an event has already stays as it is;
            ours is then called ``provenance_`` and its name, unless they are equal.

    Raises:
        OutputError: The file cannot be written.
    """
    data = _text(_annotated(file.document, additions))
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    write_bytes(path, data)


def _content(path: Path) -> bytes:
    data = path.read_bytes() if path.stat().st_size <= MAX_BYTES else None
    if data is not None and data.startswith(_GZIP):
        inflater = zlib.decompressobj(wbits=31)
        data = inflater.decompress(data, MAX_BYTES)
        if not inflater.eof:
            data = None if len(data) == MAX_BYTES else b""
    if data is None:
        raise ValueError(f"more than {MAX_BYTES} bytes")
    if not data:
        raise ValueError("empty, or cut off")
    return data


def _parse(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        # Profilers write NaN, and integers of more than 64 bits.
        return json.loads(data)


def _text(document: Any) -> bytes:
    try:
        return orjson.dumps(document)
    except TypeError:
        return json.dumps(document, separators=(",", ":")).encode("ascii")


def _event_list(document: Any) -> list[Any]:
    events = document.get("traceEvents") if type(document) is dict else document
    if type(events) is not list:
        raise TypeError(f"expected a list of events, found {kind_of(events)}")
    return events


def _rank(document: Any) -> int | None:
    about = document.get("distributedInfo") if type(document) is dict else None
    rank = about.get("rank") if type(about) is dict else None
    return rank if type(rank) is int else None


def _events(events: list[Any]) -> Iterator[TraceEvent]:
    for index, event in enumerate(events):
        if type(event) is not dict:
            raise TypeError(f"event {index} is {kind_of(event)}")
        name = event.get("name")
        if event.get("ph") == _COMPLETE and type(name) is str:
            args = event.get("args")
            yield _event(index, name, event, args if type(args) is dict else {})


def _event(
    index: int, name: str, event: Mapping[str, Any], args: Mapping[str, Any]
) -> TraceEvent:
    return TraceEvent(
        index=index,
        name=name,
        category=_text_of(event.get("cat")) or "",
        start_ns=_nanoseconds(event.get("ts"), index),
        duration_ns=_nanoseconds(event.get("dur", 0), index),
        process=_text_of(event.get("pid")) or "",
        thread=_text_of(event.get("tid")) or "",
        external_id=_text_of(args.get("External id")),
        provenance_key=_text_of(args.get("provenance_key")),
        handles=_texts(args.get("debug_handles")),
        directory=next(
            filter(None, (_text_of(args.get(n)) for n in _DIRECTORIES)), None
        ),
    )


def _nanoseconds(microseconds: Any, index: int) -> int:
    if type(microseconds) not in (int, float):
        raise TypeError(f"event {index} has {kind_of(microseconds)} for a time")
    nanoseconds: int = round(microseconds * 1000)
    return nanoseconds


def _text_of(value: Any) -> str | None:
    return str(value) if type(value) in (str, int) else None


def _texts(value: Any) -> tuple[str, ...]:
    items = value if type(value) is list else ()
    return tuple(text for item in items if (text := _text_of(item)))


def _annotated(document: Any, additions: Additions) -> Any:
    events = [
        _grown(event, additions[index]) if index in additions else event
        for index, event in enumerate(_event_list(document))
    ]
    return {**document, "traceEvents": events} if type(document) is dict else events


def _grown(event: dict[str, Any], added: Mapping[str, str]) -> dict[str, Any]:
    args = dict(event.get("args") or {})
    for name, value in added.items():
        is_taken = name in args and args[name] != value
        args[f"{_TAKEN}{name}" if is_taken else name] = value
    return {**event, "args": args}
