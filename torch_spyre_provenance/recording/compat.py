"""What differs between the torch releases that we record on, and nothing else."""

from __future__ import annotations

import hashlib
from types import CodeType
from typing import Any

import torch
from torch._guards import CompileContext, TracingContext
from torch._inductor import config
from torch._inductor.custom_graph_pass import CustomGraphPass


class ChainedPass(CustomGraphPass):
    """Several graph passes as one: pass options take only one in torch < 2.13.

    Its uuid is theirs; None, which disables caching, if any has none.
    """

    def __init__(self, passes: tuple[Any, ...]) -> None:
        self.passes = passes

    def __call__(self, graph: torch.fx.Graph) -> None:
        """Run the passes in order."""
        for each in self.passes:
            each(graph)

    def uuid(self) -> Any | None:
        """Return the uuids of all passes, or None."""
        uuids = tuple(getattr(each, "uuid", lambda: None)() for each in self.passes)
        return uuids if all(uuids) else None


def with_pass(configured: Any, own: CustomGraphPass) -> Any:
    """Return the value of a pass option that runs what is configured, then `own`."""
    passes = _as_tuple(configured)
    if own in passes:
        return configured
    return ChainedPass((*passes, own)) if passes else own


def without_pass(configured: Any, own: CustomGraphPass) -> Any:
    """Return the value of a pass option with `own` taken out again."""
    rest = tuple(each for each in _as_tuple(configured) if each != own)
    if not rest:
        return None
    return rest[0] if len(rest) == 1 else ChainedPass(rest)


def _as_tuple(configured: Any) -> tuple[Any, ...]:
    if configured is None:
        return ()
    if isinstance(configured, ChainedPass):
        return configured.passes
    if isinstance(configured, list | tuple):  # torch ≥ 2.13
        return tuple(configured)
    return (configured,)


def run_pre_grad_passes_early() -> dict[str, Any]:
    """Return the option that makes pre-grad passes run before the cache is asked.

    Without it a hit in AOTAutograd's cache skips them, and the key of the entry cannot
    tell two equal graphs from different lines apart.
    """
    if hasattr(config, "pre_grad_pass_timing"):  # torch ≥ 2.13
        return {"pre_grad_pass_timing": "early"}
    return {}  # torch < 2.13: they always run first


def traced_code_digest() -> str:
    """Return a digest of the code that Dynamo traced for the graph being compiled.

    It covers each function's file, first line and line table: moving a line changes it.
    "" outside of a compile.
    """
    context = TracingContext.try_get()
    codes: list[CodeType] = getattr(context, "traced_code", None) or []
    digest = hashlib.blake2b(digest_size=16)
    for code in codes:
        row = f"{code.co_filename}\0{code.co_firstlineno}\0{code.co_qualname}\0"
        digest.update(row.encode("utf-8", "surrogateescape"))
        digest.update(code.co_linetable)
    return digest.hexdigest() if codes else ""


def graph_name(graph: Any, kind: str) -> str:
    """Return AOTAutograd's name of the graph being compiled, ``0_inference``."""
    context = TracingContext.try_get()
    names = getattr(context, "aot_graph_name", None)
    if names:
        return "_".join(str(name) for name in names)
    number = getattr(graph, "graph_id", None)
    return kind if number is None else f"{number}_{kind}"


def compile_id() -> str | None:
    """Return Dynamo's id of the running compile, ``0/0``, or None."""
    current = CompileContext.current_compile_id()
    return None if current is None else str(current)


def inductor_tracks_provenance() -> bool:
    """Return whether Inductor maps nodes to kernels itself, and logs that."""
    level = getattr(config.trace, "provenance_tracking_level", 0)  # torch ≥ 2.9
    return bool(level)
