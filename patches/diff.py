"""Changes as text that ``git apply`` and ``patch -p1`` take."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from .checkout import Change

_NO_NEWLINE = b"\n\\ No newline at end of file\n"


def unified_diff(change: Change) -> bytes:
    """Return a change as a unified diff, in the file's own encoding."""
    path = change.path.encode()
    rows = difflib.diff_bytes(
        difflib.unified_diff,
        _lines(change.before or b""),
        _lines(change.after),
        b"/dev/null" if change.before is None else b"a/" + path,
        b"b/" + path,
    )
    return b"".join(_ended(rows))


def _lines(content: bytes) -> list[bytes]:
    # Not `splitlines`: it also splits at characters that end no line of a file.
    rows = [row + b"\n" for row in content.split(b"\n")]
    rows[-1] = rows[-1][:-1]
    return rows if rows[-1] else rows[:-1]


def _ended(rows: Iterator[bytes]) -> Iterator[bytes]:
    for row in rows:
        yield row if row.endswith(b"\n") else row + _NO_NEWLINE
