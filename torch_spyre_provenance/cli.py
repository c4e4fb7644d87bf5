"""The command ``spyre-provenance``: arguments in, one library call, exit code out."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum, StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .errors import ProvenanceError
from .subjects import DEFAULT_SUBJECT

if TYPE_CHECKING:
    from .model import Bundle

PROGRAM = "spyre-provenance"
DISTRIBUTION = "torch-spyre-provenance"
_STDOUT, _STDERR = 1, 2


class ExitCode(IntEnum):
    """What the command's exit code says."""

    OK = 0
    ERROR = 1
    USAGE = 2
    VERDICT = 3
    INTERRUPTED = 130  # what shells expect after SIGINT


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


def _reporting_errors(command: Callable[..., ExitCode]) -> Callable[..., ExitCode]:
    """Give a command ``--debug``, and turn the package's errors into one line."""

    @click.option("--debug", is_flag=True, help="Show tracebacks.")
    @wraps(command)
    def run(*, debug: bool, **options: object) -> ExitCode:
        try:
            return command(**options)
        except ProvenanceError as error:
            if debug:
                traceback.print_exc()
            click.echo(f"{PROGRAM}: {error}", err=True)
            return ExitCode.ERROR

    return run


def _reading(command: Callable[..., ExitCode]) -> Callable[..., ExitCode]:
    """Keep the garbage collector away while a command reads a bundle.

    A bundle is many small objects, all alive until the command ends: walking them again
    and again is a sixth of the time that an answer takes.
    """

    @wraps(command)
    def run(**options: object) -> ExitCode:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return command(**options)
        finally:
            if was_enabled:
                gc.enable()

    return run


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=DISTRIBUTION, message="%(prog)s %(version)s")
def cli() -> None:
    """Tell which line of a PyTorch model became which Spyre kernel, and back."""


_BUNDLE = click.Path(exists=True, path_type=Path)
_TORCH_SPYRE = click.option(
    "--torch-spyre",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Compile through this torch-spyre checkout, without a card: kernels are made "
    "and not run.",
)


@cli.command()
@click.option(
    "--model",
    "spec",
    metavar="MODULE:FACTORY",
    default=DEFAULT_SUBJECT,
    help="A function that returns a module and its example inputs; by default one that "
    "makes a small MLP.",
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where the bundles go; by default next to the kernels.",
)
@_TORCH_SPYRE
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@_reporting_errors
def audit(
    spec: str, out: Path | None, torch_spyre: Path | None, *, as_json: bool
) -> ExitCode:
    """Compile a model on the Spyre device and write its audit bundle.

    Progress goes to standard error, the summary to standard output. A model that
    compiles into several graphs has a bundle for each: with --json, the object
    describes the first, and lists the others under "more".
    """
    from .audit import audit as run_audit
    from .summary import audit_facts, summary_text

    with _stdout_kept():
        audited = run_audit(spec, out=out, torch_spyre=torch_spyre, notify=_tell)
    if as_json:
        first, *more = (audit_facts(bundle, path) for bundle, path in audited)
        click.echo(json.dumps({**first, "more": more} if more else first, indent=2))
    else:
        texts = (summary_text(bundle, path) for bundle, path in audited)
        click.echo("\n\n".join(texts))
    return ExitCode.OK


_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


class ReportFormat(StrEnum):
    """The forms of a report on standard output."""

    MARKDOWN = "md"
    TEXT = "text"
    MERMAID = "mermaid"
    JSON = "json"


@cli.command()
@click.argument("bundle", type=_BUNDLE)
@click.option(
    "--format",
    "form",
    type=click.Choice([str(each) for each in ReportFormat]),
    default=str(ReportFormat.MARKDOWN),
    show_default=True,
    help="What to print.",
)
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the page to this file instead: it needs nothing but a browser.",
)
@_reporting_errors
@_reading
def report(bundle: Path, form: str, html: Path | None) -> ExitCode:
    """Print the report of a bundle, rendered anew, or write it as a page.

    Reports quote the source of the model.
    """
    from .store import read_bundle

    if html is not None:
        from .report.html import render
        from .store.atomic import write_bytes

        write_bytes(html, render(read_bundle(bundle)))
        return ExitCode.OK
    directory = bundle if bundle.is_dir() else bundle.parent
    click.echo(_rendered(read_bundle(bundle), directory, ReportFormat(form)), nl=False)
    return ExitCode.OK


def _rendered(bundle: Bundle, directory: Path, form: ReportFormat) -> str:
    from .analysis.attribution import Attributor

    facts = Attributor(bundle)
    match form:
        case ReportFormat.MARKDOWN:
            from .report import markdown

            return markdown.render_facts(facts)
        case ReportFormat.MERMAID:
            from .report.mermaid import render_facts

            return render_facts(facts)
        case ReportFormat.JSON:
            from .report.facts import report_facts

            return json.dumps(report_facts(facts), indent=2) + "\n"
        case ReportFormat.TEXT:
            from .summary import summary_text

            return summary_text(bundle, directory) + "\n"


@cli.command()
@click.argument("bundle", type=_BUNDLE)
@click.argument("what", required=False)
@_JSON
@_reporting_errors
@_reading
def show(bundle: Path, what: str | None, *, as_json: bool) -> ExitCode:
    """Print the summary of a bundle, or what it knows of WHAT.

    WHAT is a line (model.py:42), a kernel, one op of it (KERNEL:spec.path), a handle's
    decimal id, a module (layers.0.fc1), a source file, a kernel's directory or one of
    its sdsc_N.json.
    """
    from .store import read_bundle

    value = read_bundle(bundle)
    if what is None:
        from .summary import audit_facts, summary_text

        directory = bundle if bundle.is_dir() else bundle.parent
        if as_json:
            click.echo(json.dumps(audit_facts(value, directory), indent=2))
        else:
            click.echo(summary_text(value, directory))
        return ExitCode.OK

    from .analysis.attribution import Attributor
    from .analysis.questions import answer
    from .report.answers import answer_facts, answer_text

    facts = Attributor(value)
    found = answer(facts, what)
    if as_json:
        click.echo(json.dumps(answer_facts(facts, found), indent=2))
    else:
        click.echo(answer_text(facts, found))
    return ExitCode.OK


@cli.command()
@click.argument("before", type=_BUNDLE)
@click.argument("after", type=_BUNDLE)
@click.option("--fail", is_flag=True, help="Exit with 3 where provenance got worse.")
@_JSON
@_reporting_errors
@_reading
def diff(before: Path, after: Path, *, fail: bool, as_json: bool) -> ExitCode:
    """Print what changed from one bundle to another, op by op.

    Provenance got worse where an op lost its line or has it by inference instead of
    measurement, where a new op has none, and where a pass loses more than before. Such
    lines begin with an exclamation mark.
    """
    from .analysis.diff import compare
    from .report.differences import difference_facts, difference_text
    from .store import read_bundle

    found = compare(read_bundle(before), read_bundle(after))
    if as_json:
        click.echo(json.dumps(difference_facts(found), indent=2))
    else:
        click.echo(difference_text(found))
    return ExitCode.VERDICT if fail and found.is_regression else ExitCode.OK


class Share(click.ParamType[float]):
    """A share of a whole, as ``25%`` or ``0.25``."""

    name = "share"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the share as a number from 0 to 1."""
        text = str(value)
        try:
            share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        except ValueError:
            self.fail(f"{text!r} is no share such as 25% or 0.25", param, ctx)
        if not 0 <= share <= 1:
            self.fail(f"{text!r} is not from 0% to 100%", param, ctx)
        return share


@cli.command()
@click.argument("bundles", metavar="BUNDLE...", type=_BUNDLE, nargs=-1, required=True)
@click.option(
    "--min-attributed",
    metavar="SHARE",
    type=Share(),
    help="Least share of device ops that have a line, as 100%.",
)
@click.option(
    "--max-inferred",
    metavar="SHARE",
    type=Share(),
    help="Greatest share of device ops whose line is inferred, as 25%.",
)
@click.option("--no-loss", is_flag=True, help="No pass may lose provenance.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@_reporting_errors
@_reading
def check(
    bundles: tuple[Path, ...],
    min_attributed: float | None,
    max_inferred: float | None,
    *,
    no_loss: bool,
    as_json: bool,
) -> ExitCode:
    """Hold bundles against limits; the exit code is 3 where one breaks a limit.

    A BUNDLE is a bundle's directory or its bundle.json. One whose recording or whose
    compile failed breaks a limit in any case.
    """
    from .analysis.gate import Limits, judge
    from .store import read_bundle
    from .summary import verdict_facts, verdict_text

    limits = Limits(
        min_attributed=min_attributed, max_inferred=max_inferred, no_loss=no_loss
    )
    verdicts = [(path, judge(read_bundle(path), limits)) for path in bundles]
    if as_json:
        facts = {str(path): verdict_facts(verdict) for path, verdict in verdicts}
        click.echo(json.dumps(facts, indent=2))
    else:
        click.echo("\n".join(verdict_text(path, each) for path, each in verdicts))
    is_good = all(verdict.is_good for _, verdict in verdicts)
    return ExitCode.OK if is_good else ExitCode.VERDICT


@cli.command()
@_TORCH_SPYRE
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@_reporting_errors
def doctor(torch_spyre: Path | None, *, as_json: bool) -> ExitCode:
    """Print what a recording would find: front ends, seams, caches, paths.

    The exit code is 3 where no Spyre front end can be used.
    """
    from .doctor import examination_facts, examination_text, examine

    with _stdout_kept():
        examination = examine(torch_spyre)
    if as_json:
        click.echo(json.dumps(examination_facts(examination), indent=2))
    else:
        click.echo(examination_text(examination))
    return ExitCode.OK if examination.front_end else ExitCode.VERDICT


def _tell(step: str) -> None:
    click.echo(f"{PROGRAM}: {step} …", err=True)


@contextlib.contextmanager
def _stdout_kept() -> Iterator[None]:
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
