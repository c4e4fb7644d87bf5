"""The conditions under which the same work is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from attrs import frozen

from ..activation import record
from .samples import AGAIN, BASE

Finish = Callable[[], None]
"""Work that belongs to what is measured, after the compile itself."""


@frozen(kw_only=True)
class Condition:
    """What is on while a compile is measured.

    Attributes:
        name: Its name in tables.
        enter: Turns it on for a block, with a directory for what it writes.
        is_alternative: Whether it is only there to be compared with, and measured less
            often.
    """

    name: str
    enter: Callable[[Path], AbstractContextManager[Finish]]
    is_alternative: bool = False


def nothing() -> None:
    """Add nothing to what is measured."""


@contextmanager
def off(_: Path) -> Iterator[Finish]:
    """Record nothing."""
    yield nothing


@contextmanager
def on(out: Path) -> Iterator[Finish]:
    """Record; the reports are written when the measured block is over."""
    with record(out=out):
        yield nothing


@contextmanager
def on_with_reports(out: Path) -> Iterator[Finish]:
    """Record, and write the reports within the measured block."""
    with record(out=out) as recording:
        yield recording.finish


@contextmanager
def strict(out: Path) -> Iterator[Finish]:
    """Record, and let failures travel on."""
    with record(out=out, strict=True):
        yield nothing


CONDITIONS = (
    Condition(name=BASE, enter=off),
    Condition(name=AGAIN, enter=off),
    Condition(name="on", enter=on),
    Condition(name="on, with reports", enter=on_with_reports),
    Condition(name="on, strict", enter=strict, is_alternative=True),
)
"""Those of the package itself; `off` comes twice, for the noise floor."""
