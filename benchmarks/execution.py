"""Compiling a generated program, and what was recorded of it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import frozen

import torch_spyre_provenance
from torch_spyre_provenance.errors import ProvenanceError
from torch_spyre_provenance.model import Bundle

from .programs import Program

DEVICE = "spyre"


@frozen(kw_only=True)
class Setup:
    """How programs are compiled.

    Attributes:
        work: Directory for the programs and their bundles.
        checkout: A torch-spyre checkout to compile through; None for the reference.
        backend: Name of the Dynamo backend: ``inductor`` or ``spyre_provenance``.
    """

    work: Path
    checkout: Path | None = None
    backend: str = "inductor"


@frozen(kw_only=True)
class Run:
    """What became of a program.

    Attributes:
        program: The program.
        directory: Where its files are.
        bundles: What was recorded of its compiles, in order.
        error: What kept it from being compiled whole, as one line; None otherwise.
    """

    program: Program
    directory: Path
    bundles: tuple[Bundle, ...] = ()
    error: str | None = None


def run(program: Program, setup: Setup) -> Run:
    """Compile a program once while it is recorded, on random inputs."""
    import torch

    directory = setup.work / program.name.replace(":", "_")
    directory.mkdir(parents=True, exist_ok=True)
    torch._dynamo.reset()  # noqa: SLF001 - its name
    torch.manual_seed(program.seed)
    error: str | None = None
    with torch_spyre_provenance.record(
        out=directory / "bundles",
        torch_spyre=setup.checkout,
        front_end=None if setup.checkout else "reference",
        strict=True,
    ) as recording:
        try:
            with loaded(program, directory) as module:
                _compile(program, module, setup.backend)
        except (RuntimeError, ProvenanceError) as failure:
            error = f"{type(failure).__name__}: {failure}".partition("\n")[0]
        bundles = tuple(each.bundle for each in recording.bundles)
    if setup.checkout is not None and are_whole(bundles):
        # Without a card the kernels are made and cannot be run.
        missing = program.trains and len(bundles) == 1
        error = "it has no gradients on this front end" if missing else None
    return Run(program=program, directory=directory, bundles=bundles, error=error)


def are_whole(bundles: tuple[Bundle, ...]) -> bool:
    """Return whether something was compiled, and each graph to its end."""
    return bool(bundles) and all(
        bundle.kernels is not None and bundle.compile.error is None
        for bundle in bundles
    )


@contextmanager
def loaded(program: Program, directory: Path) -> Iterator[Any]:
    """Write a program's files and import them; forget the modules afterwards.

    Yields:
        The module of the last file, which has ``Model``.
    """
    names = []
    try:
        for name, text in program.files:
            path = directory / name
            path.write_text(text, encoding="utf-8")
            spec = importlib.util.spec_from_file_location(path.stem, path)
            assert spec is not None  # noqa: S101 - the suffix is .py
            assert spec.loader is not None  # noqa: S101 - the same
            module = importlib.util.module_from_spec(spec)
            sys.modules[path.stem] = module
            names.append(path.stem)
            spec.loader.exec_module(module)
        yield module
    finally:
        for name in names:
            del sys.modules[name]


def _compile(program: Program, module: Any, backend: str) -> None:
    import torch

    from torch_spyre_provenance.backend import spyre_provenance

    model = module.Model().to(DEVICE)
    inputs = [
        (torch.randn(shape, dtype=torch.float16) / 8).to(DEVICE)
        for shape in program.inputs
    ]
    compiled: Callable[..., Any] = torch.compile(
        model,
        backend=spyre_provenance if backend == spyre_provenance.__name__ else backend,
        dynamic=False,
        fullgraph=True,
    )
    if not program.trains:
        with torch.no_grad():
            compiled(*inputs)
        return
    # Where the forward cannot run, the backward would otherwise never be compiled.
    with torch._functorch.config.patch(force_non_lazy_backward_lowering=True):  # noqa: SLF001
        result = compiled(*(x.requires_grad_() for x in inputs))
        result.backward(torch.ones_like(result))
