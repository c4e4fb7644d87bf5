"""Subjects: the models that are audited, loaded by ``MODULE:FACTORY``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from attrs import frozen

from .errors import ProvenanceError, SubjectError

DEFAULT_SUBJECT = "torch_spyre_provenance.simple_mlp:simple_mlp"
"""The small model that ships with the package."""

_MAX_MESSAGE = 300
"""Characters of a foreign error that are quoted: enough to recognise it."""


@frozen(kw_only=True)
class Subject:
    """A model and the inputs to compile it for.

    Attributes:
        name: The ``MODULE:FACTORY`` that it was made by.
        module: The `torch.nn.Module`, or another callable, on the host.
        inputs: The positional arguments of one call.
    """

    name: str
    module: Any
    inputs: tuple[Any, ...]


class Blame:
    """A context in which whatever a subject's own code raises becomes a `SubjectError`.

    An error of this package that is found behind it is raised in its place: Dynamo
    wraps what a backend raises, and the operation that cannot be lowered says more.

    Args:
        action: What failed then, as a sentence without its end: "the model cannot run".
    """

    def __init__(self, action: str) -> None:
        self._action = action

    def __enter__(self) -> Self:
        """Enter the context."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Raise the `SubjectError`, where anything but an interrupt was raised."""
        if not isinstance(error, Exception | SystemExit):
            return
        ours = _ours_behind(error)
        if ours is error:
            return
        if ours is not None:
            raise ours
        raise SubjectError(f"{self._action}: {_one_line(error)}") from error


def load_subject(spec: str, search: Path | None = None) -> Subject:
    """Import a factory, call it, and check what it returns.

    Args:
        spec: ``MODULE:FACTORY``; the factory takes no arguments and returns a module
            and the tuple of its example inputs, or a single input.
        search: A directory to import from before all others, as for a script in it.

    Raises:
        SubjectError: There is no such factory, it raises, or it returns something else.
    """
    module_name, colon, factory_name = spec.partition(":")
    if not (module_name and colon and factory_name):
        raise SubjectError(f"a model is named MODULE:FACTORY, not {spec!r}")
    if search is not None and str(search) not in sys.path:
        sys.path.insert(0, str(search))
    with Blame(f"cannot import {module_name}"):
        module = importlib.import_module(module_name)
    factory = getattr(module, factory_name, None)
    if not callable(factory):
        raise SubjectError(f"{module_name} has no function {factory_name}")
    with Blame(f"{spec} raised"):
        made = factory()
    return _subject(spec, made)


def _subject(spec: str, made: object) -> Subject:
    match made:
        case (module, tuple() | list() as inputs) if callable(module):
            return Subject(name=spec, module=module, inputs=tuple(inputs))
        case (module, value) if callable(module):
            return Subject(name=spec, module=module, inputs=(value,))
    raise SubjectError(
        f"{spec} must return a module and its example inputs, not {type(made).__name__}"
    )


def _ours_behind(error: BaseException) -> ProvenanceError | None:
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        if isinstance(at, ProvenanceError):
            return at
        seen.add(id(at))
        # Dynamo and Inductor hide the cause behind an attribute of their own.
        inner = getattr(at, "inner_exception", None)
        at = inner or at.__cause__ or at.__context__
    return None


def _one_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]}…"
