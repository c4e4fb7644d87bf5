"""Bounds on what the reader accepts.

A bundle may come from anyone, so its reader stops before a file can cost more than
these figures allow. They are far above what a compile of 100,000 operations writes.
"""

from __future__ import annotations

MAX_BYTES = 512 * 1024 * 1024
"""Bytes of one ``bundle.json``, or of an embedded record once it is decompressed."""

MAX_STRING = 1024 * 1024
"""Characters of one string."""

MAX_ITEMS = 2_000_000
"""Items of one list."""

MAX_HANDLE_DEPTH = 32
"""Levels of ``fused_from`` below a handle; torch-spyre writes one."""

MAX_DEFECTS = 50
"""Defects that an error lists; the rest are counted."""
