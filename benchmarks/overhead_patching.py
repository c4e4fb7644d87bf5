"""A recorder that replaces functions of torch: the other way, for comparison only.

It captures the six stages as tools of its kind do: functions and methods of Inductor
and of the front end are replaced for the time of a compile, every node's metadata is
copied as text, and the caches are off, since on a hit nothing of this would be called.
The package itself replaces nothing; this module is no part of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch._inductor import compile_fx, config
from torch._inductor.codegen.common import get_scheduling_for_device
from torch._inductor.graph import GraphLowering

from torch_spyre_provenance.frontends.contract import DEVICE
from torch_spyre_provenance.measuring.conditions import Finish, nothing

FX_KEYS = (
    "stack_trace",
    "nn_module_stack",
    "source_fn_stack",
    "original_aten",
    "from_node",
)
IR_KEYS = ("origins", "origin_node", "traceback")


class Capture:
    """What was captured, by stage."""

    def __init__(self) -> None:
        self.stages: dict[str, list[Any]] = {}

    def fx(self, stage: str, graph: torch.fx.Graph) -> None:
        """Copy a graph's nodes."""
        self.stages[stage] = [
            {"name": node.name, "op": node.op, "target": str(node.target)}
            | {key: _text(node.meta.get(key)) for key in FX_KEYS}
            for node in graph.nodes
        ]

    def ir(self, stage: str, operations: list[Any]) -> None:
        """Copy a graph's operations."""
        self.stages[stage] = [
            {"name": each.get_operation_name(), "type": type(each).__name__}
            | {key: _text(getattr(each, key, None)) for key in IR_KEYS}
            | {"traces": _text(each.get_stack_traces())}
            for each in operations
        ]

    def kernel(self, name: str, kernel: Any) -> None:
        """Copy a kernel's specs."""
        self.stages.setdefault("kernels", []).append(
            {"name": name, "specs": [_text(spec) for spec in kernel.op_specs]}
        )


def _text(value: Any) -> Any:
    """Return a value as text, containers by their items."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict):
        return {str(key): _text(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_text(item) for item in value]
    return str(value)


@contextmanager
def patched(out: Path) -> Iterator[Finish]:
    """Capture every compile of a block, and write what was captured at its end."""
    capture = Capture()
    scheduling = get_scheduling_for_device(DEVICE)
    with ExitStack() as stack:
        stack.enter_context(config.patch(force_disable_caches=True))
        for owner, name, wrap in (
            (compile_fx, "_recursive_pre_grad_passes", _pre_grad),
            (compile_fx, "_recursive_post_grad_passes", _post_grad),
            (GraphLowering, "_update_scheduler", _scheduler),
            (scheduling, "define_kernel", _define_kernel),
        ):
            original = getattr(owner, name)
            stack.enter_context(patch.object(owner, name, wrap(original, capture)))
        yield nothing
        text = json.dumps(capture.stages, indent=1)
        (out / "capture.json").write_text(text)


Original = Callable[..., Any]


def _pre_grad(original: Original, capture: Capture) -> Original:
    def run(gm: torch.fx.GraphModule, *args: Any, **options: Any) -> Any:
        capture.fx("pre_grad", gm.graph)
        return original(gm, *args, **options)

    return run


def _post_grad(original: Original, capture: Capture) -> Original:
    def run(gm: torch.fx.GraphModule, *args: Any, **options: Any) -> Any:
        result = original(gm, *args, **options)
        capture.fx("post_grad", gm.graph)
        return result

    return run


def _scheduler(original: Original, capture: Capture) -> Original:
    def run(graph: GraphLowering) -> Any:
        capture.ir("loop_ir_pre", graph.operations)
        result = original(graph)
        capture.ir("loop_ir_post", graph.operations)
        return result

    return run


def _define_kernel(original: Original, capture: Capture) -> Original:
    def run(self: Any, code: str, schedule: Any, kernel: Any, *args: Any) -> Any:
        name = original(self, code, schedule, kernel, *args)
        capture.kernel(name, kernel)
        return name

    return run
