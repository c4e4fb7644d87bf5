"""What each text of a bundle is: the policy that redaction goes by, as tables.

A text attribute of the model is in `KINDS` or in `PUBLIC`. One that is in neither stops
every redaction, so that no new one gets through by oversight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from functools import cache
from typing import Any, get_args, get_type_hints

from attrs import fields, has

from ..model import (
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
    Replacement,
    RunFacts,
    SourceFile,
    SourceFn,
    SourceLine,
    SourceLoc,
)


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
