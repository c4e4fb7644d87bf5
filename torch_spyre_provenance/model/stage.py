"""The stages of a compile, and how sure a statement about one of them is."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """A point of the compile at which one form of the program is recorded."""

    FX_PRE_GRAD = "fx_pre_grad"
    FX_POST_GRAD = "fx_post_grad"
    LOOP_IR_PRE = "loop_ir_pre"
    LOOP_IR_POST = "loop_ir_post"
    OP_SPEC = "op_spec"
    SUPER_DSC = "super_dsc"

    @property
    def label(self) -> str:
        """Return the stage's name as people write it."""
        return _LABELS[self]


_LABELS = {
    Stage.FX_PRE_GRAD: "FX pre-grad",
    Stage.FX_POST_GRAD: "FX post-grad",
    Stage.LOOP_IR_PRE: "LoopLevelIR pre-pass",
    Stage.LOOP_IR_POST: "LoopLevelIR post-pass",
    Stage.OP_SPEC: "OpSpec",
    Stage.SUPER_DSC: "SuperDSC",
}


class Presence(StrEnum):
    """What was found where a field was looked for.

    ``ABSENT`` (no such slot), ``EMPTY`` (a slot that holds None or an empty container;
    0 is content) and ``FAILED`` (looking raised) are three different findings.
    """

    ABSENT = "absent"
    EMPTY = "empty"
    POPULATED = "populated"
    FAILED = "failed"


class Evidence(StrEnum):
    """How a link is known: read from the object, concluded by a named rule, or not."""

    MEASURED = "measured"
    INFERRED = "inferred"
    MISSING = "missing"


class CompileKind(StrEnum):
    """Which Inductor graph of a Dynamo frame was compiled."""

    INFERENCE = "inference"
    FORWARD = "forward"
    BACKWARD = "backward"


class Redaction(StrEnum):
    """What was replaced by pseudonyms before a bundle was written.

    ``PATHS``: directories, files and hosts. ``SOURCE``: source text, and texts that
    may quote it. ``ALL``: both, and the names that the model's authors chose.
    """

    NONE = "none"
    PATHS = "paths"
    SOURCE = "source"
    ALL = "all"


class CacheState(StrEnum):
    """Whether the generated code was made by this compile or came from a cache."""

    MISS = "miss"
    HIT = "hit"
