"""Making a bundle shareable: its structure and its figures stay, its words go.

Which attribute holds what is a table, `KINDS`. A text attribute that is neither there
nor in `PUBLIC` stops every redaction, so that no new one gets through by oversight.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum, auto
from functools import cache, cached_property
from typing import Any, get_args, get_type_hints

from attrs import define, evolve, field, fields, frozen, has

from ..model import (
    Bundle,
    CompileInfo,
    Created,
    DebugHandle,
    Frame,
    FromNode,
    FxGraph,
    FxNode,
    IrOp,
    Kernel,
    KernelFiles,
    Loss,
    ModuleCall,
    Observation,
    Op,
    OpArg,
    ProvenanceTransform,
    Redaction,
    Replacement,
    RunFacts,
    SourceFile,
    SourceFn,
    SourceLine,
    SourceLoc,
    handle_id,
)
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

REDACTED = "redacted"
"""Stands for a whole text."""

_NO_DIGEST = "0" * 64
_RANK = (Redaction.NONE, Redaction.PATHS, Redaction.SOURCE, Redaction.ALL)
_PLAIN_GRAPH = re.compile(r"\d+_(?:inference|forward|backward)(?:-\d+)*")


class Kind(Enum):
    """What an attribute of the model holds."""

    PATH = auto()
    """A file or a directory."""
    PLACE = auto()
    """A host or a job."""
    SOURCE = auto()
    """A line of source."""
    DIGEST = auto()
    """A digest of source."""
    TEXT = auto()
    """A text from elsewhere, which may quote source, names and paths."""
    NOTE = auto()
    """A text of the recorder's, which may name a path."""
    NODE = auto()
    """The name of an FX node, or of a buffer or input."""
    NAME = auto()
    """The name of a function, a module, a class or an operator."""
    FUNCTION = auto()
    """The name of a frame's code object."""
    GRAPH = auto()
    """The name of a graph, or one that is made from it."""


KINDS: Mapping[tuple[type, str], Kind] = {
    (CompileInfo, "graph"): Kind.GRAPH,
    (CompileInfo, "error"): Kind.TEXT,
    (Created, "buffer"): Kind.NODE,
    (Created, "origins"): Kind.NODE,
    (DebugHandle, "aten_op"): Kind.NAME,
    (DebugHandle, "ir_chain"): Kind.NODE,
    (DebugHandle, "fusion_context"): Kind.TEXT,
    (Frame, "file"): Kind.PATH,
    (Frame, "function"): Kind.FUNCTION,
    (Frame, "text"): Kind.SOURCE,
    (FromNode, "name"): Kind.NODE,
    (FromNode, "target"): Kind.NAME,
    (FxGraph, "placeholders"): Kind.NODE,
    (FxGraph, "outputs"): Kind.NODE,
    (FxNode, "name"): Kind.NODE,
    (FxNode, "target"): Kind.NAME,
    (FxNode, "inputs"): Kind.NODE,
    (FxNode, "original_aten"): Kind.NAME,
    (IrOp, "buffer"): Kind.NODE,
    (IrOp, "origins"): Kind.NODE,
    (IrOp, "origin_node"): Kind.NODE,
    (IrOp, "reads"): Kind.NODE,
    (IrOp, "mutates"): Kind.NODE,
    (IrOp, "kernel"): Kind.NAME,
    (Kernel, "name"): Kind.NODE,
    (Kernel, "origins"): Kind.NODE,
    (Kernel, "metadata"): Kind.TEXT,
    (Kernel, "unimplemented"): Kind.NAME,
    (KernelFiles, "kernel"): Kind.NODE,
    (KernelFiles, "directory"): Kind.PATH,
    (Loss, "buffer"): Kind.NODE,
    (Loss, "before"): Kind.NODE,
    (Loss, "after"): Kind.NODE,
    (ModuleCall, "path"): Kind.NAME,
    (ModuleCall, "type"): Kind.NAME,
    (Observation, "error"): Kind.TEXT,
    (Observation, "unavailable"): Kind.NOTE,
    (Op, "buffer"): Kind.NODE,
    (OpArg, "buffer"): Kind.NODE,
    (ProvenanceTransform, "reason"): Kind.TEXT,
    (Replacement, "new"): Kind.NODE,
    (Replacement, "old"): Kind.NODE,
    (Replacement, "sources"): Kind.NODE,
    (RunFacts, "name"): Kind.GRAPH,
    (RunFacts, "host"): Kind.PLACE,
    (RunFacts, "job"): Kind.PLACE,
    (RunFacts, "module"): Kind.PATH,
    (SourceFile, "path"): Kind.PATH,
    (SourceFile, "sha256"): Kind.DIGEST,
    (SourceFn, "name"): Kind.NODE,
    (SourceFn, "target"): Kind.NAME,
    (SourceLine, "text"): Kind.SOURCE,
    (SourceLoc, "file"): Kind.PATH,
}
"""What each attribute holds that may tell of the model or of the machine."""

PUBLIC: Mapping[str, frozenset[str]] = {
    "Created": frozenset({"op"}),
    "CompileInfo": frozenset({"front_end", "devices"}),
    "Dim": frozenset({"symbol", "extent"}),
    "Field": frozenset({"name", "type"}),
    "FromNode": frozenset({"pass_name", "action"}),
    "FxNode": frozenset({"op", "meta_keys"}),
    "IrOp": frozenset({"name", "type", "attributes"}),
    "Kernel": frozenset({"ir_ops"}),
    "KernelFiles": frozenset({"executes"}),
    "Loss": frozenset({"op", "what"}),
    "Observation": frozenset({"point"}),
    "Op": frozenset({"op", "info", "loops"}),
    "OpArg": frozenset(
        {"device_dtype", "device_size", "device_coordinates", "allocation"}
    ),
    "PassStep": frozenset({"name", "removed", "rebuilt"}),
    "ProvenanceTransform": frozenset({"kind", "pass_name"}),
    "RunFacts": frozenset({"compile_id", "time", "versions", "module_sha256"}),
    "SdscFile": frozenset({"name", "op_key", "sha256"}),
    "Bundle": frozenset({"op_spec_fields"}),
}
"""Attributes that hold what compiler, device and clock say: they stay."""


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
    return tuple(
        evolve(
            walk.walk(bundle), redaction=max(bundle.redaction, what, key=_RANK.index)
        )
        for bundle in bundles
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


@cache
def text_attributes(cls: type[Any]) -> tuple[tuple[str, Kind | None], ...]:
    """Return the attributes of a class that hold text, and what kind of text.

    None stands for an attribute whose value holds other values of the model.

    Raises:
        TypeError: A text attribute is in neither of the tables.
    """
    found: list[tuple[str, Kind | None]] = []
    types = get_type_hints(cls)
    for each in fields(cls):
        leaves = tuple(_leaves(types[each.name]))
        kind = KINDS.get((cls, each.name))
        if kind is not None or any(has(leaf) for leaf in leaves):
            found.append((each.name, kind))
        elif str in leaves and each.name not in PUBLIC.get(cls.__name__, ()):
            raise TypeError(f"nobody said what {cls.__name__}.{each.name} holds")
    return tuple(found)


def _leaves(kind: Any) -> Iterator[Any]:
    """Yield the types that a type is made of."""
    if not get_args(kind):
        yield kind
    for part in get_args(kind):
        yield from _leaves(part)


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
