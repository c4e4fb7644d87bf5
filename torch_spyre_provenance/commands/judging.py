"""Commands that compare and judge bundles: ``diff`` and ``check``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .conventions import BUNDLE, JSON, ExitCode, reading, reporting_errors

if TYPE_CHECKING:
    from ..model.mappings import NodeMappings


@click.command()
@click.argument("before", type=BUNDLE)
@click.argument("after", type=BUNDLE)
@click.option("--fail", is_flag=True, help="Exit with 3 where provenance got worse.")
@JSON
@reporting_errors
@reading
def diff(before: Path, after: Path, *, fail: bool, as_json: bool) -> ExitCode:
    """Print what changed from one bundle to another, op by op.

    Provenance got worse where an op lost its line or has it by inference instead of
    measurement, where a new op has none, and where a pass loses more than before. Such
    lines begin with an exclamation mark.

    BEFORE or AFTER may also be Inductor's own
    inductor_provenance_tracking_node_mappings.json. Then only what that file knows is
    compared: which nodes became which, and which kernel computes them.
    """
    from ..analysis.diff import compare
    from ..report.differences import difference_facts, difference_text
    from ..store import read_bundle
    from ..store.node_mappings import read_node_mappings

    mappings = read_node_mappings(before), read_node_mappings(after)
    if any(mappings):
        return _diff_mappings((before, after), mappings, fail=fail, as_json=as_json)
    found = compare(read_bundle(before), read_bundle(after))
    if as_json:
        click.echo(json.dumps(difference_facts(found), indent=2))
    else:
        click.echo(difference_text(found))
    return ExitCode.VERDICT if fail and found.is_regression else ExitCode.OK


def _diff_mappings(
    paths: tuple[Path, Path],
    mappings: tuple[NodeMappings | None, NodeMappings | None],
    *,
    fail: bool,
    as_json: bool,
) -> ExitCode:
    from ..analysis.attribution import Attributor
    from ..analysis.node_mappings import compare_mappings, map_nodes
    from ..report.differences import mapping_facts, mapping_text
    from ..store import read_bundle

    before, after = (
        map_nodes(Attributor(read_bundle(path))) if known is None else known
        for path, known in zip(paths, mappings, strict=True)
    )
    found = compare_mappings(before, after)
    if as_json:
        click.echo(json.dumps(mapping_facts(found), indent=2))
    else:
        click.echo(mapping_text(found))
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


@click.command()
@click.argument("bundles", metavar="BUNDLE...", type=BUNDLE, nargs=-1, required=True)
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
@JSON
@reporting_errors
@reading
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
    from ..analysis.gate import Limits, judge
    from ..store import read_bundle
    from ..summary import verdict_facts, verdict_text

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
