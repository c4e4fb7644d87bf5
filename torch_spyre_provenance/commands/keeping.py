"""Commands for bundles that are kept or given away: verify, redact, prune and merge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .conventions import BUNDLE, JSON, ExitCode, reading, reporting_errors

if TYPE_CHECKING:
    from ..analysis.verification import Finding
    from ..model import Bundle

_DAY = 24 * 3600.0
_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.argument("bundles", metavar="BUNDLE...", type=BUNDLE, nargs=-1, required=True)
@click.option(
    "--bundle-only",
    is_flag=True,
    help="Look at no path that the bundle names, as for one from a stranger.",
)
@JSON
@reporting_errors
@reading
def verify(bundles: tuple[Path, ...], *, bundle_only: bool, as_json: bool) -> ExitCode:
    """Check that bundles are whole and that their kernels' files are as recorded.

    References between the parts of a bundle, ids that follow from content, and on disk
    the sdsc_N.json of each kernel directory and the generated module: missing, changed
    or added. Files that several ops share, or that are another compile's, are told and
    are no defects. The exit code is 3 where there is a defect.
    """
    from ..analysis.verification import verify as look
    from ..report.findings import findings_facts, findings_text
    from ..store import read_bundle

    found: dict[Path, tuple[Finding, ...]] = {}
    for path in bundles:
        bundle = read_bundle(path)
        on_disk = () if bundle_only else _compared(bundle)
        found[path] = (*look(bundle), *on_disk)
    if as_json:
        facts = {str(path): findings_facts(each) for path, each in found.items()}
        click.echo(json.dumps(facts, indent=2))
    else:
        click.echo("\n".join(findings_text(*each) for each in found.items()))
    defects = [f for each in found.values() for f in each if f.check.is_defect]
    return ExitCode.VERDICT if defects else ExitCode.OK


def _compared(bundle: Bundle) -> tuple[Finding, ...]:
    """Compare a bundle with this machine's disk; redacted paths lead nowhere."""
    from ..analysis.verification import compare_files
    from ..model import Redaction
    from ..store.kernel_files import digest_of, look_for_kernel_files

    if bundle.redaction in (Redaction.PATHS, Redaction.ALL):
        return ()
    files = {
        each.kernel: look_for_kernel_files(each.kernel, Path(each.directory))
        for each in bundle.run.files
    }
    module = bundle.run.module
    return compare_files(bundle, files, module and digest_of(Path(module)))


@click.command()
@click.argument("bundles", metavar="BUNDLE...", type=BUNDLE, nargs=-1, required=True)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    required=True,
    help="Where the redacted bundles go, a directory for each.",
)
@click.option(
    "--what",
    type=click.Choice(["paths", "source", "all"]),
    default="all",
    show_default=True,
    help="What to replace: paths, hosts and jobs; source text; or both, and names.",
)
@reporting_errors
@reading
def redact(bundles: tuple[Path, ...], out: Path, what: str) -> ExitCode:
    """Write bundles that can be shown to others, with stand-ins for what they tell.

    Structure and figures stay. Bundles that are redacted in one call stay comparable:
    the same original has the same stand-in in all of them.
    """
    from ..analysis.redaction import redact as replace
    from ..model import Redaction
    from ..publish import write_with_report
    from ..store import read_bundle

    whole = tuple(read_bundle(path) for path in bundles)
    for bundle in replace(whole, Redaction(what)):
        click.echo(write_with_report(bundle, out))
    return ExitCode.OK


@click.command()
@click.argument("directory", metavar="DIR", type=_DIRECTORY)
@click.option(
    "--keep",
    metavar="N",
    type=click.IntRange(min=0),
    required=True,
    help="Most bundles to leave; the oldest go first.",
)
@click.option(
    "--older-than",
    metavar="DAYS",
    type=click.FloatRange(min=0),
    default=0.0,
    help="Remove none that is younger.",
)
@click.option("--dry-run", is_flag=True, help="Only tell what would be removed.")
@JSON
@reporting_errors
def prune(
    directory: Path, keep: int, older_than: float, *, dry_run: bool, as_json: bool
) -> ExitCode:
    """Remove the oldest bundles of a directory, and nothing else that lies there.

    A bundle's directory goes as a whole or not at all: one that holds a file which this
    package did not write stays, and so does every symbolic link.
    """
    from ..report.findings import pruned_facts, pruned_text
    from ..store.retention import prune as remove

    pruned = remove(directory, keep, older_than * _DAY, only_look=dry_run)
    if as_json:
        click.echo(json.dumps(pruned_facts(pruned), indent=2))
    else:
        click.echo(pruned_text(pruned, only_looked=dry_run))
    return ExitCode.OK


@click.command()
@click.argument(
    "directories", metavar="DIR...", type=_DIRECTORY, nargs=-1, required=True
)
@click.option("--fail", is_flag=True, help="Exit with 3 where processes differ.")
@JSON
@reporting_errors
@reading
def merge(directories: tuple[Path, ...], *, fail: bool, as_json: bool) -> ExitCode:
    """Print what the processes of a job compiled, and where they differ.

    All bundles below the directories are put together: ranks of one job, processes of
    one program, hits and misses of its caches.
    """
    from ..analysis.merging import merge as put_together
    from ..report.jobs import jobs_facts, jobs_text
    from ..store import find_bundles, read_bundle

    paths = dict.fromkeys(path for root in directories for path in find_bundles(root))
    jobs = put_together((str(path), read_bundle(path)) for path in paths)
    if as_json:
        click.echo(json.dumps(jobs_facts(jobs), indent=2))
    else:
        click.echo(jobs_text(jobs) if jobs else "no bundles")
    uniform = all(job.is_uniform for job in jobs)
    return ExitCode.VERDICT if fail and not uniform else ExitCode.OK
