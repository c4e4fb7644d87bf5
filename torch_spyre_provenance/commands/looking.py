"""Commands that print what a bundle says: ``report`` and ``show``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .conventions import BUNDLE, JSON, ExitCode, reading, reporting_errors

if TYPE_CHECKING:
    from ..model import Bundle


class ReportFormat(StrEnum):
    """The forms of a report on standard output."""

    MARKDOWN = "md"
    TEXT = "text"
    MERMAID = "mermaid"
    MLIR = "mlir"
    JSON = "json"


@click.command()
@click.argument("bundles", metavar="BUNDLE...", type=BUNDLE, nargs=-1, required=True)
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
@click.option(
    "--with-files",
    is_flag=True,
    help="Put into the page the SDSC files that are unchanged on disk.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@reporting_errors
@reading
def report(
    bundles: tuple[Path, ...],
    form: str,
    html: Path | None,
    *,
    with_files: bool,
    as_json: bool,
) -> ExitCode:
    """Print the report of a bundle, rendered anew, or write it as a page.

    A page has all bundles that are given; a directory stands for those below it. Other
    forms are of one bundle. Reports quote the source of the model.
    """
    from ..store import find_bundles, read_bundle

    paths = [each for path in bundles for each in find_bundles(path) or (path,)]
    if html is not None:
        _write_page(html, [read_bundle(path) for path in paths], with_files=with_files)
        return ExitCode.OK
    if with_files:
        raise click.UsageError("--with-files is for a page: add --html FILE")
    if len(paths) > 1:
        raise click.UsageError(f"{len(paths)} bundles are for a page: add --html FILE")
    bundle = paths[0]
    directory = bundle if bundle.is_dir() else bundle.parent
    wanted = ReportFormat.JSON if as_json else ReportFormat(form)
    click.echo(_rendered(read_bundle(bundle), directory, wanted), nl=False)
    return ExitCode.OK


def _write_page(path: Path, bundles: Sequence[Bundle], *, with_files: bool) -> None:
    from ..report.html import render
    from ..store.atomic import write_bytes

    documents: Mapping[str, str] = {}
    if with_files:
        from ..store.kernel_files import read_documents

        files = [each for bundle in bundles for each in bundle.run.files]
        documents = read_documents(files)
    write_bytes(path, render(*bundles, documents=documents))


def _rendered(bundle: Bundle, directory: Path, form: ReportFormat) -> str:
    from ..analysis.attribution import Attributor

    facts = Attributor(bundle)
    match form:
        case ReportFormat.MARKDOWN:
            from ..report import markdown

            return markdown.render_facts(facts)
        case ReportFormat.MERMAID:
            from ..report.mermaid import render_facts

            return render_facts(facts)
        case ReportFormat.MLIR:
            from ..report import mlir

            return mlir.render_facts(facts)
        case ReportFormat.JSON:
            from ..report.facts import report_facts

            return json.dumps(report_facts(facts), indent=2) + "\n"
        case ReportFormat.TEXT:
            from ..summary import summary_text

            return summary_text(bundle, directory) + "\n"


@click.command()
@click.argument("bundle", type=BUNDLE)
@click.argument("what", required=False)
@JSON
@reporting_errors
@reading
def show(bundle: Path, what: str | None, *, as_json: bool) -> ExitCode:
    """Print the summary of a bundle, or what it knows of WHAT.

    WHAT is a line (model.py:42), a kernel, one op of it (KERNEL:spec.path), the name of
    a profiler's event, a kernel's key, a handle's decimal id, a module (layers.0.fc1),
    a source file, a kernel's directory or one of its sdsc_N.json.
    """
    from ..store import read_bundle

    value = read_bundle(bundle)
    if what is None:
        from ..summary import audit_facts, summary_text

        directory = bundle if bundle.is_dir() else bundle.parent
        if as_json:
            click.echo(json.dumps(audit_facts(value, directory), indent=2))
        else:
            click.echo(summary_text(value, directory))
        return ExitCode.OK

    from ..analysis.attribution import Attributor
    from ..analysis.questions import answer
    from ..report.answers import answer_facts, answer_text

    facts = Attributor(value)
    found = answer(facts, what, _keys(bundle, what))
    if as_json:
        click.echo(json.dumps(answer_facts(facts, found), indent=2))
    else:
        click.echo(answer_text(facts, found))
    return ExitCode.OK


def _keys(path: Path, what: str) -> Mapping[str, str]:
    """Return torch-spyre's keys of the kernels, where a key is asked for."""
    from ..analysis.event_names import asked_key

    if asked_key(what) is None:
        return {}
    from ..store.spyre_sidecar import read_sidecar

    sidecar = read_sidecar(path)
    return sidecar.keys if sidecar else {}
