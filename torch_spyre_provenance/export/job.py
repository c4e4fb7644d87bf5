"""Exporting every bundle below a directory, with as many processes as it pays."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from ..analysis.attribution import Attributor
from ..analysis.recorded import Recorded
from ..analysis.timing import Share
from ..analysis.trace import join
from ..store import find_bundles, read_bundle
from ..store.traces import read_trace
from .parquet import Partition, Rows, write_tables
from .rows import rows_of
from .timed import time_rows

_PAYS_FROM = 64
"""Bundles from which on a second process is faster than its start is slow."""

_MOST_PROCESSES = 8
_CHUNK = 16


def export(root: Path, out: Path, traces: tuple[Path, ...] = ()) -> int:
    """Write all bundles below a directory as tables.

    Args:
        root: The directory of bundles.
        out: The directory of tables; it must not be there, or be empty.
        traces: Profiler's traces of programs that ran the kernels, for the table of
            times.

    Returns:
        The number of bundles.

    Raises:
        BundleFormatError: One of them is not whole.
        MissingExtraError: pyarrow is not installed.
        OutputError: The tables cannot be written.
    """
    bundles = find_bundles(root)
    write_tables(out, (*_read_all(root, bundles), *_timed(root, bundles, traces)))
    return len(bundles)


def _read_all(
    root: Path, bundles: tuple[Path, ...]
) -> Iterator[tuple[Partition, Rows]]:
    jobs = [(str(root), str(path)) for path in bundles]
    n_processes = min(os.cpu_count() or 1, _MOST_PROCESSES)
    if len(jobs) < _PAYS_FROM or n_processes == 1:
        yield from map(_read, jobs)
        return
    # Not by fork: the caller may have threads.
    with ProcessPoolExecutor(n_processes, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_read, jobs, chunksize=_CHUNK)


def _read(job: tuple[str, str]) -> tuple[Partition, Rows]:
    root, path = map(Path, job)
    bundle = read_bundle(path)
    partition = Partition(job=bundle.run.job, rank=bundle.run.rank)
    return partition, rows_of(_name(root, path), bundle)


def _name(root: Path, path: Path) -> str:
    return str(path.relative_to(root)) if path != root else path.name


def _timed(
    root: Path, bundles: tuple[Path, ...], traces: tuple[Path, ...]
) -> Iterator[tuple[Partition, Rows]]:
    if not traces:
        return
    compiles = [
        Recorded(name=_name(root, path), facts=Attributor(read_bundle(path)))
        for path in bundles
    ]
    homes = {each.name: each.facts.bundle.run for each in compiles}
    for path in traces:
        joined = join(read_trace(path).trace, compiles)
        for row in time_rows(joined, Share.ITERATIONS):
            run = homes[row.compile]
            yield Partition(job=run.job, rank=run.rank), {"times": [row]}
