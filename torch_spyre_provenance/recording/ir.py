"""Reading LoopLevelIR."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import torch
from attrs import define, field
from torch._inductor.ir import ExternKernel, InputsKernel, MultiOutput

from ..model import IR_FIELDS, Field, FxNode, IrGraph, IrOp
from .findings import MAX_SHARED, absent, of_value, shared
from .fx import FxReader
from .loop_reads import body_reads, reads_in_body_alone
from .stack_room import RECORDER_ROOM, with_room

_MISSING = object()


@define
class IrReader:
    """Turns the operations of a graph into records, in one walk.

    Attributes:
        fx: Reader of the FX nodes that only an origin names.
    """

    fx: FxReader
    _reads: dict[int, tuple[Any, tuple[str, ...]]] = field(factory=dict, init=False)

    @with_room(RECORDER_ROOM)
    def graph(
        self,
        operations: Iterable[Any],
        known: frozenset[str],
        *,
        as_lowered: bool = False,
    ) -> IrGraph:
        """Return the record of a graph's operations.

        Args:
            operations: `GraphLowering.operations`.
            known: Names of the FX nodes that the post-grad record holds.
            as_lowered: Whether the operations are as lowering made them, no pass having
                changed any.
        """
        ops: list[IrOp] = []
        later: dict[str, FxNode] = {}
        for operation in operations:
            ops.append(self.operation(operation, as_lowered=as_lowered))
            for node in _origin_nodes(operation):
                if node.name not in known and node.name not in later:
                    later[node.name] = self.fx.node(node)
        return IrGraph(ops=tuple(ops), nodes=tuple(later.values()))

    def operation(self, operation: Any, *, as_lowered: bool = False) -> IrOp:
        """Return the record of one operation; nothing of it is changed.

        Args:
            operation: An operation of `GraphLowering.operations`.
            as_lowered: As for `graph`.
        """
        origin_node = getattr(operation, "origin_node", None)
        return IrOp(
            name=operation.get_operation_name(),
            buffer=buffer_name(operation),
            type=type(operation).__name__,
            origins=tuple(sorted(node.name for node in _origin_nodes(operation))),
            origin_node=None if origin_node is None else origin_node.name,
            fields=shared(tuple([_finding(operation, name) for name in IR_FIELDS])),
            attributes=_public(tuple(vars(operation))),
            reads=self._read_names(operation, as_lowered=as_lowered),
            mutates=tuple(sorted(_mutated_names(operation))),
            kernel=_extern_name(operation),
        )

    def _read_names(self, operation: Any, *, as_lowered: bool) -> tuple[str, ...]:
        """Return the buffers that an operation reads, sorted.

        `get_read_names` is free, because lowering asked for it, and keeps its answer on
        an object that a later pass may change: only as lowered is it asked again. An
        answer of ours counts as long as the loop body is the very same.
        """
        data: Any = getattr(operation, "data", None)
        body = getattr(data, "inner_fn", None)
        known = self._reads.get(id(body)) if body is not None else None
        if known is not None:
            return known[1]
        if reads_in_body_alone(data):
            found = set(data.get_read_names()) if as_lowered else body_reads(data)
        else:
            found = {dep.name for dep in _reads(operation)}
        names = tuple(sorted(found))
        if body is not None:
            self._reads[id(body)] = (body, names)
        return names


def _finding(operation: Any, name: str) -> Field:
    value = getattr(operation, name, _MISSING)
    if value is _MISSING:
        return absent(name)
    return of_value(name, value() if callable(value) else value)


@lru_cache(MAX_SHARED)
def _public(names: tuple[str, ...]) -> tuple[str, ...]:
    # The operations of a class have the same ones.
    return tuple(sorted(name for name in names if name[0] != "_"))


def buffer_name(operation: Any) -> str | None:
    """Return the name of the buffer that an operation writes, or None."""
    name = getattr(operation, "name", None)
    return name if isinstance(name, str) else None


def _reads(operation: Any) -> Iterable[Any]:
    if isinstance(operation, MultiOutput):
        # Its own way (torch ≥ 2.13) also normalizes what it writes, and leaves a loop
        # merged in a memo of the graph: torch-spyre has yet to turn that off.
        found: Any = InputsKernel.get_read_writes(operation)
    else:
        found = operation.get_read_writes()
    reads: Iterable[Any] = found.reads
    return reads


def _mutated_names(operation: Any) -> set[str]:
    return set(operation.get_mutation_names())


def _origin_nodes(operation: Any) -> Iterable[torch.fx.Node]:
    return getattr(operation, "origins", None) or ()


def _extern_name(operation: Any) -> str | None:
    if not isinstance(operation, ExternKernel):
        return None
    target = getattr(operation, "op_overload", None)
    name = getattr(operation, "python_kernel_name", None)
    return str(target or name or type(operation).__name__)
