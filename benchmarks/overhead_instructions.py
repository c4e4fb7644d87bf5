"""How many more instructions does recording make the processor execute?

    python -m benchmarks.overhead_instructions

counts those of a compile and of the cache hit that follows it under valgrind, whose
command has to be there, with recording off and on and with Inductor's own tracking.
Nothing else on the machine changes these numbers; they say nothing of what an
instruction costs, or of what the system does. Valgrind knows no instructions for
SHA-256, which processors have: the library that hashes is left out, and its share told
apart. A model takes minutes.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from attrs import asdict, frozen

from torch_spyre_provenance.measuring.samples import BASE
from torch_spyre_provenance.measuring.table import percent

from .overhead_order import SUBJECTS
from .overhead_processes import ROOT

CONDITIONS = (BASE, "on", "Inductor, level 1")
WORKLOADS = ("fresh", "hit")
N_ROUNDS = 1
EXIT_MISSING = 2
_HASHING = "libcrypto"
_CONTROL = "callgrind_control"
_VALGRIND = ("valgrind", "--tool=callgrind", "--instr-atstart=no", "--quiet")


@frozen(kw_only=True)
class Count:
    """The instructions of one piece of work.

    Attributes:
        condition: What was on.
        workload: ``fresh`` or ``hit``.
        executed: Those outside of the hashing library.
        hashing: Those inside of it.
    """

    condition: str
    workload: str
    executed: int
    hashing: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and return the exit code."""
    parser = argparse.ArgumentParser(prog="overhead_instructions")
    parser.add_argument("subjects", nargs="*", metavar="MODEL", default=SUBJECTS)
    parser.add_argument(
        "--rounds",
        type=int,
        default=N_ROUNDS,
        help="counts of each, after one that is discarded (1)",
    )
    parser.add_argument("--figures", metavar="FILE", help="write all counts there")
    parser.add_argument("--inside", metavar="DIRECTORY", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if unknown := [each for each in options.subjects if each not in SUBJECTS]:
        parser.error(f"no model {unknown[0]!r}; there are {', '.join(SUBJECTS)}")
    if options.inside is not None:
        (subject,) = options.subjects
        for count in counted(subject, Path(options.inside), options.rounds):
            print(json.dumps(asdict(count)), flush=True)
        return 0
    if shutil.which(_VALGRIND[0]) is None:
        print("valgrind is not installed (Debian: valgrind)", file=sys.stderr)
        return EXIT_MISSING
    print("\n".join(heading()))
    counts: dict[str, list[Count]] = {}
    for subject in options.subjects:
        counts[subject] = list(_under_valgrind(subject, options.rounds))
        print("\n".join(rows(subject, counts[subject])), flush=True)
        if options.figures:  # after each: it takes long
            facts = {name: [asdict(each) for each in of] for name, of in counts.items()}
            Path(options.figures).write_text(json.dumps(facts, indent=1) + "\n")
    return 0


def heading() -> Iterator[str]:
    """Yield the first two rows of the table."""
    columns = ("model", "work", "off", "on", "level 1", "hashing, off", "on")
    yield f"| {' | '.join(columns)} |"
    yield f"| --- | --- |{' --: |' * (len(columns) - 2)}"


def rows(subject: str, counts: Sequence[Count]) -> Iterator[str]:
    """Yield a model's rows: millions of instructions, and the changes to them.

    Args:
        subject: The model's name.
        counts: All of its counts; the figures are medians over the rounds.
    """
    for workload in WORKLOADS:
        found = [each for each in counts if each.workload == workload]
        off, on, tracked = (_millions(found, each, "executed") for each in CONDITIONS)
        hashed = (_millions(found, each, "hashing") for each in CONDITIONS[:2])
        cells = (
            f"{off:,.1f} M",
            percent(on / off),
            percent(tracked / off),
            *(f"{each:,.1f} M" for each in hashed),
        )
        yield f"| {subject} | {workload} | {' | '.join(cells)} |"


def _millions(counts: Sequence[Count], condition: str, attribute: str) -> float:
    values = (getattr(e, attribute) for e in counts if e.condition == condition)
    return median(values) / 1e6


def _under_valgrind(subject: str, n_rounds: int) -> Iterator[Count]:
    with TemporaryDirectory(prefix="spyre-instructions-") as scratch:
        command = (
            *_VALGRIND,
            f"--callgrind-out-file={scratch}/counts",
            *(sys.executable, "-m", __spec__.name, subject),
            *("--inside", scratch, "--rounds", str(n_rounds)),
        )
        # The same hashes of strings, or sets and dicts would be laid out anew.
        environ = os.environ | {
            "PYTHONHASHSEED": "0",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environ,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            yield Count(**json.loads(line))


def counted(subject: str, scratch: Path, n_rounds: int) -> Iterator[Count]:
    """Count a model's compiles and hits in this process, which valgrind runs.

    Args:
        subject: The model's name.
        scratch: Directory for what valgrind dumps.
        n_rounds: Counts of each piece of work, after one that is discarded.

    Yields:
        The counts.
    """
    import torch
    from torch._inductor.utils import clear_caches, fresh_cache

    from torch_spyre_provenance.measuring.workloads import job_of, make_device

    from .overhead_conditions import ALL_CONDITIONS
    from .overhead_subjects import make

    make_device()
    model = make(subject)
    job = job_of(subject, model.module, model.inputs, trains=model.trains)
    by_name = {each.name: each for each in ALL_CONDITIONS}
    for number in range(-1, n_rounds):
        for name in CONDITIONS:
            out = scratch / f"{name} {number}"
            out.mkdir()
            with fresh_cache(), by_name[name].enter(out):
                for workload in WORKLOADS:
                    torch._dynamo.reset()  # noqa: SLF001  it has no public name
                    clear_caches()
                    compiled = job.compiled()
                    gc.collect()
                    if number < 0:
                        job.call(compiled, job.inputs)
                        continue
                    executed, hashing = _instructions(
                        lambda run=compiled: job.call(run, job.inputs), scratch
                    )
                    yield Count(
                        condition=name,
                        workload=workload,
                        executed=executed,
                        hashing=hashing,
                    )


def _instructions(work: Callable[[], object], scratch: Path) -> tuple[int, int]:
    """Return the instructions of a piece of work, outside and inside of hashing."""
    _control("--instr=on")
    _control("--zero")
    work()
    _control("--dump")
    _control("--instr=off")
    (dump,) = scratch.glob("counts.*")
    try:
        with dump.open() as lines:
            return by_library(lines)
    finally:
        dump.unlink()


def _control(order: str) -> None:
    subprocess.run(
        (_CONTROL, order, str(os.getpid())),
        capture_output=True,
        check=True,
    )


def by_library(lines: Iterator[str]) -> tuple[int, int]:
    """Return the instructions of a dump, outside and inside of the hashing library.

    Args:
        lines: A dump in callgrind's format: ``ob=(1) name`` names a library once, and
            later by its number; rows that begin with a digit, a sign or ``*`` are
            costs, except for the row after ``calls=``, which counts the callee once
            more.
    """
    names: dict[str, str] = {}
    outside = inside = 0
    is_hashing = False
    for line in lines:
        kind, is_name, rest = line.partition("=")
        if is_name and kind in ("ob", "cob"):
            number, _, name = rest.strip().partition(" ")
            if name:
                names[number] = name
            if kind == "ob":
                is_hashing = _HASHING in names.get(number, "")
        elif kind == "calls":
            next(lines)
        elif line[0] in "0123456789+-*":
            cost = int(line.split()[-1])
            if is_hashing:
                inside += cost
            else:
                outside += cost
    return outside, inside


if __name__ == "__main__":
    sys.exit(main())
