"""The command line that all codemods share."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from torch_spyre_provenance.commands.conventions import ExitCode
from torch_spyre_provenance.errors import ProvenanceError

from .checkout import Checkout
from .codemod import Codemod
from .diff import unified_diff

_PATH = click.Path(path_type=Path)


def run(codemod: Codemod, argv: Sequence[str] | None = None) -> int:
    """Run a codemod's command line and return its exit code.

    Args:
        codemod: The codemod.
        argv: The arguments after the program's name; by default the process's own.

    Returns:
        0: done, or nothing to do; 1: an error, and nothing written; 2: the arguments
        make no sense.
    """
    try:
        code = _command(codemod).main(
            args=None if argv is None else list(argv),
            prog_name=f"python -m patches.{codemod.name}",
            standalone_mode=False,
        )
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return ExitCode.INTERRUPTED
    return int(code or ExitCode.OK)


def _command(codemod: Codemod) -> click.Command:
    @click.command(
        help=codemod.argument, context_settings={"help_option_names": ["-h", "--help"]}
    )
    @click.option("--diff", type=_PATH, metavar="PATH", help="Print what would change.")
    @click.option("--write", type=_PATH, metavar="PATH", help="Change it.")
    @click.option("--debug", is_flag=True, help="Show tracebacks.")
    def command(diff: Path | None, write: Path | None, *, debug: bool) -> ExitCode:
        path = diff or write
        if path is None or (diff and write):
            raise click.UsageError("give either --diff PATH or --write PATH")
        try:
            _apply(codemod, Checkout.at(path), write=write is not None)
        except ProvenanceError as error:
            if debug:
                traceback.print_exc()
            click.echo(f"{codemod.name}: {error}", err=True)
            return ExitCode.ERROR
        return ExitCode.OK

    return command


def _apply(codemod: Codemod, checkout: Checkout, *, write: bool) -> None:
    changes = codemod.changes(checkout)
    if not changes:
        click.echo(f"{codemod.name}: already applied", err=True)
        return
    if not write:
        click.echo(b"".join(map(unified_diff, changes)), nl=False)
        return
    checkout.write(changes)
    for change in changes:
        verb = "added" if change.before is None else "changed"
        click.echo(f"{codemod.name}: {verb} {change.path}", err=True)
