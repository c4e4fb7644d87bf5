"""The command ``trace``: a profiler's trace, joined to the bundles of its kernels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .conventions import BUNDLE, JSON, ExitCode, reading, reporting_errors

if TYPE_CHECKING:
    from ..analysis.recorded import Recorded

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("bundles", metavar="BUNDLE...", type=BUNDLE, nargs=-1, required=True)
@click.argument(
    "trace",
    metavar="TRACE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--out",
    metavar="FILE",
    type=_FILE,
    help="Write the trace with source, module and ops in each kernel event's args.",
)
@click.option(
    "--flame",
    metavar="FILE",
    type=_FILE,
    help="Write a flame graph for speedscope: module, line, kernel.",
)
@click.option(
    "--share",
    "method",
    type=click.Choice(["iterations", "ops"]),
    default="iterations",
    show_default=True,
    help="How a kernel's time is divided among its lines: by the size of their ops' "
    "iteration spaces, or evenly among the ops.",
)
@JSON
@reporting_errors
@reading
def trace(  # noqa: PLR0913  each is an option
    bundles: tuple[Path, ...],
    trace: Path,
    out: Path | None,
    flame: Path | None,
    method: str,
    *,
    as_json: bool,
) -> ExitCode:
    """Tell where the time of a profiler's TRACE went: by kernel, line and module.

    TRACE is what torch.profiler exports (trace.json or trace.json.gz). A BUNDLE is a
    bundle's directory, a bundle.json, or a directory of several: a program may have
    compiled several graphs. torch-spyre's spyre_provenance.json lends its keys.
    """
    from ..analysis.timing import Share, measure_times
    from ..analysis.trace import join
    from ..report.timings import additions, times_facts, times_text
    from ..store.traces import read_trace, write_annotated

    file = read_trace(trace)
    joined = join(file.trace, _recorded(bundles))
    share = Share(method)
    times = measure_times(joined, share)
    if out is not None:
        write_annotated(out, file, additions(joined))
    if flame is not None:
        from ..report.speedscope import render
        from ..store.atomic import write_bytes

        write_bytes(flame, render(joined, share, trace.name))
    if as_json:
        click.echo(json.dumps(times_facts(joined, times), indent=2))
    else:
        click.echo(times_text(joined, times))
    return ExitCode.OK


def _recorded(paths: tuple[Path, ...]) -> tuple[Recorded, ...]:
    from ..analysis.attribution import Attributor
    from ..analysis.recorded import Recorded, lend_keys
    from ..store import find_bundles, read_bundle
    from ..store.spyre_sidecar import read_sidecar

    bundles: dict[Path, Recorded] = {}
    sidecars: dict[Path, Recorded] = {}
    for path in paths:
        sidecar = read_sidecar(path)
        if sidecar is not None:
            facts = Attributor(sidecar.bundle)
            sidecars[path] = Recorded(name=str(path), facts=facts, keys=sidecar.keys)
        if sidecar is None or path.is_dir():
            found = find_bundles(path) or (() if sidecar else (path,))
            for each in found:
                facts = Attributor(read_bundle(each))
                bundles[each] = Recorded(name=str(each), facts=facts)
    return lend_keys(bundles.values(), sidecars.values())
