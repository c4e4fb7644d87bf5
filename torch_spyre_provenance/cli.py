"""The command ``spyre-provenance``: arguments in, one library call, exit code out."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import click

from .commands.conventions import PROGRAM, ExitCode

DISTRIBUTION = "torch-spyre-provenance"
_COMMANDS = {
    "audit": "compiling",
    "bench": "compiling",
    "check": "judging",
    "diff": "judging",
    "doctor": "compiling",
    "export": "exporting",
    "merge": "keeping",
    "prune": "keeping",
    "redact": "keeping",
    "report": "looking",
    "show": "looking",
    "trace": "tracing",
    "verify": "keeping",
}
"""The module of each command, in the room of commands."""


class Commands(click.Group):
    """A group whose commands are imported one by one, when they are asked for.

    What the others need would be a third of the time that an answer takes.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's
        """Return the names of all commands."""
        return sorted(_COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002  click's signature
        cmd_name: str,
    ) -> click.Command | None:
        """Return a command, or None where there is none of that name."""
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"{__package__}.commands.{_COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, cmd_name)
        return command


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


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=DISTRIBUTION, message="%(prog)s %(version)s")
def cli() -> None:
    """Tell which line of a PyTorch model became which Spyre kernel, and back."""
