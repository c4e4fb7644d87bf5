"""The conditions of the overhead benchmark: the package's own, and the alternatives."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from torch._inductor import config

from torch_spyre_provenance.measuring.conditions import (
    CONDITIONS,
    Condition,
    Finish,
    nothing,
)

from .overhead_patching import patched


def tracking(level: int) -> Callable[[Path], AbstractContextManager[Finish]]:
    """Return what turns on Inductor's own provenance tracking at a level."""

    @contextmanager
    def enter(_: Path) -> Iterator[Finish]:
        with config.patch({"trace.provenance_tracking_level": level}):
            yield nothing

    return enter


@contextmanager
def debug(out: Path) -> Iterator[Finish]:
    """Do what ``TORCH_COMPILE_DEBUG=1`` does: Inductor dumps what it made."""
    with config.patch({"trace.enabled": True, "trace.debug_dir": str(out)}):
        os.environ["TORCH_COMPILE_DEBUG"] = "1"
        logging.getLogger("torch").setLevel(logging.ERROR)
        try:
            yield nothing
        finally:
            del os.environ["TORCH_COMPILE_DEBUG"]


ALL_CONDITIONS = (
    *CONDITIONS,
    Condition(name="Inductor, level 1", enter=tracking(1), is_alternative=True),
    Condition(name="Inductor, level 2", enter=tracking(2), is_alternative=True),
    Condition(name="TORCH_COMPILE_DEBUG", enter=debug, is_alternative=True),
    Condition(name="patching recorder", enter=patched, is_alternative=True),
)
"""The package's own, then the alternatives."""
