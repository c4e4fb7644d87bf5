"""Inductor's own ``inductor_provenance_tracking_node_mappings.json``.

Inductor adds the version after it wrote the file of its debug directory: that one has
none, the same object in the trace log has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from ..errors import BundleFormatError, BundleVersionError
from ..model.mappings import VERSION, Names, NodeMappings
from .exact import exact_list, exact_object, exact_str
from .kernel_files import read_regular

_PAIRS = (("preToPost", "postToPre"), ("cppCodeToPost", "postToCppCode"))
_KEYS = frozenset(key for pair in _PAIRS for key in pair)
_LEAST = 64  # bytes; a file without any mapping has a version alone


def read_node_mappings(path: Path) -> NodeMappings | None:
    """Read a file; None where it is no such file.

    Raises:
        BundleFormatError: It is one, and not a whole one.
        BundleVersionError: Its version is none that this release knows.
    """
    try:
        data = read_regular(path)
    except OSError:
        return None  # a directory, or what the reader of bundles has words for
    return parse_node_mappings(data, str(path)) if _is_mappings(data) else None


def _is_mappings(data: bytes) -> bool:
    if len(data) > _LEAST and not any(key.encode() in data for key in _KEYS):
        return False  # and need not be parsed
    try:
        plain = orjson.loads(data)
    except ValueError:
        return False
    return type(plain) is dict and plain.keys() <= _KEYS | {"version"}


def parse_node_mappings(data: bytes, source: str) -> NodeMappings:
    """Read the text of such a file.

    Args:
        data: The file's content.
        source: What to call it in messages.

    Raises:
        BundleFormatError: It is no such file, or not a whole one.
        BundleVersionError: Its version is none that this release knows.
    """
    try:
        plain = exact_object(orjson.loads(data))
        version = plain.get("version", VERSION)
        if version != VERSION:
            raise BundleVersionError(
                f"{source} has version {version}; this release reads version {VERSION} "
                "of Inductor's file"
            )
        for names, others in _PAIRS:
            _check_inverse(_names(plain, names), _names(plain, others), names)
        return NodeMappings(
            post_to_pre=_names(plain, "postToPre"),
            kernel_to_post=_names(plain, "cppCodeToPost"),
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise BundleFormatError(
            f"{source} holds no node mappings: {error}", (f"{error} @ $",)
        ) from error


def _names(plain: dict[str, Any], key: str) -> Names:
    found = exact_object(plain.get(key, {}))
    return {
        exact_str(name): tuple(map(exact_str, exact_list(others)))
        for name, others in found.items()
    }


def _check_inverse(names: Names, others: Names, key: str) -> None:
    forward = {(name, other) for name, each in names.items() for other in each}
    back = {(name, other) for other, each in others.items() for name in each}
    if forward != back:
        name, other = min(forward ^ back)
        raise ValueError(f"{key} and its inverse do not agree on {name} and {other}")
