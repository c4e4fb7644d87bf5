"""Reading a kernel's final tree of OpSpecs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import define, field
from sympy import Basic, Integer, Symbol

from ..model import (
    FX_FIELDS,
    IR_FIELDS,
    DebugHandle,
    Dim,
    Op,
    OpArg,
    ProvenanceTransform,
    SourceLoc,
)
from .findings import of_value, shared

TRACKED = (*FX_FIELDS, *IR_FIELDS, "debug_handle")
"""Fields that are looked for on an OpSpec."""


@define
class ExpressionTexts:
    """Expressions as text, each printed once: the ops of a kernel share most of them.

    Sympy's printer costs more than the rest of a record together.
    """

    _known: dict[tuple[type, Basic], str] = field(factory=dict, init=False)

    def text(self, value: object) -> str:
        """Return ``str(value)``."""
        kind = type(value)
        if not isinstance(value, Basic):
            return str(value)
        if kind is Symbol:
            return str(value.name)
        if isinstance(value, Integer):
            return str(value.p)
        # The type too: in some releases a float and an integer can be equal.
        key = (kind, value)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = str(value)
        return known


@define
class OpSpecReader:
    """Turns trees of OpSpecs into records.

    The specs of every torch-spyre release are read by field name, so a field that a
    release lacks is simply not there.
    """

    _texts: ExpressionTexts = field(factory=ExpressionTexts, init=False)

    def ops(
        self, specs: Sequence[Any], buffers: Sequence[str | None]
    ) -> tuple[Op, ...]:
        """Return the ops of a kernel in execution order, loops opened.

        Args:
            specs: ``kernel.op_specs``: OpSpecs, and LoopSpecs of them.
            buffers: Names of the buffers of the scheduled nodes, in order; used where
                a spec does not say which buffer it computes and their numbers agree.
        """
        leaves = tuple(_leaves(specs, (), ()))
        in_order = buffers if len(buffers) == len(leaves) else [None] * len(leaves)
        return tuple(
            self.op(spec, path, loops, buffer)
            for (spec, path, loops), buffer in zip(leaves, in_order, strict=True)
        )

    def op(
        self,
        spec: Any,
        path: tuple[int, ...],
        loops: tuple[str, ...],
        buffer: str | None,
    ) -> Op:
        """Return the record of one OpSpec."""
        handle = read_handle(getattr(spec, "debug_handle", None))
        text = self._texts.text
        return Op(
            path=path,
            op=str(spec.op),
            is_reduction=bool(getattr(spec, "is_reduction", False)),
            iteration_space=tuple(
                Dim(symbol=text(symbol), extent=text(extent), split=int(split))
                for symbol, (extent, split) in getattr(
                    spec, "iteration_space", {}
                ).items()
            ),
            args=tuple(_arg(arg, text) for arg in getattr(spec, "args", ())),
            info=tuple(
                sorted(
                    (str(key), str(value))
                    for key, value in (getattr(spec, "op_info", None) or {}).items()
                )
            ),
            loops=loops,
            buffer=_own_buffer(spec, handle) or buffer,
            handle=handle,
            fields=shared(
                tuple(
                    of_value(name, getattr(spec, name))
                    for name in TRACKED
                    if hasattr(spec, name)
                )
            ),
        )


def _own_buffer(spec: Any, handle: DebugHandle | None) -> str | None:
    """Return the buffer that a spec says it computes, itself or by its handle."""
    name = getattr(spec, "buffer_name", None)
    if isinstance(name, str):
        return name
    return handle.ir_chain[-1] if handle and handle.ir_chain else None


def declared_fields(specs: Sequence[Any]) -> tuple[str, ...]:
    """Return the declared fields of the front end's OpSpec class, in order."""
    for spec, _, _ in _leaves(specs, (), ()):
        if dataclasses.is_dataclass(spec) and hasattr(spec, "iteration_space"):
            return tuple(entry.name for entry in dataclasses.fields(spec))
    return ()


def read_handle(handle: Any) -> DebugHandle | None:
    """Return a front end's handle as a value of ours, nothing changed."""
    if handle is None or isinstance(handle, DebugHandle):
        return handle
    return DebugHandle(
        id=handle.id,
        source=_source(handle.source),
        aten_op=handle.aten_op,
        ir_chain=tuple(handle.ir_chain),
        fused_from=tuple(
            part for part in map(read_handle, handle.fused_from) if part is not None
        ),
        transform_history=tuple(
            ProvenanceTransform(
                kind=step.kind, pass_name=step.pass_name, reason=step.reason
            )
            for step in getattr(handle, "transform_history", ())
        ),
        fusion_context=getattr(handle, "fusion_context", None),
    )


def _source(source: Any) -> SourceLoc | None:
    if source is None:
        return None
    return SourceLoc(
        file=source.file,
        start_line=source.start_line,
        start_col=source.start_col,
        end_line=source.end_line,
        end_col=source.end_col,
    )


def unimplemented(specs: Sequence[Any]) -> str | None:
    """Return the first op that the device lacks, or None."""
    for spec, _, _ in _leaves(specs, (), ()):
        if not hasattr(spec, "iteration_space"):
            return str(spec.op)
    return None


def _leaves(
    specs: Sequence[Any], path: tuple[int, ...], loops: tuple[str, ...]
) -> Iterator[tuple[Any, tuple[int, ...], tuple[str, ...]]]:
    for index, spec in enumerate(specs):
        here = (*path, index)
        body = getattr(spec, "body", None)
        if body is None:
            yield spec, here, loops
        else:
            yield from _leaves(body, here, (*loops, str(spec.count)))


def _arg(arg: Any, text: Callable[[object], str]) -> OpArg:
    dtype = arg.device_dtype
    return OpArg(
        is_input=bool(arg.is_input),
        arg_index=int(arg.arg_index),
        device_dtype=str(getattr(dtype, "name", dtype)),
        device_size=tuple(map(text, arg.device_size)),
        device_coordinates=tuple(map(text, arg.device_coordinates)),
        allocation=tuple(
            sorted((str(k), str(v)) for k, v in (arg.allocation or {}).items())
        ),
        buffer=getattr(arg, "name", None),
    )
