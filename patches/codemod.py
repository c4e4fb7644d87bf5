"""What a codemod is, and what it would change in a checkout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import libcst as cst
from attrs import field, frozen

from .checkout import Change, Checkout
from .errors import UnrecognisedError
from .syntax import parse

Rewrite = Callable[[cst.Module], cst.Module]
"""Returns the module as it should be, which is the same tree where it is so already.

Raises:
    UnrecognisedError: It does not find what it changes.
"""


@frozen(kw_only=True)
class Edit:
    """One file that a codemod changes.

    Attributes:
        path: The file, relative to the checkout, with slashes.
        rewrite: What becomes of it.
        optional: Whether a checkout may lack the file.
    """

    path: str
    rewrite: Rewrite
    optional: bool = False


@frozen(kw_only=True)
class Addition:
    """One file that a codemod adds.

    Attributes:
        path: Where it goes, relative to the checkout, with slashes.
        source: The file whose content it gets.
    """

    path: str
    source: Path


@frozen(kw_only=True)
class Codemod:
    """A change of torch-spyre's source.

    Attributes:
        name: The name of its module here.
        argument: Why torch-spyre should have it: the module's docstring.
        edits: The files it changes.
        additions: The files it adds.
    """

    name: str
    argument: str
    edits: tuple[Edit, ...]
    additions: tuple[Addition, ...] = field(default=())

    def changes(self, checkout: Checkout) -> tuple[Change, ...]:
        """Return what is to be changed in a checkout, nothing if it has been.

        Raises:
            CheckoutError: A file cannot be read.
            UnrecognisedError: A file is not what was expected.
        """
        planned = [
            *(_edited(checkout, edit) for edit in self.edits),
            *(_added(checkout, addition) for addition in self.additions),
        ]
        return tuple(change for change in planned if change is not None)


def _edited(checkout: Checkout, edit: Edit) -> Change | None:
    before = checkout.read(edit.path)
    if before is None:
        if edit.optional:
            return None
        raise UnrecognisedError(f"{checkout.root} has no {edit.path}")
    try:
        after = edit.rewrite(parse(before)).bytes
    except UnrecognisedError as error:
        raise UnrecognisedError(f"{edit.path}: {error.args[0]}") from error
    if after == before:
        return None
    return Change(path=edit.path, before=before, after=after)


def _added(checkout: Checkout, addition: Addition) -> Change | None:
    before = checkout.read(addition.path)
    after = addition.source.read_bytes()
    if before == after:
        return None
    if before is not None:
        raise UnrecognisedError(f"{addition.path}: it is there with another content")
    return Change(path=addition.path, before=None, after=after)
