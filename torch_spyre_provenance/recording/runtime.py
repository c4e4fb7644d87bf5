"""What a generated module runs when it is loaded, from a cache too.

Nothing here runs when a compiled kernel is called.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from attrs import define, field

from ..model import CacheState, KernelFiles
from ..store.kernel_files import read_kernel_files
from ..store.record import BundleText, unpack
from . import run_facts
from .current import current_session
from .guard import Guard
from .points import RUN_POINTS, Point
from .session import Generated, Session
from .stack_room import RECORDER_ROOM, with_room

NO_DIRECTORY = (
    "no kernel has a directory: a runner names none where the device lacks an op of "
    "its kernel, or where torch-spyre stops after its front end "
    "(TORCH_SPYRE_FRONTEND_ONLY)"
)


def recorded(async_compile: Any) -> Any:
    """Return an `async_compile` that notes the kernels' directories.

    Args:
        async_compile: The front end's, as the module's header made it.

    Returns:
        One of a subclass, or the same where this process does not record.
    """
    session = current_session()
    if session is None:
        return _Silent(async_compile)
    base: Any = type(async_compile)
    loading = provenance_async_compile(base)()
    loading.load = ModuleLoad(session=session, guard=session.new_guard())
    return loading


class _Silent:
    """Stands for `async_compile` where a recorded module runs without a recorder.

    Attribute access goes through, so that it compiles kernels as before.
    """

    def __init__(self, async_compile: Any) -> None:
        self._async_compile = async_compile

    def __getattr__(self, name: str) -> Any:
        return getattr(self._async_compile, name)

    def provenance(self, text: str) -> None:
        """Ignore the record."""


@define(eq=False)
class ModuleLoad:
    """One load of a generated module.

    Attributes:
        session: The recording.
        guard: Counts of the points that run with every load.
        runners: What `sdsc` returned for each kernel, in order.
        text: The record that the module carries, or None.
    """

    session: Session
    guard: Guard
    runners: dict[str, Any] = field(factory=dict)
    text: str | None = None

    def finish(self, scope: dict[str, Any]) -> None:
        """Put the record together and publish it.

        Args:
            scope: The module's globals.
        """
        if self.text is not None:
            with self.session.guard.watch(Point.LOAD):
                self._publish(self.text, scope.get("__file__"))

    @with_room(RECORDER_ROOM)
    def _publish(self, text: str, module: str | None) -> None:
        generated = self.session.claim(text)
        files = tuple(self._files())
        bundle = self._bundle(text, generated, module, files)
        if generated is not None:
            self.session.close(generated.builder)
        hit = generated is None
        self.session.trace_log.add(bundle, self.session.guard, is_hit=hit)
        self.session.write(bundle)

    def _files(self) -> list[KernelFiles]:
        found: list[KernelFiles] = []
        for name, runner in self.runners.items():
            with self.guard.watch(Point.FILES) as watch:
                ready = runner.result() if hasattr(runner, "result") else runner
                directory = getattr(ready, "code_dir", None)
                if directory is None:
                    watch.found_nothing()
                else:
                    found.append(read_kernel_files(name, Path(directory)))
        return found

    def _bundle(
        self,
        text: str,
        generated: Generated | None,
        module: str | None,
        files: tuple[KernelFiles, ...],
    ) -> BundleText:
        record = unpack(text) if generated is None else generated.record
        run = run_facts.collect(
            None if generated is None else generated.builder,
            self.guard.observations(RUN_POINTS, {Point.FILES.value: NO_DIRECTORY}),
            graph=record.graph,
            cache=CacheState.HIT if generated is None else CacheState.MISS,
            module=module,
            files=files,
            versions=self.session.versions(),
        )
        return record.with_run(run)


@cache
def provenance_async_compile(base: type[Any]) -> type[Any]:
    """Return the recording subclass of a front end's `SpyreAsyncCompile`."""

    class ProvenanceAsyncCompile(base):  # type: ignore[misc]
        """Notes what each `sdsc` returns, and publishes when the module is whole."""

        load: ModuleLoad

        def sdsc(self, kernel_name: str, *args: Any, **options: Any) -> Any:
            """Compile a kernel and note the result."""
            runner = super().sdsc(kernel_name, *args, **options)
            with self.load.guard.watch(Point.SDSC):
                self.load.runners[kernel_name] = runner
            return runner

        def provenance(self, text: str) -> None:
            """Take the record that the module carries."""
            self.load.text = text

        def wait(self, scope: dict[str, Any]) -> None:
            """Wait for the module's kernels, then publish the record."""
            super().wait(scope)
            self.load.finish(scope)

    return ProvenanceAsyncCompile
