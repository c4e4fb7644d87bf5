"""Where bundles lie: one directory for each, ``bundle.json`` and its reports inside."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from itertools import count
from os import PathLike
from pathlib import Path

from ..errors import BundleFormatError
from ..model import Bundle
from . import codec
from .atomic import cannot_write, write_bytes
from .compression import SUFFIX, compress, expand, is_compressed
from .limits import MAX_BYTES
from .record import BundleText, text_of

BUNDLE_FILE = "bundle.json"
"""Name of the bundle in its directory."""

PACKED_FILE = BUNDLE_FILE + SUFFIX
"""Its name where it is compressed."""

SIDECAR_FILE = "spyre_provenance.json"
"""torch-spyre's own file."""

_SIDECAR_MARKS = (b'"kernelIdentities"', b'"kernelOccurrences"', b'"schemaVersion"')
_MOST_TRIES = 10_000


def write_bundle(
    root: Path,
    bundle: Bundle,
    files: Mapping[str, bytes],
    compress_from: int | None = None,
) -> Path:
    """Write a bundle and its reports into a new directory below `root`.

    Args:
        root: As for `write_text`.
        bundle: The bundle; `bundle.run.name` names its directory.
        files: As for `write_text`.
        compress_from: As for `write_text`.

    Returns:
        The new directory, as an absolute path.

    Raises:
        MissingExtraError: The bundle is to be compressed, and there is no library.
        OutputError: Something cannot be written; nothing half written is left.
    """
    return write_text(root, text_of(bundle), files, compress_from)


def write_text(
    root: Path,
    text: BundleText,
    files: Mapping[str, bytes],
    compress_from: int | None = None,
) -> Path:
    """Write a bundle's text and its reports into a new directory below `root`.

    The reports are written first and ``bundle.json`` last: a directory that holds one
    is whole. Where the name is taken, ``-1``, ``-2`` and so on is added to it.

    Args:
        root: Directory of all bundles; made where it is missing.
        text: The bundle's text; `text.name` names its directory.
        files: Contents of the other files, by file name.
        compress_from: Bytes from which on the bundle is written as
            ``bundle.json.zst``; None for never.

    Returns:
        The new directory, as an absolute path.

    Raises:
        MissingExtraError: The bundle is to be compressed, and there is no library.
        OutputError: Something cannot be written; nothing half written is left.
    """
    import shutil  # late: readers do without

    data, name = text.data, BUNDLE_FILE
    if compress_from is not None and len(data) >= compress_from:
        data, name = compress(data), PACKED_FILE
    with ExitStack() as undo:
        directory = _claim(root.absolute(), _safe_name(text.name))
        undo.callback(shutil.rmtree, directory, ignore_errors=True)
        for other, content in files.items():
            write_bytes(directory / _safe_name(other), content)
        write_bytes(directory / name, data)
        undo.pop_all()
    return directory


def read_bundle(path: str | PathLike[str]) -> Bundle:
    """Read a bundle.

    Args:
        path: A ``bundle.json``, compressed or not, or the directory that holds one;
            torch-spyre's own ``spyre_provenance.json`` will do as well.

    Returns:
        The bundle.

    Raises:
        BundleFormatError: There is none, or it is not a whole one.
        MissingExtraError: It is compressed, and there is no library.
    """
    file = Path(path)
    if file.is_dir():
        file = _file_to_read(file)
    try:
        if file.stat().st_size > MAX_BYTES:
            raise BundleFormatError(f"{file} is larger than {MAX_BYTES} bytes")
        data = file.read_bytes()
    except OSError as error:
        raise BundleFormatError(
            f"cannot read {file}: {error.strerror or error}"
        ) from error
    source = str(file)
    if is_compressed(data):
        data = expand(data, source)
    if is_sidecar(data):
        # Late: bundles are read without it.
        from .spyre_sidecar import parse_sidecar

        return parse_sidecar(data, source).bundle
    return codec.loads(data, source=source)


def is_sidecar(data: bytes) -> bool:
    """Return whether a file's content looks like torch-spyre's own file."""
    return all(mark in data for mark in _SIDECAR_MARKS)


def _file_to_read(directory: Path) -> Path:
    own, theirs = bundle_file(directory), directory / SIDECAR_FILE
    return theirs if theirs.is_file() and not own.is_file() else own


def bundle_file(directory: Path) -> Path:
    """Return the file that holds a directory's bundle, compressed or not."""
    packed = directory / PACKED_FILE
    return packed if packed.is_file() else directory / BUNDLE_FILE


def find_bundles(root: Path) -> tuple[Path, ...]:
    """Return the directories of the bundles below `root`, itself included, sorted."""
    if bundle_file(root).is_file():
        return (root,)
    names = (BUNDLE_FILE, PACKED_FILE)
    files = (file for name in names for file in root.glob(f"**/{name}"))
    return tuple(sorted({file.parent for file in files}))


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
    # ASCII only: the system counts a name's bytes, not its characters.
    plain = "".join(
        c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name
    )
    return plain.lstrip(".")[:200] or "bundle"
