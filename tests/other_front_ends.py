"""Front ends that behave as releases of torch-spyre do which we cannot reach.

Each is the reference front end with one thing done another way. Generated modules
import this file by its name.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import evolve
from torch._inductor.codecache import CodeCacheFuture

from torch_spyre_provenance.frontends import reference
from torch_spyre_provenance.frontends.contract import FrontEnd
from torch_spyre_provenance.frontends.reference.async_compile import SpyreAsyncCompile
from torch_spyre_provenance.frontends.reference.op_spec import walk
from torch_spyre_provenance.frontends.reference.scheduling import SuperDSCScheduling
from torch_spyre_provenance.frontends.reference.wrapper import SpyrePythonWrapperCodegen

POOL_SIZE = 4096


def with_async_compile(kind: type[SpyreAsyncCompile]) -> FrontEnd:
    """Return the reference front end with another class behind `async_compile`."""

    class Wrapper(SpyrePythonWrapperCodegen):
        """Rebinds the name once more."""

        def write_header(self) -> None:
            super().write_header()
            self.header.writeline(f"from {__name__} import {kind.__name__}")
            self.header.writeline(f"async_compile = {kind.__name__}()")

        def define_kernel(self, name: str, body: str, *args: Any, **kw: Any) -> None:
            if kind is WithPool:
                body = f"{body.removesuffix(')')}, pool_size={POOL_SIZE})"
            super().define_kernel(name, body, *args, **kw)

    where = f"{__name__}:{kind.__name__}"
    return evolve(reference.load(), wrapper=Wrapper, async_compile=where)


class WithPool(SpyreAsyncCompile):
    """``sdsc(kernel_name, specs, pool_size)``, as of September 2026."""

    pools: list[int] = []  # noqa: RUF012 - of all of them

    def sdsc(self, kernel_name: str, specs: Any, pool_size: int = 0, **kw: Any) -> Any:
        """Note the size of the pool."""
        self.pools.append(pool_size)
        return super().sdsc(kernel_name, specs, **kw)


class _Later(CodeCacheFuture):
    def __init__(self, runner: Any) -> None:
        self.runner = runner

    def result(self, timeout: float | None = None) -> Any:
        return self.runner


class WithFuture(SpyreAsyncCompile):
    """`sdsc` returns a future, and `wait` puts the runner in its place."""

    def sdsc(self, kernel_name: str, specs: Any, **kw: Any) -> Any:
        """Return a future."""
        return _Later(super().sdsc(kernel_name, specs, **kw))

    def wait(self, scope: dict[str, Any]) -> None:
        """Wait for every future."""
        for name, value in scope.items():
            if isinstance(value, _Later):
                scope[name] = value.result()
        super().wait(scope)


class WithoutFuture(SpyreAsyncCompile):
    """`sdsc` returns a future that never comes: its compiler broke down."""

    def sdsc(self, kernel_name: str, specs: Any, **kw: Any) -> Any:
        """Return a future whose runner runs, and whose result raises."""
        runner = super().sdsc(kernel_name, specs, **kw)
        runner.result = self.broken
        return runner

    @staticmethod
    def broken() -> None:
        """Raise."""
        raise OSError("the compiler's process is gone")


class WithSharedFiles(SpyreAsyncCompile):
    """Equal ops of a kernel share one SDSC file."""

    def sdsc(self, kernel_name: str, specs: Any, **kw: Any) -> Any:
        """Let every op run the first file of its kind."""
        runner = super().sdsc(kernel_name, specs, **kw)
        directory = Path(runner.code_dir)
        mlir = (directory / "bundle.mlir").read_text()
        first: dict[str, str] = {}
        for path in sorted(directory.glob("sdsc_*.json")):
            (key,) = json.loads(path.read_text())
            kept = first.setdefault(key.partition("_")[2], path.name)
            if kept != path.name:
                mlir = mlir.replace(f'"{path.name}"', f'"{kept}"')
                path.unlink()
        (directory / "bundle.mlir").write_text(mlir)
        return runner


class WithKernelCache(SpyreAsyncCompile):
    """A kernel whose specs are known, provenance aside, gets its directory again."""

    kernels: dict[str, Any] = {}  # noqa: RUF012 - of all of them

    def sdsc(self, kernel_name: str, specs: Any, **kw: Any) -> Any:
        """Return the runner of an equal kernel, or make one."""
        key = _without_provenance(specs)
        if key not in self.kernels:
            self.kernels[key] = super().sdsc(kernel_name, specs, **kw)
        return self.kernels[key]


def _without_provenance(specs: Sequence[Any]) -> str:
    return re.sub(
        r"buf\d+",
        "buf",
        "\n".join(
            repr(dataclasses.replace(spec, debug_handle=None)) for spec in walk(specs)
        ),
    )


class _FrontEndOnlyRunner:
    """Has no directory, and runs what the other would."""

    def __init__(self, runner: Any) -> None:
        self.run = runner.run


class FrontEndOnly(SpyreAsyncCompile):
    """Stops after the front end: a kernel has a runner, and no directory."""

    def sdsc(self, kernel_name: str, specs: Any, **kw: Any) -> Any:
        """Return a runner without a directory."""
        return _FrontEndOnlyRunner(super().sdsc(kernel_name, specs, **kw))


class PreparingScheduling(SuperDSCScheduling):
    """Prepares kernels before they are emitted, and prepares each once more."""

    n_prepared = 0

    def _codegen_run(self, nodes: Any) -> None:
        kernel = self.kernel_class()
        self._codegen_into_kernel(nodes, kernel, nodes)
        self.define_kernel(kernel.codegen_kernel(), nodes, kernel)
        PreparingScheduling.n_prepared += 1
        super()._codegen_run(nodes)


def preparing() -> FrontEnd:
    """Return the reference front end with kernels prepared ahead of their emission."""
    return evolve(reference.load(), scheduling=PreparingScheduling)
