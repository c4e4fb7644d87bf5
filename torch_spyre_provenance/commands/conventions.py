"""What all commands share: exit codes, options, and how errors are told."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import wraps
from pathlib import Path

import click

from ..errors import ProvenanceError

PROGRAM = "spyre-provenance"
_STDOUT, _STDERR = 1, 2

BUNDLE = click.Path(exists=True, path_type=Path)
TORCH_SPYRE = click.option(
    "--torch-spyre",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Compile through this torch-spyre checkout, without a card: kernels are made "
    "and not run.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


class ExitCode(IntEnum):
    """What the command's exit code says."""

    OK = 0
    ERROR = 1
    USAGE = 2
    VERDICT = 3
    INTERRUPTED = 130  # what shells expect after SIGINT


def reporting_errors(command: Callable[..., ExitCode]) -> Callable[..., ExitCode]:
    """Give a command ``--debug``, and turn the package's errors into one line."""

    @click.option("--debug", is_flag=True, help="Show tracebacks.")
    @wraps(command)
    def run(*, debug: bool, **options: object) -> ExitCode:
        try:
            return command(**options)
        except ProvenanceError as error:
            if debug:
                import traceback

                traceback.print_exc()
            click.echo(f"{PROGRAM}: {error}", err=True)
            return ExitCode.ERROR

    return run


def reading(command: Callable[..., ExitCode]) -> Callable[..., ExitCode]:
    """Keep the garbage collector away from what a command reads.

    A bundle is many small objects, all alive until the command ends: walking them again
    and again, and once more as Python ends, is a quarter of the time of an answer.
    """

    @wraps(command)
    def run(**options: object) -> ExitCode:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return command(**options)
        finally:
            gc.freeze()
            if was_enabled:
                gc.enable()

    return run


def tell(step: str) -> None:
    """Print a step of the work to standard error."""
    click.echo(f"{PROGRAM}: {step} …", err=True)


@contextlib.contextmanager
def stdout_kept() -> Iterator[None]:
    """Send to standard error what models and compilers print, child processes too."""
    sys.stdout.flush()
    kept = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        # C libraries print through a buffer that Python cannot flush; none of ours do.
        os.dup2(kept, _STDOUT)
        os.close(kept)
