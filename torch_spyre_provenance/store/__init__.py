"""Bundles on disk: the one JSON border, and the one writer."""

from __future__ import annotations

from .bundle_dir import (
    BUNDLE_FILE,
    bundle_file,
    find_bundles,
    read_bundle,
    write_bundle,
)
from .codec import dumps, loads
from .handles import handle_json, parse_handle
from .record import record_of, unpack

__all__ = [
    "BUNDLE_FILE",
    "bundle_file",
    "dumps",
    "find_bundles",
    "handle_json",
    "loads",
    "parse_handle",
    "read_bundle",
    "record_of",
    "unpack",
    "write_bundle",
]
