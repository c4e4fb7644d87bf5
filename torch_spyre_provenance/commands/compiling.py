"""Commands that load a front end: ``audit``, ``bench`` and ``doctor``."""

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

_MODEL = click.option(
    "--model",
    "spec",
    metavar="MODULE:FACTORY",
    default=DEFAULT_SUBJECT,
    help="A function that returns a module and its example inputs; by default one that "
    "makes a small MLP.",
)


@click.command()
@_MODEL
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where the bundles go; by default next to the kernels.",
)
@TORCH_SPYRE
@JSON
@reporting_errors
def audit(
    spec: str, out: Path | None, torch_spyre: Path | None, *, as_json: bool
) -> ExitCode:
    """Compile a model on the Spyre device and write its audit bundle.

    Progress goes to standard error, the summary to standard output. A model that
    compiles into several graphs has a bundle for each: with --json, the object
    describes the first, and lists the others under "more".
    """
    from ..audit import audit as run_audit
    from ..summary import audit_facts, summary_text

    with stdout_kept():
        audited = run_audit(spec, out=out, torch_spyre=torch_spyre, notify=tell)
    if as_json:
        first, *more = (audit_facts(bundle, path) for bundle, path in audited)
        click.echo(json.dumps({**first, "more": more} if more else first, indent=2))
    else:
        texts = (summary_text(bundle, path) for bundle, path in audited)
        click.echo("\n\n".join(texts))
    return ExitCode.OK


@click.command()
@_MODEL
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


@click.command()
@TORCH_SPYRE
@JSON
@reporting_errors
def doctor(torch_spyre: Path | None, *, as_json: bool) -> ExitCode:
    """Print what a recording would find: front ends, seams, caches, paths.

    The exit code is 3 where no Spyre front end can be used.
    """
    from ..doctor import examination_facts, examination_text, examine

    with stdout_kept():
        examination = examine(torch_spyre)
    if as_json:
        click.echo(json.dumps(examination_facts(examination), indent=2))
    else:
        click.echo(examination_text(examination))
    return ExitCode.OK if examination.front_end else ExitCode.VERDICT
