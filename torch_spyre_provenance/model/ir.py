"""What is recorded of Inductor's LoopLevelIR."""

from __future__ import annotations

from attrs import frozen

from .fx import Field, FxNode

IR_FIELDS = ("origins", "origin_node", "traceback", "get_stack_traces")
"""The IR attributes whose presence is tracked, in the report's order."""


@frozen(kw_only=True)
class IrOp:
    """One operation of `GraphLowering.operations`.

    Attributes:
        name: Operation name (``op0``). A pass may give one that it makes a name that is
            taken; together with the buffer it is unique in its graph at one stage.
        buffer: Name of the buffer that it writes (``buf0``), or None.
        type: Name of the IR class (``ComputedBuffer``).
        origins: Names of the FX nodes that it came from, sorted.
        origin_node: The one FX node that stands for it, or None.
        fields: One finding per name in `IR_FIELDS`, in that order.
        attributes: Every public instance attribute, sorted.
        reads: Names of the buffers that it reads, sorted.
        mutates: Names of the buffers that it changes in place, sorted.
        kernel: The extern kernel that it calls, where it is not the device's own.
    """

    name: str
    buffer: str | None
    type: str
    origins: tuple[str, ...]
    origin_node: str | None
    fields: tuple[Field, ...]
    attributes: tuple[str, ...]
    reads: tuple[str, ...] = ()
    mutates: tuple[str, ...] = ()
    kernel: str | None = None


@frozen(kw_only=True)
class IrGraph:
    """The operations of one graph at one stage.

    Attributes:
        ops: The operations, in order.
        nodes: FX nodes that an origin names and that the post-grad record lacks:
            those that passes made later.
    """

    ops: tuple[IrOp, ...]
    nodes: tuple[FxNode, ...] = ()
