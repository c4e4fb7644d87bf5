"""Writing files so that a reader sees the old one, the new one, or none."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ..errors import OutputError

_MODE = 0o666


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
    import tempfile  # late: readers have no use for all that it imports

    try:
        number, name = tempfile.mkstemp(prefix=f".{path.name[:32]}.", dir=path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), _MODE & ~_umask())
        Path(name).replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        # Gone already unless the rename was not reached.
        with suppress(OSError):
            Path(name).unlink()


def cannot_write(path: Path, error: OSError) -> OutputError:
    """Return the error to raise when the system refuses to write a path."""
    return OutputError(f"cannot write {path}: {error.strerror or error}")


def _umask() -> int:
    # The only way to learn the mask is to set it; Linux also shows it here, which other
    # threads do not notice.
    with suppress(OSError, ValueError):
        for row in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
            if row.startswith("Umask:"):
                return int(row.split()[1], 8)
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
