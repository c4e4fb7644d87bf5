"""One recording: which compiles it sees, and what becomes of them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from attrs import define, field, frozen
from torch._dynamo.exc import BackendCompilerFailed

from ..frontends.contract import DEVICE, FrontEnd
from ..model import Bundle, Observation
from ..store.record import BundleText, Record, text_of
from . import compat, run_facts
from .builder import CompileBuilder, FrameRecord, Frames
from .current import current_session
from .failure import describe_failure, subjects_of
from .guard import Guard
from .points import OWN_POINTS, RUN_POINTS, Point
from .structured_trace import TraceLog

Publish = Callable[[BundleText, Path], Path]
"""Writes a bundle under a directory and returns the bundle's own directory."""

Render = Callable[[Bundle, Path], None]
"""Writes what is made from a bundle for people, into its directory and elsewhere."""


@frozen(kw_only=True)
class RecordedBundle:
    """A bundle, and where it was written.

    Attributes:
        text: The record as text.
        path: The bundle's directory; None where it could not be written.
    """

    text: BundleText
    path: Path | None

    @property
    def bundle(self) -> Bundle:
        """Return the record."""
        return self.text.bundle


@frozen(kw_only=True)
class _Unrendered:
    """A bundle whose reports are still to be written, by the process that wrote it."""

    text: BundleText
    path: Path
    pid: int = field(factory=os.getpid)


@frozen(kw_only=True)
class Generated:
    """A compile whose module has been generated, and what the module carries of it."""

    builder: CompileBuilder
    record: Record


def _nothing() -> None:
    """Keep no callbacks."""


def _render_nothing(bundle: Bundle, directory: Path) -> None:
    """Leave a bundle as it is."""


@define(eq=False)
class Session:
    """A recording from its beginning to its end.

    It is an object and no set of globals; `installation.install` makes one the active
    one of the process. Every method may be called from any thread.

    Attributes:
        publish: Writes a finished bundle, while the compile waits.
        render: Writes its reports, when the recording or the process ends.
        front_end: The front end that is recorded, or None if there is none.
        out: Directory for the bundles; None for the one beside the kernels.
        strict: Let the failures of observations travel on.
        keep_callbacks: Registers the compile callbacks again where they are gone.
        frames: The Dynamo graphs being compiled.
        guard: Counts of the recorder's own steps.
        trace_log: Takes the bundles that go into PyTorch's trace log.
    """

    publish: Publish
    render: Render = _render_nothing
    front_end: FrontEnd | None = None
    out: Path | None = None
    strict: bool = False
    keep_callbacks: Callable[[], None] = field(default=_nothing)
    frames: Frames = field(factory=Frames, init=False)
    guard: Guard = field(init=False)
    trace_log: TraceLog = field(factory=TraceLog, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)
    _bundles: list[RecordedBundle] = field(factory=list, init=False)
    _unrendered: list[_Unrendered] = field(factory=list, init=False)
    _open: list[CompileBuilder] = field(factory=list, init=False)
    _generated: dict[str, Generated] = field(factory=dict, init=False)
    _local: threading.local = field(factory=threading.local, init=False)

    def __attrs_post_init__(self) -> None:
        self.guard = Guard(strict=self.strict)

    @property
    def bundles(self) -> tuple[RecordedBundle, ...]:
        """Return the bundles recorded so far, in the order of their completion."""
        with self._lock:
            return tuple(self._bundles)

    def spent(self) -> dict[Point, float]:
        """Return the processor seconds that recording has taken so far, by point.

        `Point.LOAD` contains `Point.FILES` and `Point.PUBLISH`; others are apart.
        """
        return dict(self.guard.spent)

    def new_guard(self) -> Guard:
        """Return a guard with counts of its own, whose time counts for this recording.

        What threads add at the same moment may be lost; the counts are not shared.
        """
        return Guard(strict=self.strict, spent=self.guard.spent)

    def observations(self) -> tuple[Observation, ...]:
        """Return the counts of the recorder's own steps."""
        return self.guard.observations(OWN_POINTS, {})

    def frame(self) -> FrameRecord:
        """Return the record of the Dynamo graph that this thread compiles."""
        self.keep_callbacks()
        self._local.frame = frame = self.frames.current(self.new_guard)
        return frame

    def begin(self, *, on_device: bool = True) -> CompileBuilder:
        """Start the record of an Inductor graph that this thread compiles.

        Args:
            on_device: Whether the graph has Spyre tensors.
        """
        front_end = self.front_end if on_device else None
        builder = CompileBuilder(
            guard=self.new_guard(),
            front_end=None if front_end is None else front_end.name,
            compile_id=compat.compile_id(),
            unavailable={} if front_end is None else dict(front_end.unavailable),
        )
        frame = self.frames.peek()
        if frame is not None:
            builder.adopt(frame)
        # One that no graph has claimed belongs to a subgraph, whose passes run before
        # those of the graph around it: their kernels are in that one's record.
        subgraph = getattr(self._local, "pending", None)
        if subgraph is not None:
            self.close(subgraph)
        with self._lock:
            self._open.append(builder)
        self._local.pending = builder
        self._local.frame = None
        return builder

    def pending(self) -> CompileBuilder:
        """Return the record that this thread began last and no graph has claimed.

        If there is none, as when the post-grad pass failed, a new one is begun.
        """
        builder = getattr(self._local, "pending", None)
        self._local.pending = None
        if builder is None:
            builder = self.begin()
            self._local.pending = None
        self._local.lowering = builder
        return builder

    def lowering(self) -> CompileBuilder | None:
        """Return the record that a graph of this thread claimed last, or None."""
        return getattr(self._local, "lowering", None)

    def generated(self, text: str, builder: CompileBuilder, record: Record) -> None:
        """Note that `text` was put into a generated module on behalf of `builder`."""
        with self._lock:
            self._generated[text] = Generated(builder=builder, record=record)

    def claim(self, text: str) -> Generated | None:
        """Return the compile that generated a module in this process, once.

        None means that the module came from a cache.
        """
        with self._lock:
            return self._generated.pop(text, None)

    def close(self, builder: CompileBuilder) -> None:
        """End the record of a compile; nothing more is added to it."""
        with self._lock:
            if builder in self._open:
                self._open.remove(builder)

    def write(self, text: BundleText) -> None:
        """Publish a bundle and keep it, wherever the writing ends."""
        path = None
        with self.guard.watch(Point.PUBLISH):
            path = self.publish(text, self.root())
        with self._lock:
            self._bundles.append(RecordedBundle(text=text, path=path))
            if path is not None:
                self._unrendered.append(_Unrendered(text=text, path=path))
        if current_session() is not self:
            # Another thread was still compiling as the recording ended.
            self.finish()

    def finish(self) -> None:
        """Write the reports of the bundles that have none yet.

        It is called as the recording ends, and by `atexit`: a report is several times
        the work of its bundle, and nobody reads it while a compile waits for it. A
        child process leaves to its parent what the parent wrote.
        """
        with self._lock:
            waiting, self._unrendered = self._unrendered, []
        for each in waiting:
            if each.pid == os.getpid() and each.path.is_dir():
                with self.guard.watch(Point.RENDER):
                    self.render(each.text.bundle, each.path)

    def root(self) -> Path:
        """Return the directory for the bundles of this recording."""
        return self.out if self.out is not None else run_facts.default_root()

    def versions(self) -> tuple[tuple[str, str], ...]:
        """Return what the front end says of its version."""
        return () if self.front_end is None else self.front_end.versions

    def abandon(self, error: BaseException | None) -> None:
        """Publish the records that this thread began and that no module carries.

        A Dynamo graph that broke before there was an Inductor graph has one as well,
        if it was recorded or the failure says that it was one for the device.

        Args:
            error: What broke the compile off, or None.
        """
        if error is not None:
            with self.guard.watch(Point.FAILURE):
                self._begin_for_failure(error)
        for builder in self._take_open(threading.get_ident()):
            with self.guard.watch(Point.FAILURE):
                builder.error = None if error is None else describe_failure(error)
            points = Guard().observations(RUN_POINTS, {})
            run = run_facts.collect(builder, points, versions=self.versions())
            self.write(text_of(builder.build(run)))

    def _begin_for_failure(self, error: BaseException) -> None:
        frame = getattr(self._local, "frame", None)
        if frame is not None and frame.graph is not None:
            self.begin().adopt(frame)
        elif not self._has_open() and self._is_of_device(error):
            self.begin()

    def _is_of_device(self, error: BaseException) -> bool:
        """Return whether a failure is that of a graph with tensors of the device."""
        if self.front_end is None or not isinstance(error, BackendCompilerFailed):
            return False
        return any(DEVICE in subject.devices for subject in subjects_of(error))

    def _has_open(self) -> bool:
        thread = threading.get_ident()
        with self._lock:
            return any(each.thread == thread for each in self._open)

    def _take_open(self, thread: int) -> list[CompileBuilder]:
        self._local.pending = self._local.lowering = self._local.frame = None
        with self._lock:
            taken = [each for each in self._open if each.thread == thread]
            self._open = [each for each in self._open if each.thread != thread]
            self._generated = {
                text: each
                for text, each in self._generated.items()
                if each.builder.thread != thread
            }
        return taken
