"""Reading a kernel's directory: its SDSC files, and which op runs which."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import orjson

from ..errors import BundleFormatError
from ..model import DebugHandle, KernelFiles, Presence, SdscFile
from .handles import parse_handle
from .limits import MAX_BYTES

_SDSC = re.compile(r"sdsc_(\d+)\.json")
_TO_HANDLE = re.compile(
    rb'\s*\{\s*("(?:[^"\\]|\\.)*")\s*:\s*\{\s*"debug_handle_"\s*:\s*'
)
_DECODER = json.JSONDecoder()
_MOST_OF_HANDLE = 8_192
_ABSENT = object()
_EXECUTES, _FILE_NAME = "sdsc_filename", re.compile(r'\s*=\s*"([^"]+)"')


def read_kernel_files(kernel: str, directory: Path) -> KernelFiles:
    """Return what stands in a kernel's directory.

    Raises:
        OSError: The directory cannot be read.
    """
    with os.scandir(directory) as entries:
        found = [entry.name for entry in entries if _SDSC.fullmatch(entry.name)]
    return KernelFiles(
        kernel=kernel,
        directory=str(directory),
        sdsc=tuple(_sdsc_file(directory, name) for name in sorted(found, key=_number)),
        executes=_executes(directory / "bundle.mlir"),
    )


def look_for_kernel_files(kernel: str, directory: Path) -> KernelFiles | None:
    """Return what stands in a kernel's directory; None where it cannot be read."""
    try:
        return read_kernel_files(kernel, directory)
    except OSError:
        return None


def _number(name: str) -> int:
    match = _SDSC.fullmatch(name)
    return int(match[1]) if match else -1


def _executes(path: Path) -> tuple[str, ...]:
    try:
        text = read_regular(path).decode("utf-8", "replace")
    except FileNotFoundError:
        return ()
    _, *executed = text.split(_EXECUTES)
    matches = map(_FILE_NAME.match, executed)
    return tuple(match[1] for match in matches if match is not None)


def read_documents(files: Iterable[KernelFiles]) -> Mapping[str, str]:
    """Return the SDSC files that lie on disk as they were recorded.

    The paths come from a bundle: nothing is read but files of an SDSC file's name, and
    nothing is kept whose digest is another one.

    Args:
        files: The kernels' directories, as a bundle has them.

    Returns:
        The JSON text of each file by its digest, indented, in ASCII.
    """
    found: dict[str, str] = {}
    for each in files:
        for file in each.sdsc:
            if file.sha256 in found or not _SDSC.fullmatch(file.name):
                continue
            try:
                data = read_regular(Path(each.directory) / file.name)
                if hashlib.sha256(data).hexdigest() == file.sha256:
                    found[file.sha256] = json.dumps(json.loads(data), indent=1)
            except (OSError, ValueError, RecursionError):
                continue
    return found


def digest_of(path: Path) -> str | None:
    """Return the SHA-256 of a file in hexadecimal; None where it cannot be read."""
    try:
        return hashlib.sha256(read_regular(path)).hexdigest()
    except OSError:
        return None


def read_regular(path: str | Path) -> bytes:
    """Return the content of a regular file.

    A path may come out of a stranger's bundle and name a pipe or a device, which would
    be read without end.

    Raises:
        OSError: It cannot be read, is no regular file, or is larger than `MAX_BYTES`.
    """
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        facts = os.fstat(number)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(f"{path} is no regular file")
        if facts.st_size > MAX_BYTES:
            raise OSError(f"{path} is larger than {MAX_BYTES} bytes")
        data = os.read(number, facts.st_size)
        while len(data) < facts.st_size and (rest := os.read(number, facts.st_size)):
            data += rest
        return data
    finally:
        os.close(number)


def _sdsc_file(directory: Path, name: str) -> SdscFile:
    data = read_regular(f"{directory}/{name}")
    op_key, presence, handle = _handle_of(data)
    return SdscFile(
        name=name,
        op_key=op_key,
        sha256=hashlib.sha256(data).hexdigest(),
        handle_presence=presence,
        handle=handle,
    )


def _handle_of(data: bytes) -> tuple[str, Presence, DebugHandle | None]:
    """Return a file's op key and its handle; what cannot be read is a finding too."""
    try:
        op_key, handle = _first_value(data) or _searched(data)
        if handle is _ABSENT:
            return op_key, Presence.ABSENT, None
        if handle is None:
            return op_key, Presence.EMPTY, None
        return op_key, Presence.POPULATED, parse_handle(handle)
    except (ValueError, AttributeError, TypeError, RecursionError, BundleFormatError):
        return "", Presence.FAILED, None


def _first_value(data: bytes) -> tuple[str, object] | None:
    """Return a file's op key and its handle, where a short handle comes first.

    That is where compilers write it. What follows is a hundred times as long and is
    not parsed, so that only its end says that the file is a whole one.
    """
    match = _TO_HANDLE.match(data)
    if match is None or not data.endswith((b"}", b"}\n")):
        return None
    start = data[match.end() : match.end() + _MOST_OF_HANDLE]
    with suppress(ValueError):  # it goes on behind that
        handle, _ = _DECODER.raw_decode(start.decode("utf-8", "ignore"))
        return orjson.loads(match[1]), handle
    return None


def _searched(data: bytes) -> tuple[str, object]:
    ((op_key, body),) = orjson.loads(data).items()
    return op_key, body.get("debug_handle_", _ABSENT)
