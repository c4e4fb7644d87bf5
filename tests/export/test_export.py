"""Bundles as tables, and the questions that people ask of them, with a real engine."""

from __future__ import annotations

import datetime as dt
import os
import resource
import sys
import time
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from attrs import evolve, fields
from bundle_factory import bundle, fx, ir, lines, recorded, run_facts

from torch_spyre_provenance.analysis.attribution import attribute
from torch_spyre_provenance.analysis.coverage import measure_coverage
from torch_spyre_provenance.cli import ExitCode, main
from torch_spyre_provenance.errors import MissingExtraError, OutputError
from torch_spyre_provenance.export import parquet
from torch_spyre_provenance.export.job import export
from torch_spyre_provenance.export.parquet import query, query_names, schema_of
from torch_spyre_provenance.export.tables import TABLES
from torch_spyre_provenance.model import Loss, PassStep
from torch_spyre_provenance.store import write_bundle

N_BUNDLES = int(os.environ.get("EXPORT_BUNDLES", "200"))
MLP, ATTENTION = "simple_mlp_torch2.13", "attention_torch2.13"
QUERIES = (
    "changes_between_jobs",
    "coverage_over_time",
    "kernels_by_line",
    "ops_without_a_line",
    "time_by_module",
)


def written(root, value, **run):
    """Write a bundle with other run facts, and return its directory."""
    return write_bundle(root, evolve(value, run=evolve(value.run, **run)), {})


def exported(root, out):
    """Export a directory, and return a connection that sees the tables."""
    export(root, out)
    return connected(out)


def connected(out):
    """Return a connection that sees exported tables."""
    connection = duckdb.connect()
    connection.execute(f"SET file_search_path = '{out}'")
    connection.execute(query("views"))
    return connection


def answer(connection, name):
    """Return the rows of a query that ships, as mappings."""
    found = connection.execute(query(name))
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def old():
    """Return a compile of one line whose inserted op has none."""
    return bundle(
        stacks=lines(1),
        pre=(fx("a", "torch.relu", stack=0),),
        post=(fx("b", "aten.relu.default", stack=0, came_from=("a",)),),
        ir_post=(ir(0, "b"), ir(1)),
        run=run_facts("old"),
    )


def new():
    """Return the same compile with the line moved and no inserted op."""
    return evolve(
        bundle(
            stacks=lines(2),
            pre=(fx("a", "torch.relu", stack=0),),
            post=(fx("b", "aten.relu.default", stack=0, came_from=("a",)),),
            ir_post=(ir(0, "b"),),
            run=run_facts("new"),
        ),
        passes=(
            PassStep(
                name="greedy",
                index=0,
                losses=(
                    Loss(
                        op="op0",
                        buffer="buf0",
                        what="origins",
                        before=("b", "c"),
                        after=("b",),
                    ),
                ),
            ),
        ),
    )


@pytest.fixture
def jobs(tmp_path):
    """Tables of two jobs of two ranks, a day apart, and a compile of no job."""
    root = tmp_path / "in"
    for rank in (0, 1):
        written(root, old(), job="a/b é", rank=rank, world_size=2)
        day = "2026-08-02T09:00:00+00:00"
        written(root, new(), job="later", rank=rank, world_size=2, time=day)
    written(root, recorded(MLP))
    return exported(root, tmp_path / "out")


def test_the_five_questions_ship():
    """Each is documented in its first lines."""
    assert sorted((*QUERIES, "views")) == list(query_names())
    assert all(query(name).startswith("-- ") for name in query_names())


def test_rows_are_what_the_bundles_say(jobs):
    """Counts over all tables are those of the analyses."""
    found = measure_coverage(attribute(recorded(MLP)))
    (row,) = jobs.execute(
        "SELECT ops, measured, inferred, missing, torch FROM compiles WHERE job IS NULL"
    ).fetchall()
    assert (found.total, found.measured, found.inferred, found.missing) == row[:4]
    counts = {
        table: jobs.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]  # noqa: S608
        for table in TABLES
    }
    assert counts == {
        "compiles": 5,
        "kernels": 5,
        "ops": 2 * 2 + 2 * 1 + found.total,
        "locations": 2 + 2 + found.total,
        "losses": 2,
        "times": 0,
    }


def test_jobs_and_ranks_are_columns(jobs):
    """Partitions come back as what they were, names and gaps included."""
    rows = jobs.execute("SELECT DISTINCT job, rank FROM ops ORDER BY ALL").fetchall()
    assert [
        ("a/b é", 0),
        ("a/b é", 1),
        ("later", 0),
        ("later", 1),
        (None, None),
    ] == rows


def test_ops_without_a_line_by_pass_and_version(jobs):
    """The compiler's op without an origin is found, in both ranks."""
    (row,) = answer(jobs, "ops_without_a_line")
    assert (2, "(no pass is known)") == (row["ops_without_a_line"], row["pass_name"])
    assert row["reason"]


def test_what_changed_between_two_jobs(jobs):
    """The moved line is gone and new; the inserted op is gone."""
    rows = answer(jobs, "changes_between_jobs")
    assert [(1, 1, 0), (2, 0, 1), (None, 1, 0)] == [
        (row["line"], row["ops_before"], row["ops_after"]) for row in rows
    ]


def test_kernels_by_line(jobs):
    """Every line with an op has its row."""
    by_line = {(r["file"], r["line"]): r for r in answer(jobs, "kernels_by_line")}
    places = {
        (place.frame.file, place.frame.line)
        for op in attribute(recorded(MLP))
        for place in op.locations
    }
    assert places | {("/models/model.py", 1), ("/models/model.py", 2)} == set(by_line)
    assert 2 == by_line["/models/model.py", 1]["ops"]


def test_coverage_over_time(jobs):
    """A row for each day and version."""
    rows = answer(jobs, "coverage_over_time")
    shares = {(row["day"], row["torch"]): row["percent_with_a_line"] for row in rows}
    assert 50.0 == shares[dt.date(2026, 8, 1), None]
    assert 100.0 == shares[dt.date(2026, 8, 2), None]


def test_time_by_module(tmp_path):
    """The modules' shares of a trace add up to the kernels' time."""
    value = recorded(MLP)
    root = tmp_path / "in"
    written(root, value)
    trace = tmp_path / "trace.json"
    name = value.kernels[0].name
    trace.write_text(
        '{"traceEvents": [{"ph": "X", "cat": "kernel", "pid": 0, "tid": 0, '
        f'"name": "{name}", "ts": 1, "dur": 1000}}]}}'
    )
    out = tmp_path / "out"
    arguments = ["export", str(root), "--parquet", str(out), "--trace", str(trace)]
    assert ExitCode.OK == main(arguments)
    rows = answer(connected(out), "time_by_module")
    assert {"fc1", "fc2", ""} >= {row["module"] for row in rows}
    assert 1000.0 == pytest.approx(sum(row["device_us"] for row in rows))


def test_every_column_has_the_type_of_its_attribute():
    """The row's class is the schema, down to what may be missing."""
    for table, cls in TABLES.items():
        schema = schema_of(table, pa)
        assert [each.name for each in fields(cls)] == schema.names
    ops = schema_of("ops", pa)
    assert ops.field("line").nullable
    assert not ops.field("evidence").nullable


def test_texts_that_are_no_text_are_escaped(tmp_path):
    """A file name of any bytes can be queried."""
    value = bundle(
        stacks=(lines(1)[0],),
        run=run_facts("x"),
        ir_post=(),
    )
    info = evolve(value.compile, graph="a\udcff")
    written(tmp_path / "in", evolve(value, compile=info))
    connection = exported(tmp_path / "in", tmp_path / "out")
    assert [("a\\udcff",)] == connection.execute(
        "SELECT graph FROM compiles"
    ).fetchall()


def test_a_directory_that_holds_something_is_left_alone(tmp_path):
    """Tables are not written among other files."""
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(OutputError, match="not empty"):
        export(tmp_path, tmp_path)
    assert ["notes"] == [path.name for path in tmp_path.iterdir()]


def test_a_failure_leaves_nothing_behind(tmp_path, capsys):
    """A bundle that is not whole ends the export, and no table appears."""
    root = tmp_path / "in"
    written(root, recorded(MLP))
    (root / "bad").mkdir()
    (root / "bad" / "bundle.json").write_text("{}")
    code = main(["export", str(root), "--parquet", str(tmp_path / "out")])
    assert ExitCode.ERROR == code
    assert "bundle-format" in capsys.readouterr().err
    assert ["in"] == [path.name for path in tmp_path.iterdir()]


def test_without_the_library_the_message_names_the_extra(tmp_path, monkeypatch):
    """Pyarrow is asked for where it is needed, and only there."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"\[export\]"):
        export(tmp_path, tmp_path / "out")


def test_files_grow_by_row_groups(tmp_path, monkeypatch):
    """Rows are written as they come, not held until the end."""
    monkeypatch.setattr(parquet, "_AT_ONCE", 2)
    for _ in range(3):
        written(tmp_path / "in", recorded(ATTENTION))
    connection = exported(tmp_path / "in", tmp_path / "out")
    (count,) = connection.execute("SELECT COUNT(*) FROM ops").fetchone()
    assert 3 * len(recorded(ATTENTION).ops) == count


@pytest.mark.slow
def test_thousands_of_bundles_are_quick(tmp_path):
    """2,000 bundles and all queries within ten seconds of two cores."""
    root = tmp_path / "in"
    values = [recorded(MLP), recorded(ATTENTION)]
    for number in range(N_BUNDLES):
        value = values[number % 2]
        written(root, value, job=f"job{number % 20}", rank=number % 4)
    began = cpu_seconds()
    start = time.perf_counter()
    connection = exported(root, tmp_path / "out")
    for name in QUERIES:
        answer(connection, name)
    elapsed, used = time.perf_counter() - start, cpu_seconds() - began
    print(f"{N_BUNDLES} bundles: {elapsed:.1f} s, {used:.1f} s of processor")  # noqa: T201
    assert (
        connection.execute("SELECT COUNT(*) FROM compiles").fetchone()[0] == N_BUNDLES
    )
    # The start of the processes costs the same, however few bundles there are.
    assert used < 2 * 10 * max(N_BUNDLES / 2000, 0.5)


def cpu_seconds() -> float:
    """Return the processor time of this process and of its children."""
    both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(who) for who in both]
    return sum(each.ru_utime + each.ru_stime for each in used)


def test_bundles_are_named_by_their_place(tmp_path):
    """A row leads back to its bundle."""
    directory = written(tmp_path / "in" / "host", recorded(MLP))
    connection = exported(tmp_path / "in", tmp_path / "out")
    ((name,),) = connection.execute("SELECT compile FROM compiles").fetchall()
    assert directory == Path(tmp_path / "in" / name)
