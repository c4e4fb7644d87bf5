"""Compressed bundles: ``bundle.json.zst``, Zstandard around the canonical text.

The library is imported where there is something to compress or to expand, and only
then; it is the extra ``zstd``.
"""

from __future__ import annotations

import io
from types import ModuleType

from ..errors import BundleFormatError, MissingExtraError
from .limits import MAX_BYTES

SUFFIX = ".zst"
"""Added to the name of a compressed file."""

_MAGIC = b"\x28\xb5\x2f\xfd"
_LEVEL = 3
_MAX_WINDOW = 128 * 1024 * 1024  # what `zstd` itself accepts without being asked


def is_compressed(data: bytes) -> bool:
    """Return whether bytes begin as a Zstandard frame does."""
    return data.startswith(_MAGIC)


def compress(data: bytes) -> bytes:
    """Return bytes as one Zstandard frame; equal bytes give equal frames.

    Raises:
        MissingExtraError: The library is not installed.
    """
    packed: bytes = _zstandard().ZstdCompressor(level=_LEVEL).compress(data)
    return packed


def expand(data: bytes, source: str) -> bytes:
    """Return what a Zstandard frame holds.

    Args:
        data: The frame.
        source: What to call it in messages.

    Raises:
        BundleFormatError: It is damaged, or holds more than `MAX_BYTES`.
        MissingExtraError: The library is not installed.
    """
    zstandard = _zstandard()
    inflater = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
    try:
        with inflater.stream_reader(io.BytesIO(data)) as reader:
            # One byte more than is allowed tells a full file from a cut one.
            text: bytes = reader.read(MAX_BYTES + 1)
    except zstandard.ZstdError as error:
        raise BundleFormatError(f"{source} cannot be expanded: {error}") from error
    if len(text) > MAX_BYTES:
        raise BundleFormatError(f"{source} holds more than {MAX_BYTES} bytes")
    return text


def _zstandard() -> ModuleType:
    try:
        import zstandard
    except ImportError as error:
        raise MissingExtraError(
            "compressed bundles need zstandard: "
            "pip install 'torch-spyre-provenance[zstd]'"
        ) from error
    return zstandard
