"""What does the depth of the call stack do to the time of a compile?

    python -m benchmarks.stack_depth

compiles one model from so many functions further in, with nothing recorded: as CPython
lays out its stack, and with room on it (`recording.stack_room`). It prints processor
time and page faults, each the least of the repeats.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch
from attrs import frozen
from torch._inductor.utils import fresh_cache

from torch_spyre_provenance.measuring.workloads import Job, job_of, make_device
from torch_spyre_provenance.recording.stack_room import COMPILE_ROOM, with_room

from .overhead_subjects import SUBJECTS, make

DEPTHS, REPEATS = 24, 3


@frozen(kw_only=True)
class Cost:
    """What one compile took.

    Attributes:
        seconds: Processor seconds.
        faults: Pages that had to be mapped.
    """

    seconds: float
    faults: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="stack_depth")
    parser.add_argument("subject", nargs="?", choices=SUBJECTS, default="Llama-shaped")
    parser.add_argument("--depths", type=int, default=DEPTHS, help="how many (24)")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="of each (3)")
    options = parser.parse_args(arguments)
    make_device()
    model = make(options.subject)
    job = job_of(options.subject, model.module, model.inputs, trains=model.trains)
    compiled_at(0, job)  # much is done only once in a process
    print("| depth | CPU s | page faults | with room: CPU s | page faults |")
    print("| --: | --: | --: | --: | --: |")
    for depth in range(options.depths):
        plain = [compiled_at(depth, job) for _ in range(options.repeats)]
        roomy = [compiled_at(depth, job, roomy=True) for _ in range(options.repeats)]
        cells = (
            cell
            for costs in (plain, roomy)
            for cell in (
                f"{min(cost.seconds for cost in costs):.2f}",
                f"{min(cost.faults for cost in costs):,}",
            )
        )
        print(f"| {depth} | {' | '.join(cells)} |", flush=True)
    return 0


def compiled_at(depth: int, job: Job, *, roomy: bool = False) -> Cost:
    """Compile a model from so many functions further in, and return what it took.

    Args:
        depth: Number of functions.
        job: The model.
        roomy: Whether the innermost one has room for all that a compile calls.
    """
    torch._dynamo.reset()  # noqa: SLF001  it has no public name
    compiled = job.compiled()

    def call() -> None:
        with torch.set_grad_enabled(job.trains):
            compiled(*job.inputs)

    work = with_room(COMPILE_ROOM)(call) if roomy else call
    with fresh_cache():
        gc.collect()
        faults, seconds = _faults(), time.process_time()
        _nested(depth, work)
        return Cost(seconds=time.process_time() - seconds, faults=_faults() - faults)


def _nested(depth: int, work: Callable[[], None]) -> None:
    if depth:
        _nested(depth - 1, work)
    else:
        work()


def _faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


if __name__ == "__main__":
    sys.exit(main())
