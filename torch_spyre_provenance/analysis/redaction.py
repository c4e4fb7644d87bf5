"""Making a bundle shareable: its structure and its figures stay, its words go."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

from attrs import define, evolve, field, frozen, has

from ..model import Bundle, DebugHandle, Redaction, handle_id
from .frames import POLICY, Owner
from .pseudonyms import (
    PUBLIC_FUNCTIONS,
    Originals,
    Pseudonyms,
    is_compilers_name,
    path_parts,
    paths_in,
    words_of,
)
from .text_kinds import Kind, text_attributes

REDACTED = "redacted"
"""Stands for a whole text."""

_NO_DIGEST = "0" * 64
_RANK = (Redaction.NONE, Redaction.PATHS, Redaction.SOURCE, Redaction.ALL)
_PLAIN_GRAPH = re.compile(r"\d+_(?:inference|forward|backward)(?:-\d+)*")


def redact(bundles: tuple[Bundle, ...], what: Redaction) -> tuple[Bundle, ...]:
    """Return bundles with stand-ins for what must not leave the house.

    Args:
        bundles: Bundles that stay comparable: the same original has the same stand-in
            in all of them.
        what: `Redaction.PATHS` replaces files, directories, hosts and jobs;
            `Redaction.SOURCE` source text and what may quote it; `Redaction.ALL` both,
            and names of functions, modules, graph nodes, kernels and operators that
            are not PyTorch's own.

    Returns:
        The bundles in the same order. Each says in `redaction` what was done to it; the
        most of it, where it had been redacted before.
        Handles have the ids that their new content gives.
    """
    if what is Redaction.NONE:
        return bundles
    originals = Originals()
    collector = _Walk(_Collector(originals).see)
    for bundle in bundles:
        collector.walk(bundle)
    replacer = _Replacer(Pseudonyms.of(originals), what)
    walk = _Walk(replacer.replaced)
    levels = [max(bundle.redaction, what, key=_RANK.index) for bundle in bundles]
    return tuple(
        evolve(walk.walk(bundle), redaction=level)
        for bundle, level in zip(bundles, levels, strict=True)
    )


@define(slots=False)
class _Walk:
    """Rebuilds values with other strings; equal values are visited once.

    Attributes:
        change: Returns what stands in for a string, given what holds it.
    """

    change: Callable[[Kind, str, Any], str]
    _known: dict[Any, Any] = field(factory=dict)

    def walk(self, value: Any) -> Any:
        """Return a value of the model with every string changed."""
        if isinstance(value, tuple):
            return tuple([self.walk(item) for item in value])
        if not has(type(value)):
            return value
        known = self._known.get(value)
        if known is None:
            known = self._known[value] = self._rebuilt(value)
        return known

    def _rebuilt(self, value: Any) -> Any:
        cls: Any = type(value)
        changes = {}
        for name, kind in text_attributes(cls):
            old = getattr(value, name)
            new = self.walk(old) if kind is None else self._changed(kind, old, value)
            if new != old:
                changes[name] = new
        rebuilt = evolve(value, **changes) if changes else value
        return _with_id(value, rebuilt) if cls is DebugHandle and changes else rebuilt

    def _changed(self, kind: Kind, old: Any, holder: Any) -> Any:
        if isinstance(old, tuple):
            return tuple([self._changed(kind, item, holder) for item in old])
        return None if old is None else self.change(kind, old, holder)


def _with_id(old: DebugHandle, new: DebugHandle) -> DebugHandle:
    """Return a changed handle with an id that does not give the old content away."""
    if old.id == handle_id(old.source, old.aten_op, old.ir_chain):
        return evolve(new, id=handle_id(new.source, new.aten_op, new.ir_chain))
    digest = hashlib.sha256(f"{REDACTED}{old.id}".encode()).digest()
    return evolve(new, id=int.from_bytes(digest[:8], "big") >> 1)


@frozen
class _Collector:
    """Notes originals, and changes nothing.

    Attributes:
        found: What was seen so far.
    """

    found: Originals

    def see(self, kind: Kind, text: str, _: Any) -> str:
        """Note what in a string needs a stand-in."""
        match kind:
            case Kind.PATH:
                self._path(text)
            case Kind.NODE if not is_compilers_name(text):
                self.found.nodes.add(text)
            case Kind.NAME | Kind.FUNCTION:
                self.found.words.update(words_of(text))
            case Kind.SOURCE:
                self.found.texts.add(text.strip())
        if kind in (Kind.TEXT, Kind.NOTE, Kind.SOURCE):
            for path in paths_in(text):
                self._path(path)
        return text

    def _path(self, path: str) -> None:
        parts = path_parts(path)
        self.found.parts.update(text for text, is_public in parts if not is_public)


@frozen(slots=False)
class _Replacer:
    """Puts stand-ins in the place of originals.

    Attributes:
        pseudonyms: The stand-ins.
        what: Which originals are replaced.
    """

    pseudonyms: Pseudonyms
    what: Redaction

    @cached_property
    def hides_paths(self) -> bool:
        """Return whether paths go."""
        return self.what is not Redaction.SOURCE

    @cached_property
    def hides_source(self) -> bool:
        """Return whether source goes."""
        return self.what is not Redaction.PATHS

    def replaced(self, kind: Kind, text: str, holder: Any) -> str:
        """Return what stands in for a string."""
        if not text:
            return text
        if kind in (Kind.PATH, Kind.PLACE):
            return self._place(kind, text) if self.hides_paths else text
        if kind in (Kind.SOURCE, Kind.DIGEST, Kind.TEXT, Kind.NOTE):
            return self._text(kind, text)
        return self._name(kind, text, holder) if self.what is Redaction.ALL else text

    def _place(self, kind: Kind, text: str) -> str:
        return REDACTED if kind is Kind.PLACE else self.pseudonyms.path(text)

    def _text(self, kind: Kind, text: str) -> str:
        if self.hides_source and kind is Kind.SOURCE:
            return self.pseudonyms.text(text)
        if self.hides_source and kind is Kind.DIGEST:
            return _NO_DIGEST
        if self.hides_source and kind is Kind.TEXT:
            return REDACTED
        may_stay = kind is Kind.DIGEST or not self.hides_paths
        return text if may_stay else self.pseudonyms.in_text(text)

    def _name(self, kind: Kind, text: str, holder: Any) -> str:
        match kind:
            case Kind.NODE:
                return self.pseudonyms.node(text)
            case Kind.FUNCTION:
                return self._function(text, holder.file)
            case Kind.GRAPH:
                known = _PLAIN_GRAPH.fullmatch(text)
                return text if known else f"{REDACTED}_{_digits(text)}"
        return self.pseudonyms.name(text)

    def _function(self, name: str, file: str) -> str:
        is_public = name in PUBLIC_FUNCTIONS or POLICY.owner(file) is Owner.FRAMEWORK
        return name if is_public else self.pseudonyms.name(name)


def _digits(text: str) -> str:
    """Return the numbers in a name: they tell graphs and processes apart."""
    return "-".join(re.findall(r"\d+", text))
