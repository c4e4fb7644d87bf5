"""The pieces of work that are measured, each on a model in this process."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from attrs import frozen
from torch._dynamo.utils import counters
from torch._inductor.utils import clear_caches, fresh_cache
from torch.utils._pytree import tree_map_only

from ..errors import LaunchError
from ..frontends.contract import DEVICE
from ..frontends.discovery import load_front_end
from ..recording.current import current_session
from ..recording.installation import register_plain
from ..recording.points import Point
from ..recording.stack_room import COMPILE_ROOM, with_room
from .conditions import Condition, Finish
from .meter import Meter
from .samples import Sample

N_WARM_UPS = 20
"""Calls of a compiled model before its calls are measured."""

_INSIDE = (Point.FILES, Point.PUBLISH)
"""Points within another one, `Point.LOAD`."""

_CACHES = (("inductor", "fxgraph_cache_hit"), ("aot_autograd", "autograd_cache_hit"))


@frozen(kw_only=True)
class Job:
    """A model, ready to be compiled for the device.

    Attributes:
        name: The model's name.
        module: The module or function, on the device.
        inputs: Its positional arguments, on the device.
        others: Arguments of other shapes, or None where it has only one.
        trains: Whether a call computes gradients too.
    """

    name: str
    module: Any
    inputs: tuple[Any, ...]
    others: tuple[Any, ...] | None = None
    trains: bool = False

    @with_room(COMPILE_ROOM)
    def call(self, compiled: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
        """Call a compiled model once; without a card, its kernels are not run.

        The interpreter's stack has room for a compile. Without, a compile takes longer,
        and a single frame more or less changes by how much: by several times what is
        to be measured.
        """
        with torch.set_grad_enabled(self.trains), suppress(LaunchError):
            result = compiled(*inputs)
            if self.trains:
                result.sum().backward()

    def compiled(self) -> Callable[..., Any]:
        """Return the model compiled, or rather: to be compiled with the first call."""
        compiled: Callable[..., Any] = torch.compile(self.module, dynamic=False)
        return compiled


def make_device(torch_spyre: Path | None = None) -> None:
    """Make the device known, and its plain compiler.

    Args:
        torch_spyre: A torch-spyre checkout to compile through without a card; None for
            the best front end that is there.

    Raises:
        FrontEndError: There is none.
    """
    register_plain(load_front_end(checkout=torch_spyre))


def job_of(
    name: str,
    module: Any,
    inputs: tuple[Any, ...],
    others: tuple[Any, ...] | None = None,
    *,
    trains: bool = False,
) -> Job:
    """Return a job, its model and inputs moved to the device.

    Args:
        name: The model's name.
        module: The module or function.
        inputs: Its positional arguments, on the host.
        others: Arguments of other shapes, or None.
        trains: Whether a call computes gradients too.
    """
    if isinstance(module, torch.nn.Module):
        module = module.to(DEVICE)
    on_device = tree_map_only(
        torch.Tensor, lambda host: host.to(DEVICE), (inputs, others)
    )
    inputs, others = on_device
    return Job(name=name, module=module, inputs=inputs, others=others, trains=trains)


def compile_samples(
    job: Job, condition: Condition, number: int = 0
) -> Iterator[Sample]:
    """Compile a model anew, from the cache, and for another shape; measure each.

    Args:
        job: The model.
        condition: What is on meanwhile.
        number: Number of the round.

    Yields:
        A sample of ``fresh``, of ``hit``, and of ``recompile`` where the job has
        arguments of other shapes.
    """
    with fresh_cache(), _turned_on(condition) as (finish, out):
        work = _Work(job=job, condition=condition, number=number, out=out)

        def measured(workload: str, inputs: tuple[Any, ...]) -> Sample:
            with work.measured(workload) as found:
                job.call(compiled, inputs)
                finish()
            return found[0]

        torch._dynamo.reset()
        compiled = job.compiled()
        yield measured("fresh", job.inputs)
        # What is left is on disk, as for another process.
        torch._dynamo.reset()
        clear_caches()
        compiled = job.compiled()
        yield measured("hit", job.inputs)
        if job.others is not None:
            yield measured("recompile", job.others)


def run_samples(
    job: Job, conditions: Sequence[Condition], n_rounds: int, n_runs: int, seed: int
) -> Iterator[Sample]:
    """Compile a model under each condition, then measure its calls.

    Args:
        job: The model.
        conditions: What is on while it is compiled and called.
        n_rounds: Samples of each condition.
        n_runs: Calls of one sample.
        seed: Of the order within a round.

    Yields:
        Samples of ``runs``.
    """
    shuffled = random.Random(seed)  # noqa: S311  no secret depends on it
    with fresh_cache():
        for number in range(n_rounds):
            for condition in shuffled.sample(conditions, len(conditions)):
                with _turned_on(condition) as (_, out):
                    # Anew each time, or all conditions would share one compiled model;
                    # from the second time on it comes from the cache.
                    torch._dynamo.reset()
                    compiled = job.compiled()
                    for _ in range(N_WARM_UPS):
                        job.call(compiled, job.inputs)
                    work = _Work(job=job, condition=condition, number=number, out=out)
                    with work.measured("runs") as found:
                        for _ in range(n_runs):
                            job.call(compiled, job.inputs)
                yield found[0]


@frozen(kw_only=True)
class _Work:
    """What is measured, and in which round."""

    job: Job
    condition: Condition
    number: int
    out: Path

    @contextmanager
    def measured(self, workload: str) -> Iterator[list[Sample]]:
        """Measure a block; its sample is in the list when it is over."""
        found: list[Sample] = []
        before, own = n_bytes(self.out), own_seconds()
        counters.clear()
        with Meter() as meter:
            yield found
        found.append(
            Sample(
                subject=self.job.name,
                workload=workload,
                condition=self.condition.name,
                round=self.number,
                cpu=meter.cpu,
                wall=meter.wall,
                peak=meter.peak,
                written=n_bytes(self.out) - before,
                hits=sum(counters[where][what] for where, what in _CACHES),
                own=own_seconds() - own,
            )
        )


@contextmanager
def _turned_on(condition: Condition) -> Iterator[tuple[Finish, Path]]:
    with (
        TemporaryDirectory(prefix="spyre-provenance-bench-") as out,
        condition.enter(Path(out)) as finish,
    ):
        yield finish, Path(out)


def own_seconds() -> float:
    """Return what the active recording has taken so far; 0 where there is none."""
    session = current_session()
    spent = {} if session is None else session.spent()
    return sum(seconds for point, seconds in spent.items() if point not in _INSIDE)


def n_bytes(directory: Path) -> int:
    """Return the size of all files below a directory."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
