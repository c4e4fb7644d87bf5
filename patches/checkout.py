"""A torch-spyre checkout on disk: reading its sources and replacing some of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from attrs import frozen

from torch_spyre_provenance.store.atomic import cannot_write, write_bytes

from .errors import CheckoutError

_PACKAGE = "torch_spyre"
_COMPILER = f"{_PACKAGE}/_inductor"


@frozen(kw_only=True)
class Change:
    """The new content of one file.

    Attributes:
        path: The file, relative to the checkout, with slashes.
        before: Its present content; None for a file that is added.
        after: Its content afterwards.
    """

    path: str
    before: bytes | None
    after: bytes


@frozen
class Checkout:
    """A directory that holds the package ``torch_spyre``.

    Attributes:
        root: The directory.
    """

    root: Path

    @classmethod
    def at(cls, path: Path) -> Checkout:
        """Return the checkout at a path.

        Args:
            path: The directory that holds the package, or the package itself.

        Raises:
            CheckoutError: There is none.
        """
        whole = path.absolute()
        for root in (path, whole.parent) if whole.name == _PACKAGE else (path,):
            if (root / _COMPILER).is_dir():
                return cls(root)
        message = f"{path} is no torch-spyre checkout: it has no {_COMPILER}"
        raise CheckoutError(message)

    def read(self, path: str) -> bytes | None:
        """Return the content of a file, or None if there is no such file.

        Raises:
            CheckoutError: It is there and cannot be read.
        """
        try:
            return (self.root / path).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CheckoutError(
                f"cannot read {self.root / path}: {error.strerror or error}"
            ) from error

    def write(self, changes: Iterable[Change]) -> None:
        """Make all changes, or none of them.

        Each file is replaced in one step. If one cannot be, those before it get their
        old content back. A kill between two files leaves both states on disk; writing
        again completes the change.

        Raises:
            OutputError: A file cannot be written.
        """
        with contextlib.ExitStack() as undo:
            for change in changes:
                file = (self.root / change.path).resolve()
                _replace(file, change.after)
                undo.callback(_replace, file, change.before)
            undo.pop_all()


def _replace(file: Path, content: bytes | None) -> None:
    """Give a file its content, keeping its mode; None removes it."""
    try:
        if content is None:
            file.unlink()
            return
        mode = file.stat().st_mode if file.exists() else None
        write_bytes(file, content)
        if mode is not None:
            file.chmod(mode)
    except OSError as error:
        raise cannot_write(file, error) from error
