"""Recording the compile of a small program, and naming the lines that its ops have.

A line of a program under test ends in a comment, its name: ``y = x + 1  # sum``. So the
tests speak of ``sum`` and not of a line number.
"""

from __future__ import annotations

import importlib.util
import linecache
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

import torch_spyre_provenance
from torch_spyre_provenance.analysis.attribution import Location, attribute
from torch_spyre_provenance.frontends import reference
from torch_spyre_provenance.model import Bundle

Record = Callable[..., tuple[Bundle, ...]]
"""Compiles, runs and records a function; returns a bundle per graph."""


def record_into(out: Path) -> Record:
    """Return a function that records one compile on the reference front end.

    Args:
        out: Where the bundles go.
    """
    reference.load()

    def record(
        function: Callable[..., Any], *inputs: torch.Tensor, trains: bool = False
    ) -> tuple[Bundle, ...]:
        torch._dynamo.reset()
        on_device = [each.to("spyre").requires_grad_(trains) for each in inputs]
        with torch_spyre_provenance.record(out=out, strict=True) as recording:
            with torch.set_grad_enabled(trains):
                result = torch.compile(function)(*on_device)
            if trains:
                result.sum().backward()
        return tuple(each.bundle for each in recording.bundles)

    return record


def load_program(path: Path, text: str) -> ModuleType:
    """Write a program and import it.

    Args:
        path: Its file; the directories above it are made.
        text: Its source.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    linecache.checkcache(str(path))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def half(*shape: int) -> torch.Tensor:
    """Return ones in half precision."""
    return torch.ones(shape, dtype=torch.float16)


def line_name(place: Location) -> str:
    """Return the name of a line: the comment at its end, or ``file:line``."""
    text = linecache.getline(place.frame.file, place.frame.line)
    _, mark, name = text.rstrip().rpartition("# ")
    return name if mark else place.where


def op_lines(bundle: Bundle) -> list[tuple[str, list[str]]]:
    """Return each device op's name with the names of its lines, in execution order."""
    return [(f.op, list(map(line_name, f.locations))) for f in attribute(bundle)]
