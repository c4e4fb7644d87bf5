"""Which recording is the active one of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

if TYPE_CHECKING:
    from .session import Session


@define
class _Slot:
    session: Session | None = None


_slot = _Slot()


def current_session() -> Session | None:
    """Return the active recording, or None."""
    return _slot.session


def set_current(session: Session | None) -> None:
    """Make a recording the active one, or none."""
    _slot.session = session
