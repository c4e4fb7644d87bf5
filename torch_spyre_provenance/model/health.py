"""What the recorder says of itself."""

from __future__ import annotations

from attrs import frozen

from .stage import Stage


@frozen(kw_only=True)
class Observation:
    """One point at which the compile is observed, and how that went.

    Attributes:
        point: Name of the point, ``wrapper.create``.
        stage: The stage that it records, or None for the recorder's own steps.
        fired: How often it was reached and ended well.
        failed: How often it was reached and raised.
        error: The first failure, as one line, or None.
        unavailable: Why it cannot be reached on this front end, with the remedy; None
            where it can.
    """

    point: str
    stage: Stage | None
    fired: int = 0
    failed: int = 0
    error: str | None = None
    unavailable: str | None = None
