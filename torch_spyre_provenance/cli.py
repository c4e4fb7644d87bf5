"""The command ``spyre-provenance``: arguments in, one library call, exit code out."""

from __future__ import annotations

from collections.abc import Sequence

import click

from .commands.compiling import audit, doctor
from .commands.conventions import PROGRAM, ExitCode
from .commands.judging import check, diff
from .commands.keeping import merge, prune, redact, verify
from .commands.looking import report, show
from .commands.tracing import trace

DISTRIBUTION = "torch-spyre-provenance"
_COMMANDS = (
    audit,
    report,
    show,
    diff,
    check,
    trace,
    doctor,
    verify,
    merge,
    redact,
    prune,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        argv: The arguments after the program's name; by default the process's own.
    """
    try:
        code = cli.main(
            args=None if argv is None else list(argv),
            prog_name=PROGRAM,
            standalone_mode=False,
        )
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return ExitCode.INTERRUPTED
    return int(code or ExitCode.OK)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=DISTRIBUTION, message="%(prog)s %(version)s")
def cli() -> None:
    """Tell which line of a PyTorch model became which Spyre kernel, and back."""


for _command in _COMMANDS:
    cli.add_command(_command)
