"""Where bundles lie: one directory for each, ``bundle.json`` and its reports inside."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from itertools import count
from pathlib import Path

from ..errors import BundleFormatError
from ..model import Bundle
from . import codec
from .atomic import cannot_write, write_bytes
from .limits import MAX_BYTES

BUNDLE_FILE = "bundle.json"
"""Name of the bundle in its directory."""

_MOST_TRIES = 10_000


def write_bundle(root: Path, bundle: Bundle, files: Mapping[str, bytes]) -> Path:
    """Write a bundle and its reports into a new directory below `root`.

    The reports are written first and ``bundle.json`` last: a directory that holds one
    is whole. Where the name is taken, ``-1``, ``-2`` and so on is added to it.

    Args:
        root: Directory of all bundles; made where it is missing.
        bundle: The bundle; `bundle.run.name` names its directory.
        files: Contents of the other files, by file name.

    Returns:
        The new directory, as an absolute path.

    Raises:
        OutputError: Something cannot be written; nothing half written is left.
    """
    data = codec.dumps(bundle)
    with ExitStack() as undo:
        directory = _claim(root.absolute(), _safe_name(bundle.run.name))
        undo.callback(shutil.rmtree, directory, ignore_errors=True)
        for name, content in files.items():
            write_bytes(directory / _safe_name(name), content)
        write_bytes(directory / BUNDLE_FILE, data)
        undo.pop_all()
    return directory


def read_bundle(path: Path) -> Bundle:
    """Read a bundle.

    Args:
        path: A ``bundle.json``, or the directory that holds one.

    Returns:
        The bundle.

    Raises:
        BundleFormatError: There is none, or it is not a whole one.
    """
    file = path / BUNDLE_FILE if path.is_dir() else path
    try:
        if file.stat().st_size > MAX_BYTES:
            raise BundleFormatError(f"{file} is larger than {MAX_BYTES} bytes")
        data = file.read_bytes()
    except OSError as error:
        raise BundleFormatError(
            f"cannot read {file}: {error.strerror or error}"
        ) from error
    return codec.loads(data, source=str(file))


def find_bundles(root: Path) -> tuple[Path, ...]:
    """Return the directories of the bundles below `root`, itself included, sorted."""
    if (root / BUNDLE_FILE).is_file():
        return (root,)
    return tuple(sorted(file.parent for file in root.glob(f"**/{BUNDLE_FILE}")))


def _claim(root: Path, name: str) -> Path:
    """Make a directory that nobody else has."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        for number in count():
            directory = root / (f"{name}-{number}" if number else name)
            try:
                directory.mkdir()
            except FileExistsError:
                if number == _MOST_TRIES or not root.is_dir():
                    raise
            else:
                return directory
    except OSError as error:
        raise cannot_write(root / name, error) from error
    raise AssertionError("unreachable")


def _safe_name(name: str) -> str:
    """Return a name that stays in its directory, whatever it holds."""
    plain = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
    return plain.lstrip(".")[:200] or "bundle"
