"""What belongs to one run of a compile: the process, the time, the versions."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import platform
import socket
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

import torch
from torch._inductor.runtime.runtime_utils import cache_dir

from ..model import CacheState, KernelFiles, Observation, RunFacts
from ..settings import JOB
from ..store.kernel_files import digest_of
from . import compat
from .builder import CompileBuilder

_sequence = itertools.count()

JOB_VARIABLES = (JOB, "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID")
"""Variables that name the job of a process; the first one that is set counts."""

_NO_JOB = ("", "none")  # torchrun's id, where it is given none


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
        world_size=world_size(),
        job=job(),
        versions=tuple(sorted({*own_versions(), *versions})),
        module=module,
        module_sha256=None if module is None else digest_of(Path(module)),
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


def world_size() -> int | None:
    """Return the number of ranks, or None outside of a distributed job."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_world_size())
    text = os.environ.get("WORLD_SIZE", "")
    return int(text) if text.isdecimal() else None


def job() -> str | None:
    """Return the name that all processes of this job share, or None."""
    names = (os.environ.get(variable, "") for variable in JOB_VARIABLES)
    return next((name for name in names if name not in _NO_JOB), None)


def own_versions() -> tuple[tuple[str, str], ...]:
    """Return pairs of name and version: Python, torch and this package."""
    return (
        ("python", platform.python_version()),
        ("torch", str(torch.__version__)),
        ("torch_spyre_provenance", _version()),
    )


@cache
def _version() -> str:
    # Once: looking it up reads the metadata of a whole directory of packages.
    try:
        return metadata.version("torch_spyre_provenance")
    except metadata.PackageNotFoundError:
        return f"source ({sys.implementation.name})"
