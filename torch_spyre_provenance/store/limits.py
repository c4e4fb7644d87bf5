"""Bounds on what the reader accepts.

A bundle may come from anyone, so its reader stops before a file can cost more than
these figures allow. They are far above what a compile of 100,000 operations writes.
``TORCH_SPYRE_PROVENANCE_LIMITS=4`` makes each of them four times as large.
"""

from __future__ import annotations

from ..settings import limit_factor

_FACTOR = limit_factor()

MAX_BYTES = 512 * 1024 * 1024 * _FACTOR
"""Bytes of one ``bundle.json`` or of an embedded record, once it is decompressed."""

MAX_STRING = 1024 * 1024 * _FACTOR
"""Characters of one string."""

MAX_ITEMS = 2_000_000 * _FACTOR
"""Items of one list."""

MAX_HANDLE_DEPTH = 32 * _FACTOR
"""Levels of ``fused_from`` below a handle; torch-spyre writes one."""

MAX_DEFECTS = 50 * _FACTOR
"""Defects that an error lists; the rest are counted."""
