"""What a compile that broke off was working on."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

import torch
from attrs import frozen
from torch._dynamo.exc import BackendCompilerFailed
from torch._inductor.ir import Operation
from torch._inductor.scheduler import BaseSchedulerNode

from ..model import parse_stack_trace
from .fx import COMPUTE, node_devices, target_text
from .guard import describe
from .ir import buffer_name

_KERNEL = "kernel_name"
"""The parameter of `SpyreAsyncCompile.sdsc`."""

_MAX_NAMED = 4
"""Most ops, and most lines, that are named: a fused node can have hundreds."""


@frozen(kw_only=True)
class Subject:
    """One op, or one whole kernel, that a compile was working on.

    Attributes:
        name: What it is called, and what it is.
        lines: Where it comes from, as its own stack traces say: ``file:line``.
        devices: The types of the devices of its values.
    """

    name: str
    lines: tuple[str, ...] = ()
    devices: frozenset[str] = frozenset()


def describe_failure(error: BaseException) -> str:
    """Return a failure as one line: what was raised, and at which op and line.

    Args:
        error: What ended the compile.
    """
    text, subjects = describe(cause_of(error)), subjects_of(error)
    if not subjects:
        return text
    names = _first(subject.name for subject in subjects)
    lines = _first(line for subject in subjects for line in subject.lines)
    return f"{text}; at {', '.join((*names, *lines))}"


def cause_of(error: BaseException) -> BaseException:
    """Return what was raised before Dynamo and Inductor wrapped it."""
    while isinstance(error, BackendCompilerFailed):
        error = error.inner_exception
    return error


def subjects_of(error: BaseException) -> tuple[Subject, ...]:
    """Return the ops that the innermost function which was given any was given.

    Only arguments count. What a function works on is among them; its other variables
    may be left over from something else. A kernel whose name comes first is the answer
    where its compiler fails and does not say on which op.
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    for frame in reversed(frames):
        arguments = _arguments(frame)
        found = tuple(s for value in arguments.values() for s in _subjects(value))
        if not found and isinstance(arguments.get(_KERNEL), str):
            found = (Subject(name=f"kernel {arguments[_KERNEL]}"),)
        if found:
            return found
    return ()


def _arguments(frame: FrameType) -> dict[str, Any]:
    code, values = frame.f_code, frame.f_locals
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return {name: values[name] for name in names if name in values}


def _subjects(value: Any) -> tuple[Subject, ...]:
    if isinstance(value, torch.fx.Node):
        return (_of_node(value),) if _is_of_model(value) else ()
    if isinstance(value, BaseSchedulerNode):
        inner = (getattr(each, "node", None) for each in value.get_nodes())
        return tuple(_of_operation(op) for op in inner if isinstance(op, Operation))
    if isinstance(value, Operation):
        return (_of_operation(value),)
    return (_of_op_spec(value),) if _is_op_spec(value) else ()


def _is_of_model(node: torch.fx.Node) -> bool:
    """Return whether a node computes a tensor; those of loop bodies do not."""
    return node.op in COMPUTE and ("val" in node.meta or "example_value" in node.meta)


def _of_node(node: torch.fx.Node) -> Subject:
    nodes = (node, *node.all_input_nodes)
    return Subject(
        name=f"{node.name} ({target_text(node.target)})",
        lines=tuple(_lines((node,))),
        devices=frozenset(kind for each in nodes for kind in node_devices(each)),
    )


def _of_operation(operation: Any) -> Subject:
    origins = sorted(getattr(operation, "origins", ()), key=lambda node: node.name)
    name = buffer_name(operation) or operation.get_operation_name()
    made_of = ", ".join(node.name for node in origins)
    device = operation.get_device()
    return Subject(
        name=f"{name} ({made_of})" if made_of else name,
        lines=tuple(_lines(origins)),
        devices=frozenset(() if device is None else (device.type,)),
    )


def _is_op_spec(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and hasattr(value, "iteration_space")


def _of_op_spec(spec: Any) -> Subject:
    source = getattr(getattr(spec, "debug_handle", None), "source", None)
    lines = () if source is None else (f"{source.file}:{source.start_line}",)
    return Subject(name=str(spec.op), lines=lines)


def _lines(nodes: Iterable[torch.fx.Node]) -> Iterator[str]:
    for node in nodes:
        trace = node.meta.get("stack_trace")
        stack = parse_stack_trace(trace) if isinstance(trace, str) else ()
        if stack:
            yield stack[-1].where


def _first(texts: Iterable[str]) -> tuple[str, ...]:
    known = tuple(dict.fromkeys(texts))
    rest = len(known) - _MAX_NAMED
    return known if rest <= 0 else (*known[:_MAX_NAMED], f"and {rest} more")
