"""How many more function calls does recording make?

    python -m benchmarks.overhead_calls

counts the calls of Python and built-in functions during a compile and during a cache
hit, with recording off and on. Nothing else on the machine changes these numbers; they
say nothing of what a call costs.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch
from torch._inductor.utils import clear_caches, fresh_cache

from torch_spyre_provenance import record
from torch_spyre_provenance.measuring.table import percent
from torch_spyre_provenance.measuring.workloads import Job, job_of, make_device

from .overhead_subjects import SUBJECTS, make

N_WARM_UPS = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="overhead_calls")
    parser.add_argument("subjects", nargs="*", metavar="MODEL", default=SUBJECTS)
    make_device()
    print("| calls | fresh, off | on | hit, off | on |")
    print("| --- | --: | --: | --: | --: |")
    for subject in parser.parse_args(arguments).subjects:
        model = make(subject)
        job = job_of(subject, model.module, model.inputs, trains=model.trains)
        for _ in range(N_WARM_UPS):
            off, on = (count(job, is_recorded=is_on) for is_on in (False, True))
        cells = (
            f"{before:,} | {percent(after / before)}"
            for before, after in zip(off, on, strict=True)
        )
        print(f"| {subject} | {' | '.join(cells)} |", flush=True)
    return 0


def count(job: Job, *, is_recorded: bool) -> tuple[int, int]:
    """Return the calls of a compile, and those of the cache hit that follows it.

    Args:
        job: What is compiled.
        is_recorded: Whether recording is on.
    """
    with TemporaryDirectory() as out:
        recording = record(out=Path(out)) if is_recorded else nullcontext()
        with fresh_cache(), recording:
            fresh = _calls(job)
            clear_caches()
            return fresh, _calls(job)


def _calls(job: Job) -> int:
    torch._dynamo.reset()  # noqa: SLF001  it has no public name
    compiled = job.compiled()
    profile = cProfile.Profile()
    with profile:
        job.call(compiled, job.inputs)
    calls: int = pstats.Stats(profile).total_calls  # type: ignore[attr-defined]
    return calls


if __name__ == "__main__":
    sys.exit(main())
