"""A directory that answers as a Redis server does, as far as Inductor asks one.

Inductor imports `redis` by its name where its remote cache is on.
"""

from __future__ import annotations

import hashlib
from pathlib import Path


class exceptions:  # noqa: N801  the name of the real one
    """What the real module raises."""

    class ConnectionError(Exception):  # noqa: A001  the same
        """The server cannot be reached."""


class Redis:
    """The two operations that a cache needs."""

    def __init__(self, directory: str) -> None:
        self.directory = Path(directory)

    @classmethod
    def from_url(cls, url: str) -> Redis:
        """Connect to ``file:///directory``."""
        return cls(url.removeprefix("file://"))

    def get(self, key: str) -> bytes | None:
        """Return what was set, or None."""
        path = self._path(key)
        return path.read_bytes() if path.exists() else None

    def set(self, key: str, data: bytes) -> None:
        """Keep something."""
        self._path(key).write_bytes(data)

    def _path(self, key: str) -> Path:
        return self.directory / hashlib.sha256(key.encode()).hexdigest()
