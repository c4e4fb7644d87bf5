"""Reading a kernel's directory: its SDSC files, and which op runs which."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import orjson

from ..errors import BundleFormatError
from ..model import DebugHandle, KernelFiles, Presence, SdscFile
from ..store.handles import parse_handle

_SDSC = re.compile(r"sdsc_(\d+)\.json")
_EXECUTES = re.compile(r'sdsc_filename\s*=\s*"([^"]+)"')


def read_kernel_files(kernel: str, directory: Path) -> KernelFiles:
    """Return what stands in a kernel's directory.

    Raises:
        OSError: The directory cannot be read.
    """
    names = sorted(
        (path.name for path in directory.iterdir() if _SDSC.fullmatch(path.name)),
        key=_number,
    )
    return KernelFiles(
        kernel=kernel,
        directory=str(directory),
        sdsc=tuple(_sdsc_file(directory / name) for name in names),
        executes=_executes(directory / "bundle.mlir"),
    )


def _number(name: str) -> int:
    match = _SDSC.fullmatch(name)
    return int(match[1]) if match else -1


def _executes(path: Path) -> tuple[str, ...]:
    return tuple(_EXECUTES.findall(path.read_text())) if path.exists() else ()


def _sdsc_file(path: Path) -> SdscFile:
    data = path.read_bytes()
    op_key, presence, handle = _handle_of(data)
    return SdscFile(
        name=path.name,
        op_key=op_key,
        sha256=hashlib.sha256(data).hexdigest(),
        handle_presence=presence,
        handle=handle,
    )


def _handle_of(data: bytes) -> tuple[str, Presence, DebugHandle | None]:
    """Return a file's op key and its handle; what cannot be read is a finding too."""
    try:
        ((op_key, body),) = orjson.loads(data).items()
        if "debug_handle_" not in body:
            return op_key, Presence.ABSENT, None
        handle = body["debug_handle_"]
        if handle is None:
            return op_key, Presence.EMPTY, None
        return op_key, Presence.POPULATED, parse_handle(handle)
    except (ValueError, AttributeError, TypeError, BundleFormatError):
        return "", Presence.FAILED, None
