"""Which recording is the active one of this process."""

from __future__ import annotations

from .session import Session

_session: Session | None = None


def current_session() -> Session | None:
    """Return the active recording, or None."""
    return _session


def set_current(session: Session | None) -> None:
    """Make a recording the active one, or none."""
    global _session
    _session = session
