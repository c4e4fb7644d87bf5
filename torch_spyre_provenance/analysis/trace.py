"""Which kernel of which compile an event of a profiler's trace ran.

An event names its kernel in one of several ways: by the kernel's directory, by
torch-spyre's key of the kernel's content, by the handles of its ops, or by its name. A
name is unique in one compile only, so what surrounds the event tells compiles apart. An
event that still fits several kernels is joined to none, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from pathlib import PurePosixPath

from attrs import evolve, frozen

from ..model import CompileKind, RunFacts
from ..model.trace import Trace, TraceEvent
from .enclosing import Region, find_regions
from .event_names import is_launch, kernel_key, kernel_name
from .recorded import KernelRef, Recorded

_DEVICE = frozenset({"kernel", "privateuse1_kernel"})
_MIRRORED = frozenset({"gpu_user_annotation"})


class Clue(StrEnum):
    """By what an event was joined to its kernel.

    The first four name a kernel. The others tell kernels of the same name apart:
    ``LAUNCH``, the host's event that launched it; ``PROCESS`` and ``RANK``, where it
    ran; ``REGION``, the compiled region around it; ``EQUAL``, kernels that do not
    differ, their lines neither.
    """

    DIRECTORY = "directory"
    KEY = "provenance-key"
    HANDLES = "debug-handles"
    NAME = "kernel-name"
    LAUNCH = "launch"
    PROCESS = "process"
    RANK = "rank"
    REGION = "compiled-region"
    EQUAL = "equal-kernels"


class Clock(StrEnum):
    """Whose time an event has: the launch on the host, or the run on the device."""

    HOST = "host"
    DEVICE = "device"


@frozen(kw_only=True)
class Joined:
    """An event that ran a kernel, or claims to.

    Attributes:
        event: The event.
        clock: Whose time it has.
        kernel: The kernel; None where that is not known.
        clues: By what it was found.
        reason: Why it is not known; "" where it is.
    """

    event: TraceEvent
    clock: Clock
    kernel: KernelRef | None = None
    clues: tuple[Clue, ...] = ()
    reason: str = ""


def join(trace: Trace, compiles: Iterable[Recorded]) -> tuple[Joined, ...]:
    """Return the events of a trace that ran kernels, each with its kernel.

    Events of neither kind are left out: an operator of the host is no kernel of ours.

    Args:
        trace: The trace.
        compiles: What may have run in it.
    """
    return _Joiner(trace=trace, compiles=tuple(compiles)).join()


def _key(event: TraceEvent) -> str | None:
    return event.provenance_key or kernel_key(event.name)


@frozen(kw_only=True, slots=False)
class _Joiner:
    """One trace, and the compiles that its events are looked for in."""

    trace: Trace
    compiles: tuple[Recorded, ...]

    def join(self) -> tuple[Joined, ...]:
        """Join the host's events first: those of the device may refer to them."""
        found: dict[int, Joined] = {}
        launches: dict[str, KernelRef] = {}
        events = [event for event in self.trace.events if self._is_ours(event)]
        for event in sorted(events, key=lambda event: event.category in _DEVICE):
            joined = self._joined(event, launches)
            found[event.index] = joined
            if joined.kernel and event.external_id and joined.clock is Clock.HOST:
                launches[event.external_id] = joined.kernel
        return tuple(found[index] for index in sorted(found))

    def _is_ours(self, event: TraceEvent) -> bool:
        if event.category in _MIRRORED:
            return False
        return bool(
            event.category in _DEVICE
            or is_launch(event.name)
            or _key(event)
            or event.handles
            or event.name in self._by_name
        )

    @cached_property
    def _kernels(self) -> tuple[KernelRef, ...]:
        return tuple(
            KernelRef(recorded=each, kernel=kernel)
            for each in self.compiles
            for kernel in each.facts.bundle.kernels or ()
        )

    @cached_property
    def _by_name(self) -> Mapping[str, tuple[KernelRef, ...]]:
        found: dict[str, list[KernelRef]] = {}
        for each in self._kernels:
            found.setdefault(each.kernel.name, []).append(each)
        return {name: tuple(refs) for name, refs in found.items()}

    @cached_property
    def _regions(self) -> Mapping[int, Region]:
        return find_regions(self.trace.events)

    def _joined(self, event: TraceEvent, launches: Mapping[str, KernelRef]) -> Joined:
        clock = Clock.DEVICE if event.category in _DEVICE else Clock.HOST
        nothing = Joined(event=event, clock=clock)
        named, clue = self._named(event)
        if not named:
            return evolve(nothing, reason=self._why_unknown(event))
        region = self._regions.get(event.index)
        candidates = tuple(
            each for each in named if not _ran_elsewhere(each, event, region)
        )
        if not candidates:
            return evolve(nothing, reason=_why_elsewhere(region))
        clues = [clue] if len(candidates) == len(named) else [clue, Clue.REGION]
        for refining, fits in self._refinements(event, region, launches):
            if len(candidates) == 1:
                break
            kept = tuple(each for each in candidates if fits(each))
            if kept and len(kept) < len(candidates):
                candidates = kept
                clues.append(refining)
        if len(candidates) > 1 and _are_equal(candidates):
            candidates = candidates[:1]
            clues.append(Clue.EQUAL)
        if len(candidates) > 1:
            return evolve(nothing, reason=_why_ambiguous(candidates))
        return evolve(nothing, kernel=candidates[0], clues=tuple(clues))

    def _named(self, event: TraceEvent) -> tuple[tuple[KernelRef, ...], Clue]:
        """Return the kernels that an event names, by the surest of its clues."""
        identity = (event.name, event.directory, event.provenance_key, event.handles)
        if identity not in self._known:
            self._known[identity] = self._look_up(event)
        return self._known[identity]

    @cached_property
    def _known(self) -> dict[Hashable, tuple[tuple[KernelRef, ...], Clue]]:
        """Return what was looked up: a kernel is launched again and again."""
        return {}

    def _look_up(self, event: TraceEvent) -> tuple[tuple[KernelRef, ...], Clue]:
        for clue, fits in _identities(event):
            found = tuple(each for each in self._kernels if fits(each))
            if found:
                return found, clue
        return self._by_name.get(kernel_name(event.name), ()), Clue.NAME

    def _refinements(
        self,
        event: TraceEvent,
        region: Region | None,
        launches: Mapping[str, KernelRef],
    ) -> Iterator[tuple[Clue, Callable[[KernelRef], bool]]]:
        """Yield what tells kernels of one name apart, the surest first."""
        yield from _identities(event)
        launch = launches.get(event.external_id or "")
        if launch is not None:
            yield Clue.LAUNCH, lambda each: each is launch
        yield Clue.RANK, lambda each: _run(each).rank == self.trace.rank
        yield Clue.PROCESS, lambda each: str(_run(each).pid) == event.process
        if region is not None:
            yield Clue.REGION, lambda each: _is_in(each, region)

    def _why_unknown(self, event: TraceEvent) -> str:
        key = _key(event)
        if key and not event.handles:
            return (
                f"no bundle has a kernel with the key {key}; torch-spyre's own "
                "spyre_provenance.json, given as a bundle too, has keys"
            )
        if event.handles:
            return "no bundle has a kernel with these debug_handle ids"
        return f"no bundle has a kernel called {kernel_name(event.name)}"


def _identities(
    event: TraceEvent,
) -> Iterator[tuple[Clue, Callable[[KernelRef], bool]]]:
    """Yield what an event says of its kernel besides the name, the surest first."""
    directory, key = event.directory, _key(event)
    if directory:
        name = PurePosixPath(directory).name
        # What follows a kernel's name there is random; `k_1` is no prefix of `k_10_x`.
        start = name if name.endswith("_") else f"{name}_"
        yield (
            Clue.DIRECTORY,
            lambda each: f"{_directory(each)}_".startswith(start),
        )
    if key:
        yield Clue.KEY, lambda each: each.recorded.keys.get(each.kernel.name) == key
    if event.handles:
        ids = frozenset(event.handles)
        yield (
            Clue.HANDLES,
            lambda each: each.recorded.handles.get(each.kernel.name) == ids,
        )


def _directory(ref: KernelRef) -> str:
    return ref.recorded.directories.get(ref.kernel.name, "")


def _run(ref: KernelRef) -> RunFacts:
    return ref.recorded.facts.bundle.run


def _is_in(ref: KernelRef, region: Region) -> bool:
    bundle = ref.recorded.facts.bundle
    is_backward = bundle.compile.kind is CompileKind.BACKWARD
    if region.compile_id is None:
        return is_backward
    return bundle.run.compile_id == region.compile_id and not is_backward


def _ran_elsewhere(ref: KernelRef, event: TraceEvent, region: Region | None) -> bool:
    """Return whether an event surely ran another compile's kernel of the same name.

    Ids of compiles are those of one process.
    """
    if region is None or str(_run(ref).pid) != event.process:
        return False
    return not _is_in(ref, region)


def _why_elsewhere(region: Region | None) -> str:
    compile_id = region.compile_id if region else None
    of = f"compile {compile_id}" if compile_id else "a backward graph"
    return f"it ran in {of}, whose bundle is not among those given"


def _are_equal(refs: tuple[KernelRef, ...]) -> bool:
    first = refs[0]
    return all(
        each.kernel == first.kernel and each.ops == first.ops for each in refs[1:]
    )


def _why_ambiguous(refs: tuple[KernelRef, ...]) -> str:
    names = sorted({each.recorded.name for each in refs})
    where = f"in each of {', '.join(names[:3])}" if len(names) > 1 else f"in {names[0]}"
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{len(refs)} kernels fit, {where}{more}"
