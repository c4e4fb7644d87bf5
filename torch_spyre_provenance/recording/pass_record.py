"""Comparing LoopLevelIR before and after each pre-scheduling pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import torch
from attrs import define, field

from ..model import Created, Loss, PassStep
from .ir import buffer_name


class _Seen(NamedTuple):
    """What one operation showed at one moment; the objects are kept to know them by.

    There is one for each operation before and after each pass: a tuple, as that is what
    Python makes fastest.
    """

    operation: Any
    body: Any
    buffer: str | None
    origins: frozenset[torch.fx.Node]
    origin_node: torch.fx.Node | None


@define
class PassRecorder:
    """Keeps what each pass did to the operations of one graph.

    One walk over the operations per pass: the state after a pass is the state before
    the next. An operation is known by its name, so that a rebuilt one is recognised.
    One that got another name is removed and made, and still loses what it had before.

    Attributes:
        steps: The passes that changed something, in order.
    """

    steps: list[PassStep] = field(factory=list)
    _before: dict[str, _Seen] = field(factory=dict, init=False)
    _n_passes: int = field(default=0, init=False)

    def begin(self, operations: Iterable[Any]) -> None:
        """Note the operations as they enter a pass."""
        self._before = _look(operations, self._before)

    def end(self, name: str, operations: Iterable[Any]) -> None:
        """Note the operations as they leave a pass, and what it did to them.

        Args:
            name: The pass's name.
            operations: The graph's operations now.
        """
        before = self._before
        after = _look(operations, before)
        known = _before_names(before, after)
        step = PassStep(
            name=name,
            index=self._n_passes,
            created=tuple(
                _created(op, s) for op, s in after.items() if op not in before
            ),
            removed=tuple(op for op in before if op not in after),
            rebuilt=tuple(
                op
                for op, seen in after.items()
                if op in before and seen.operation is not before[op].operation
            ),
            losses=tuple(
                loss
                for op, seen in after.items()
                if op in known and seen is not before[known[op]]
                for loss in _losses(op, before[known[op]], seen)
            ),
        )
        if step.created or step.removed or step.rebuilt or step.losses:
            self.steps.append(step)
        self._n_passes += 1
        self._before = after


def _look(operations: Iterable[Any], before: Mapping[str, _Seen]) -> dict[str, _Seen]:
    """Return what the operations show; the very same object where it is as before."""
    found: dict[str, _Seen] = {}
    for operation in operations:
        name = operation.get_operation_name()
        body = getattr(operation, "data", None)
        buffer = buffer_name(operation)
        origins = getattr(operation, "origins", None) or ()
        origin_node = getattr(operation, "origin_node", None)
        known = before.get(name)
        if (
            known is None
            or known.operation is not operation
            or known.body is not body
            or known.origin_node is not origin_node
            or known.buffer != buffer
            or len(known.origins) != len(origins)
            or not known.origins.issuperset(origins)
        ):
            known = _Seen(operation, body, buffer, frozenset(origins), origin_node)
        found[name] = known
    return found


def _before_names(before: dict[str, _Seen], after: dict[str, _Seen]) -> dict[str, str]:
    """Return the name before a pass of each operation after it that was there.

    It is known by its name, else by its buffer's, else as the very same object or loop
    body.
    """
    names = {op: op for op in after if op in before}
    if len(names) == len(after) or len(names) == len(before):
        return names
    gone = {mark: op for op in before if op not in names for mark in _marks(before[op])}
    for op, seen in after.items():
        if op not in names:
            mark = next((mark for mark in _marks(seen) if mark in gone), None)
            if mark is not None:
                names[op] = gone[mark]
    return names


def _marks(seen: _Seen) -> Iterable[object]:
    """Yield what an operation is known by besides its name, the surest first."""
    if seen.buffer is not None:
        yield seen.buffer
    yield id(seen.operation)
    if seen.body is not None:
        yield id(seen.body)


def _created(op: str, seen: _Seen) -> Created:
    return Created(
        op=op,
        buffer=seen.buffer,
        origins=_names(seen.origins),
        has_source=any(node.meta.get("stack_trace") for node in seen.origins),
    )


def _losses(op: str, before: _Seen, after: _Seen) -> Iterable[Loss]:
    if before.origins - after.origins:
        yield Loss(
            op=op,
            buffer=after.buffer,
            what="origins",
            before=_names(before.origins),
            after=_names(after.origins),
        )
    if before.origin_node is not None and before.origin_node is not after.origin_node:
        yield Loss(
            op=op,
            buffer=after.buffer,
            what="origin_node",
            before=(before.origin_node.name,),
            after=() if after.origin_node is None else (after.origin_node.name,),
        )


def _names(nodes: Iterable[torch.fx.Node]) -> tuple[str, ...]:
    return tuple(sorted(node.name for node in nodes))
