"""The command that tells what recording costs: ``bench``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ..subjects import DEFAULT_SUBJECT
from .conventions import (
    JSON,
    TORCH_SPYRE,
    ExitCode,
    reporting_errors,
    stdout_kept,
    tell,
)


@click.command()
@click.option(
    "--model",
    "spec",
    metavar="MODULE:FACTORY",
    default=DEFAULT_SUBJECT,
    help="A function that returns a module and its example inputs; by default one that "
    "makes a small MLP.",
)
@click.option(
    "--rounds",
    metavar="N",
    type=click.IntRange(min=2),
    default=10,
    show_default=True,
    help="Compiles under each condition.",
)
@TORCH_SPYRE
@JSON
@reporting_errors
def bench(
    spec: str, rounds: int, torch_spyre: Path | None, *, as_json: bool
) -> ExitCode:
    """Measure what recording costs on a model of yours.

    The model is compiled anew and from the cache, and is called, with recording off
    and on by turns, in one process. The condition "off again" is off as well: what it
    differs by is the noise of the machine.
    """
    from ..cost import cost_of

    with stdout_kept():
        cost = cost_of(spec, n_rounds=rounds, torch_spyre=torch_spyre, notify=tell)
    click.echo(json.dumps(cost.facts(), indent=2) if as_json else cost.text())
    return ExitCode.OK
