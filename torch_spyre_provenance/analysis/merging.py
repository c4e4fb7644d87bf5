"""One view of the bundles of many processes: who compiled what, and who differs.

A compile is known across processes by its graph and Dynamo's compile id, which count up
in the same way on every rank that runs the same program. Two records of a compile are
the same where all but the facts of their runs is equal.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

from attrs import evolve, frozen

from ..model import Bundle, CacheState, CompileKind, RunFacts
from .attribution import attribute
from .coverage import Coverage, measure_coverage
from .diff import Difference, compare

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")

_NO_RUN = RunFacts(
    name="", compile_id=None, cache=CacheState.MISS, time="", host="", pid=0
)


@frozen(kw_only=True)
class Member:
    """One bundle of a job.

    Attributes:
        path: Where it lies.
        job: The job's name, or None.
        rank: Its process's rank, or None.
        world_size: The number of ranks of the job, or None.
        host: Its process's host.
        pid: Its process.
        cache: Whether its code came from a cache.
    """

    path: str
    job: str | None
    rank: int | None
    world_size: int | None
    host: str
    pid: int
    cache: CacheState

    @property
    def process(self) -> tuple[str, int]:
        """Return the host and the process id."""
        return (self.host, self.pid)

    @property
    def label(self) -> str:
        """Return the rank, or the process where there are no ranks."""
        if self.rank is not None:
            return f"rank {self.rank}"
        return f"{self.host}:{self.pid}"


@frozen(kw_only=True)
class Variant:
    """One content of a compile, and who recorded it.

    Attributes:
        bundle: The first bundle with this content.
        coverage: How many of its ops have a line.
        members: Who recorded it, by job, rank and process.
        difference: What differs from the first variant of the compile; None for it.
    """

    bundle: Bundle
    coverage: Coverage
    members: tuple[Member, ...]
    difference: Difference | None = None


@frozen(kw_only=True)
class MergedCompile:
    """One compile of a job, over all of its processes.

    Attributes:
        graph: The graph's name.
        kind: Inference, forward or backward.
        compile_id: Dynamo's compile id, or None.
        occurrence: 0 for the first compile of that name in a process, 1 for the next.
        variants: Its different contents, the most common one first.
        absent: Labels of the processes of the job that did not compile it.
    """

    graph: str
    kind: CompileKind
    compile_id: str | None
    occurrence: int
    variants: tuple[Variant, ...]
    absent: tuple[str, ...]

    @property
    def is_uniform(self) -> bool:
        """Return whether every process of the job recorded the same."""
        return len(self.variants) == 1 and not self.absent

    @property
    def members(self) -> tuple[Member, ...]:
        """Return all who compiled it, by rank and process."""
        members = [member for each in self.variants for member in each.members]
        return tuple(sorted(members, key=lambda each: (each.rank or 0, each.process)))


@frozen(kw_only=True)
class MergedJob:
    """All bundles of one job, or of all processes that belong to none.

    Attributes:
        job: The job's name, or None.
        world_size: The number of ranks as the job itself says, or None.
        processes: Labels of the processes that left a bundle, by rank.
        missing_ranks: Ranks that left none.
        compiles: What they compiled, in the order of the first one's record.
    """

    job: str | None
    world_size: int | None
    processes: tuple[str, ...]
    missing_ranks: tuple[int, ...]
    compiles: tuple[MergedCompile, ...]

    @property
    def is_uniform(self) -> bool:
        """Return whether all ranks are there and recorded the same."""
        return not self.missing_ranks and all(each.is_uniform for each in self.compiles)


def merge(bundles: Iterable[tuple[str, Bundle]]) -> tuple[MergedJob, ...]:
    """Return what the processes of each job compiled.

    Args:
        bundles: Pairs of where a bundle lies, and the bundle.

    Returns:
        One entry for each job, sorted by name; processes without a job come first.
    """
    pairs = [(_member(path, bundle), bundle) for path, bundle in bundles]
    pairs.sort(key=lambda pair: _order(*pair))
    jobs = _grouped((member.job or "", (member, bundle)) for member, bundle in pairs)
    return tuple(_job(jobs[name]) for name in sorted(jobs))


def _member(path: str, bundle: Bundle) -> Member:
    run = bundle.run
    return Member(
        path=path,
        job=run.job,
        rank=run.rank,
        world_size=run.world_size,
        host=run.host,
        pid=run.pid,
        cache=run.cache,
    )


def _order(member: Member, bundle: Bundle) -> tuple[object, ...]:
    """Return what puts bundles in order: by rank, and by time in a process."""
    rank = -1 if member.rank is None else member.rank
    return (rank, member.host, member.pid, bundle.run.time, member.path)


def _job(pairs: list[tuple[Member, Bundle]]) -> MergedJob:
    processes = dict.fromkeys((member.process, member.label) for member, _ in pairs)
    seen: dict[Hashable, int] = {}
    keyed = []
    for member, bundle in pairs:
        name = (bundle.compile.graph, bundle.run.compile_id)
        occurrence = seen.get((member.process, name), 0)
        seen[member.process, name] = occurrence + 1
        keyed.append(((name, occurrence), (member, bundle)))
    groups = _grouped(keyed)
    sizes = {member.world_size for member, _ in pairs if member.world_size is not None}
    size = max(sizes, default=None)
    ranks = {member.rank for member, _ in pairs}
    return MergedJob(
        job=pairs[0][0].job,
        world_size=size,
        processes=tuple(label for _, label in processes),
        missing_ranks=tuple(rank for rank in range(size or 0) if rank not in ranks),
        compiles=tuple(
            _compile(group, occurrence, tuple(processes))
            for (_, occurrence), group in groups.items()
        ),
    )


def _compile(
    group: list[tuple[Member, Bundle]],
    occurrence: int,
    processes: tuple[tuple[tuple[str, int], str], ...],
) -> MergedCompile:
    contents = _grouped((evolve(b, run=_NO_RUN), (m, b)) for m, b in group)
    ordered = sorted(contents.values(), key=len, reverse=True)
    first = ordered[0][0][1]
    present = {member.process for member, _ in group}
    return MergedCompile(
        graph=first.compile.graph,
        kind=first.compile.kind,
        compile_id=first.run.compile_id,
        occurrence=occurrence,
        variants=tuple(
            Variant(
                bundle=same[0][1],
                coverage=measure_coverage(attribute(same[0][1])),
                members=tuple(member for member, _ in same),
                difference=None if not number else compare(first, same[0][1]),
            )
            for number, same in enumerate(ordered)
        ),
        absent=tuple(label for process, label in processes if process not in present),
    )


def _grouped(pairs: Iterable[tuple[_K, _V]]) -> dict[_K, list[_V]]:
    groups: dict[_K, list[_V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups
