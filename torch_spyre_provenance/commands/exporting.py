"""The command ``export``: many bundles as tables for a query engine."""

from __future__ import annotations

from pathlib import Path

import click

from .conventions import ExitCode, reporting_errors


@click.command()
@click.argument(
    "directory",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option(
    "--parquet",
    "out",
    metavar="OUT",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="A new directory for the tables.",
)
@click.option(
    "--trace",
    "traces",
    metavar="TRACE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="A profiler's trace of a program that ran the kernels, for the table of "
    "times; may be given several times.",
)
@reporting_errors
def export(directory: Path, out: Path, traces: tuple[Path, ...]) -> ExitCode:
    """Write all bundles below DIR as Parquet tables, partitioned by job and rank.

    The tables are compiles, kernels, ops, locations, losses and times. OUT/sql has
    queries for DuckDB, which Spark and Trino take with few changes.
    """
    from ..export.job import export as run_export

    click.echo(f"{run_export(directory, out, traces)} bundles in {out}")
    return ExitCode.OK
