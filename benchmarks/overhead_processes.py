"""Measuring whole processes: everything from the first import to the last file."""

from __future__ import annotations

import os
import random
import site
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import field, frozen

from torch_spyre_provenance.measuring.samples import AGAIN, BASE, Sample

ROOT = Path(__file__).parents[1]
OURS = "torch_spyre_provenance"
ABSENT, ON = "not installed", "on, with reports"
_KIB = 1024


@frozen(kw_only=True)
class Way:
    """One way to start the program.

    Attributes:
        name: Name of the condition.
        is_installed: Whether torch finds the package's entry points.
        environ: Variables to set.
    """

    name: str
    is_installed: bool = True
    environ: Mapping[str, str] = field(factory=dict)


WAYS = (
    Way(name=BASE),
    Way(name=AGAIN),
    Way(name=ABSENT, is_installed=False),
    Way(name=ON, environ={"TORCH_SPYRE_PROVENANCE": "1"}),
)


def measure_processes(
    subjects: Sequence[str], n_rounds: int, seed: int
) -> Iterator[Sample]:
    """Measure fresh processes that compile a model anew, and from a cache.

    Args:
        subjects: Names of the models.
        n_rounds: Processes of each kind, after one that is discarded.
        seed: Of the order within a round.

    Yields:
        Samples of the workloads ``process, fresh`` and ``process, hit``.
    """
    shuffled = random.Random(seed)  # noqa: S311  no secret depends on it
    with tempfile.TemporaryDirectory(prefix="spyre-overhead-") as scratch:
        work = Path(scratch)
        for is_installed in (True, False):
            _link_packages(work / str(is_installed), is_installed=is_installed)
        for subject in subjects:
            for number in range(-1, n_rounds):
                for way in shuffled.sample(WAYS, len(WAYS)):
                    for sample in _both(way, subject, number, work):
                        if number >= 0:
                            yield sample


def _both(way: Way, subject: str, number: int, work: Path) -> Iterator[Sample]:
    """Run a program with an empty cache, and once more with what it left there."""
    with tempfile.TemporaryDirectory(dir=work) as cache:
        program = _Program(
            way=way,
            subject=subject,
            packages=work / str(way.is_installed),
            cache=Path(cache),
        )
        for workload in ("process, fresh", "process, hit"):
            yield program.sample(workload, number)


@frozen(kw_only=True)
class _Program:
    """The program, and where it finds packages and cached compiles."""

    way: Way
    subject: str
    packages: Path
    cache: Path

    def sample(self, workload: str, number: int) -> Sample:
        """Run it to its end."""
        out = self.cache / "bundles" / workload.replace(" ", "_")
        start = time.perf_counter()
        process = os.posix_spawn(
            sys.executable,
            # Without `site`, so that the linked packages are the only ones.
            [sys.executable, "-S", "-m", "benchmarks.overhead_program", self.subject],
            {
                **os.environ,
                "PYTHONPATH": f"{self.packages}:{ROOT}",
                "PYTHONWARNINGS": "ignore",
                "TORCHINDUCTOR_CACHE_DIR": str(self.cache),
                "TORCHINDUCTOR_COMPILE_THREADS": "1",
                "TORCH_SPYRE_PROVENANCE_DIR": str(out),
                **self.way.environ,
            },
        )
        _, status, used = os.wait4(process, 0)
        wall = time.perf_counter() - start
        if status:
            raise RuntimeError(f"{self.subject}, {self.way.name}: status {status}")
        return Sample(
            subject=self.subject,
            workload=workload,
            condition=self.way.name,
            round=number,
            cpu=used.ru_utime + used.ru_stime,
            wall=wall,
            peak=_KIB * used.ru_maxrss,
            written=_n_bytes(out),
        )


def _n_bytes(directory: Path) -> int:
    files = (file for file in directory.rglob("*") if file.is_file())
    return sum(file.stat().st_size for file in files)


def _link_packages(target: Path, *, is_installed: bool) -> None:
    """Make a directory of links to every installed package, with ours or without.

    Our own code is found beside the benchmarks in either case: the reference front end
    is part of it. What differs is whether torch finds entry points that name it.
    """
    target.mkdir()
    for folder in site.getsitepackages():
        for entry in Path(folder).iterdir():
            is_ours = OURS in entry.name
            is_metadata = entry.suffix == ".dist-info"
            if not is_ours or (is_installed and is_metadata):
                (target / entry.name).symlink_to(entry)
