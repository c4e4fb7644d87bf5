"""Writing files so that a reader sees the old one, the new one, or none."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ..errors import OutputError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_MODE = 0o666  # less what the process's umask takes away


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file in one step: a temporary file beside it, then a rename.

    A kill at any moment leaves no half file under `path`; there is no ``fsync``, so a
    power failure may. An existing file or symbolic link at `path` is replaced, not
    followed.

    Args:
        path: The file; its directory exists.
        data: Its whole content.

    Raises:
        OutputError: It cannot be written; what was half written is removed.
    """
    beside = path.with_name(f".{path.name[:32]}.{os.urandom(4).hex()}")
    try:
        number = os.open(beside, _NEW, _MODE)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(data)
            beside.replace(path)
        except BaseException:
            with suppress(OSError):
                beside.unlink()
            raise
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> OutputError:
    """Return the error to raise when the system refuses to write a path."""
    return OutputError(f"cannot write {path}: {error.strerror or error}")
