"""Which Spyre front end this process can use, and why not the others."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from attrs import frozen

from ..errors import FrontEndError
from .contract import FrontEnd, Loader

REFERENCE = "reference"
TORCH_SPYRE = "torch-spyre"
CARDLESS = "torch-spyre-cardless"

_PACKAGE = "torch_spyre"
_EXTENSION = f"{_PACKAGE}._C"

_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
_AUTOLOADS = (
    "the installed torch-spyre registers the device as torch is imported; set "
    f"{_AUTOLOAD}=0 to keep it from that"
)


@frozen(kw_only=True)
class Candidate:
    """A front end that was looked for.

    Attributes:
        name: Its name, as in `FrontEnd.name`.
        where: Where it was found, or None.
        missing: What it lacks, with the remedy; None if it can be loaded.
        loader: Loads it.
    """

    name: str
    where: str | None
    missing: str | None
    loader: Loader


@frozen(kw_only=True)
class Discovery:
    """What was found. Nothing of torch-spyre was imported to find it.

    Attributes:
        requested: The name that was asked for, or None for the best that is there.
        candidates: The front ends looked for, best first.
    """

    requested: str | None
    candidates: tuple[Candidate, ...]

    @property
    def chosen(self) -> Candidate | None:
        """Return the front end to load, or None where nothing fits the request."""
        return next((c for c in self.candidates if c.missing is None), None)

    def load(self) -> FrontEnd:
        """Load the chosen front end.

        Raises:
            FrontEndError: There is none, or it does not load.
        """
        if self.chosen is None:
            reasons = "; ".join(f"{c.name}: {c.missing}" for c in self.candidates)
            message = f"no usable Spyre front end: {reasons}"
            raise FrontEndError(message)
        return self.chosen.loader()


def find_front_end(
    requested: str | None = None, checkout: Path | None = None
) -> Discovery:
    """Look for front ends: a checkout if one is named, torch-spyre, the reference.

    Args:
        requested: ``reference`` or ``torch-spyre`` for that one alone.
        checkout: A torch-spyre checkout to compile through without a card. A request
            for the reference front end overrules it.

    Returns:
        The candidates that fit the request. A torch-spyre that was never built is not
        chosen on its own; one that is built and does not load is, and fails to.

    Raises:
        FrontEndError: There is no front end of the requested name.
    """
    if requested not in (None, REFERENCE, TORCH_SPYRE):
        message = f"no front end is called {requested!r}: {REFERENCE} or {TORCH_SPYRE}"
        raise FrontEndError(message)
    candidates: tuple[Candidate, ...]
    if requested == REFERENCE:
        candidates = (_reference(),)
    elif checkout is not None:
        candidates = (_cardless(checkout),)
    elif requested == TORCH_SPYRE:
        candidates = (_installed(),)
    else:
        candidates = (_installed(), _reference())
    return Discovery(requested=requested, candidates=candidates)


def load_front_end(
    requested: str | None = None, checkout: Path | None = None
) -> FrontEnd:
    """Find a front end and load it; see `find_front_end`.

    Raises:
        FrontEndError: Nothing fits the request, or what fits does not load.
    """
    return find_front_end(requested, checkout).load()


def _reference() -> Candidate:
    return Candidate(
        name=REFERENCE,
        where=str(Path(__file__).parent / REFERENCE),
        missing=_AUTOLOADS if _torch_spyre_autoloads() else None,
        loader=_lazily("reference", lambda module: module.load()),
    )


def _cardless(checkout: Path) -> Candidate:
    return Candidate(
        name=CARDLESS,
        where=str(checkout),
        missing=None,
        loader=_lazily("cardless", lambda module: module.load(checkout)),
    )


def _installed() -> Candidate:
    spec = package_spec()
    return Candidate(
        name=TORCH_SPYRE,
        where=None if spec is None else spec.origin,
        missing=_what_is_missing(spec),
        loader=_lazily("torch_spyre", lambda module: module.load()),
    )


def package_spec() -> ModuleSpec | None:
    """Return where ``import torch_spyre`` would find the package, or None."""
    try:
        return importlib.util.find_spec(_PACKAGE)
    except ValueError:  # a module without a spec was put into sys.modules
        return None


def has_extension(spec: ModuleSpec) -> bool:
    """Return whether a torch-spyre has its C extension, that is, was built."""
    if _EXTENSION in sys.modules:
        return True
    folders = spec.submodule_search_locations
    return PathFinder.find_spec(_EXTENSION, folders) is not None


def _what_is_missing(spec: ModuleSpec | None) -> str | None:
    if spec is None:
        return "torch-spyre is not installed"
    if spec.origin is None:
        folders = ", ".join(spec.submodule_search_locations or ())
        return f"{folders} is called {_PACKAGE} and is not the package (no __init__.py)"
    if not has_extension(spec):
        folder = Path(spec.origin).parent
        return (
            f"{folder} was never built: it has no _C extension. Build it, or compile "
            f"through it without a card: --torch-spyre {folder.parent}"
        )
    return None


def _torch_spyre_autoloads() -> bool:
    if os.environ.get(_AUTOLOAD, "1") != "1":
        return False
    targets = (point.value for point in entry_points(group="torch.backends"))
    return any(target.split(":")[0] == _PACKAGE for target in targets)


def _lazily(module: str, load: Callable[[Any], FrontEnd]) -> Loader:
    def loader() -> FrontEnd:
        return load(importlib.import_module(f".{module}", __package__))

    return loader
