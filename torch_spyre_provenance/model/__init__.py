"""Frozen values: what a bundle holds. No input, no output, no torch."""

from .bundle import SCHEMA_VERSION, Bundle, CompileInfo, RunFacts
from .fx import FX_FIELDS, Field, FromNode, FxGraph, FxNode, ModuleCall, SourceFn
from .handle import DebugHandle, ProvenanceTransform, handle_id
from .health import Observation
from .ir import IR_FIELDS, IrGraph, IrOp
from .kernel import Dim, Kernel, KernelFiles, Op, OpArg, SdscFile, spec_path_text
from .location import Frame, SourceLoc, Stack, parse_stack_trace
from .passes import Created, Loss, PassStep, Replacement
from .source import SourceFile, SourceLine
from .stage import CacheState, CompileKind, Evidence, Presence, Redaction, Stage

__all__ = [
    "FX_FIELDS",
    "IR_FIELDS",
    "SCHEMA_VERSION",
    "Bundle",
    "CacheState",
    "CompileInfo",
    "CompileKind",
    "Created",
    "DebugHandle",
    "Dim",
    "Evidence",
    "Field",
    "Frame",
    "FromNode",
    "FxGraph",
    "FxNode",
    "IrGraph",
    "IrOp",
    "Kernel",
    "KernelFiles",
    "Loss",
    "ModuleCall",
    "Observation",
    "Op",
    "OpArg",
    "PassStep",
    "Presence",
    "ProvenanceTransform",
    "Redaction",
    "Replacement",
    "RunFacts",
    "SdscFile",
    "SourceFile",
    "SourceFn",
    "SourceLine",
    "SourceLoc",
    "Stack",
    "Stage",
    "handle_id",
    "parse_stack_trace",
    "spec_path_text",
]
