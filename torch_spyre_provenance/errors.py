"""Every error that this package raises on purpose.

Each class has a *slug*: the word in square brackets at the end of the message, under
which ``docs/errors.md`` explains what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class ProvenanceError(Exception):
    """Base of all errors of this package; catch it to catch them all."""

    slug: ClassVar[str] = "provenance"

    def __str__(self) -> str:
        """Return the message followed by the slug in square brackets."""
        return f"{super().__str__()} [{self.slug}]"


class BundleFormatError(ProvenanceError):
    """A file is not a bundle, or not a whole one.

    Attributes:
        defects: One line per defect, each ending in the JSON path at which it was
            found (``$.kernels[0].name``).
    """

    slug = "bundle-format"

    def __init__(self, message: str, defects: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.defects = tuple(defects)


class BundleVersionError(BundleFormatError):
    """A bundle was written by a newer release than this one."""

    slug = "bundle-version"


class NotFoundError(ProvenanceError):
    """A bundle has nothing of the name that was asked for.

    Attributes:
        near: Names that it has and that resemble the one asked for, best first.
    """

    slug = "not-found"

    def __init__(self, message: str, near: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.near = tuple(near)


class TraceFormatError(ProvenanceError):
    """A file is not a profiler's trace, or not a whole one."""

    slug = "trace-format"


class OutputError(ProvenanceError):
    """An output directory or file cannot be written."""

    slug = "output"


class SubjectError(ProvenanceError):
    """The model to audit cannot be imported, built or compiled."""

    slug = "subject"


class FrontEndError(ProvenanceError):
    """No Spyre front end can be used in this process, or not the one asked for."""

    slug = "front-end"


class DeviceTakenError(FrontEndError):
    """Another PrivateUse1 backend is registered, so there can be no `spyre` device."""

    slug = "device-taken"


class LaunchError(FrontEndError):
    """A kernel was compiled without a card, and so nothing ran."""

    slug = "no-launch"


class SettingError(ProvenanceError):
    """An environment variable or option has a value that means nothing."""

    slug = "setting"


class MissingExtraError(ProvenanceError):
    """What was asked for needs a library that is not installed."""

    slug = "extra"


class UnsupportedError(ProvenanceError):
    """The reference front end cannot lower an operation.

    Attributes:
        operation: The operation's name.
        location: ``file:line`` of the model, where it is known.
    """

    slug = "unsupported"

    def __init__(
        self, message: str, *, operation: str | None = None, location: str | None = None
    ) -> None:
        super().__init__(message)
        self.operation = operation
        self.location = location
