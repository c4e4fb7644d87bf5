"""What belongs to one run of a compile: the process, the time, the versions."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import platform
import socket
import sys
from importlib import metadata
from pathlib import Path

import torch
from torch._inductor.runtime.runtime_utils import cache_dir

from ..model import CacheState, KernelFiles, Observation, RunFacts
from . import compat
from .builder import CompileBuilder

_sequence = itertools.count()


def default_root() -> Path:
    """Return the directory for bundles beside the kernels, in Inductor's cache."""
    return Path(cache_dir()) / "inductor-spyre" / "provenance"


def collect(
    builder: CompileBuilder | None,
    observations: tuple[Observation, ...],
    *,
    graph: str = "graph",
    cache: CacheState = CacheState.MISS,
    module: str | None = None,
    files: tuple[KernelFiles, ...] = (),
    versions: tuple[tuple[str, str], ...] = (),
) -> RunFacts:
    """Return the facts of this run.

    Args:
        builder: The compile, where it ran in this process.
        observations: Counts of the points that run with every load of the module.
        graph: Name of the graph, where there is no builder.
        cache: Whether the generated code came from a cache.
        module: Path of the generated module.
        files: The kernels' directories.
        versions: The front end's versions.
    """
    compile_id = compat.compile_id() or (builder and builder.compile_id) or None
    return RunFacts(
        name=bundle_name(builder.graph if builder else graph),
        compile_id=compile_id,
        cache=cache,
        time=dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds"),
        host=socket.gethostname(),
        pid=os.getpid(),
        rank=rank(),
        versions=tuple(sorted({*own_versions(), *versions})),
        module=module,
        files=files,
        observations=observations,
    )


def bundle_name(graph: str) -> str:
    """Return a directory name that no other compile of this process has.

    Together with the process id it is unique on a machine at any one time.
    """
    safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in graph)[:80]
    return f"{safe}-{os.getpid()}-{next(_sequence)}"


def rank() -> int | None:
    """Return the process's distributed rank, or None outside of a distributed job."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    text = os.environ.get("RANK", "")
    return int(text) if text.isdecimal() else None


def own_versions() -> tuple[tuple[str, str], ...]:
    """Return pairs of name and version: Python, torch and this package."""
    return (
        ("python", platform.python_version()),
        ("torch", str(torch.__version__)),
        ("torch_spyre_provenance", _version()),
    )


def _version() -> str:
    try:
        return metadata.version("torch_spyre_provenance")
    except metadata.PackageNotFoundError:
        return f"source ({sys.implementation.name})"
