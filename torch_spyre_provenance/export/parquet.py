"""Writing tables as Parquet, one file for each table, job and rank.

Directories are named as Hive does (``ops/job=train/rank=0/part-0.parquet``), which
DuckDB, Spark and Trino read as columns. pyarrow is imported here and nowhere else; it
is the extra ``export``.
"""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints
from urllib.parse import quote

from attrs import define, field, fields, frozen

from ..errors import MissingExtraError, OutputError
from ..store.atomic import cannot_write
from .tables import TABLES, Row

NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""What engines take for a partition without a value."""

QUERIES = "sql"
"""Name of the directory of queries, in this package and beside exported tables."""

_AT_ONCE = 50_000


@frozen(kw_only=True)
class Partition:
    """Whose rows they are.

    Attributes:
        job: The job's name, or None.
        rank: The rank, or None.
    """

    job: str | None
    rank: int | None

    @property
    def path(self) -> Path:
        """Return its directory below a table's."""
        job = NOTHING if self.job is None else quote(self.job, safe="")
        rank = NOTHING if self.rank is None else str(self.rank)
        return Path(f"job={job}", f"rank={rank}")


Rows = Mapping[str, list[Row]]
"""Rows by the name of their table."""


def write_tables(out: Path, parts: Iterable[tuple[Partition, Rows]]) -> None:
    """Write rows into a new directory, with the queries beside them.

    It appears under its name when all of it is written, or not at all.

    Args:
        out: The directory; it must not be there, or be empty.
        parts: Rows of each table, and whose they are.

    Raises:
        MissingExtraError: pyarrow is not installed.
        OutputError: It cannot be written, or something is there already.
    """
    arrow = _pyarrow()
    out = out.absolute()
    if out.exists() and any(out.iterdir()):
        raise OutputError(f"{out} is not empty: name a new directory for the tables")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as undo:
            fresh = Path(tempfile.mkdtemp(prefix=f".{out.name[:32]}.", dir=out.parent))
            undo.callback(shutil.rmtree, fresh, ignore_errors=True)
            _write(fresh, parts, arrow)
            _copy_queries(fresh / QUERIES)
            fresh.chmod(0o755)
            fresh.replace(out)
            undo.pop_all()
    except OSError as error:
        raise cannot_write(out, error) from error


def query_names() -> tuple[str, ...]:
    """Return the names of the queries that ship, sorted."""
    return tuple(
        sorted(
            entry.name.removesuffix(".sql")
            for entry in (resources.files(__package__) / QUERIES).iterdir()
            if entry.name.endswith(".sql")
        )
    )


def query(name: str) -> str:
    """Return the text of a query that ships."""
    return (resources.files(__package__) / QUERIES / f"{name}.sql").read_text("utf-8")


def _copy_queries(directory: Path) -> None:
    directory.mkdir()
    for name in query_names():
        (directory / f"{name}.sql").write_text(query(name), "utf-8")


def _write(
    directory: Path, parts: Iterable[tuple[Partition, Rows]], arrow: ModuleType
) -> None:
    files: dict[tuple[str, Partition], _File] = {}
    with ExitStack() as closing:
        for table in TABLES:
            # Empty, and without a partition: a query finds every table's columns.
            path = directory / table / Partition(job=None, rank=None).path
            file = _File(path=path, schema=schema_of(table, arrow), arrow=arrow)
            files[table, Partition(job=None, rank=None)] = file
            closing.callback(file.close)
        for partition, tables in parts:
            for table, rows in tables.items():
                key = (table, partition)
                if key not in files and rows:
                    path = directory / table / partition.path
                    schema = schema_of(table, arrow)
                    files[key] = _File(path=path, schema=schema, arrow=arrow)
                    closing.callback(files[key].close)
                if rows:
                    files[key].add(rows)


@define
class _File:
    """One file while it grows."""

    path: Path
    schema: Any
    arrow: ModuleType
    _waiting: list[Row] = field(factory=list, init=False)
    _writer: Any = field(default=None, init=False)

    def add(self, rows: list[Row]) -> None:
        """Take rows, and write them once there are many."""
        self._waiting += rows
        if len(self._waiting) >= _AT_ONCE:
            self._flush()

    def close(self) -> None:
        """Write what waits, and the file's end."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        from pyarrow import parquet

        if self._writer is None:
            self.path.mkdir(parents=True, exist_ok=True)
            file = self.path / "part-0.parquet"
            self._writer = parquet.ParquetWriter(file, self.schema, compression="zstd")
        columns = [
            [_plain(getattr(row, name)) for row in self._waiting]
            for name in self.schema.names
        ]
        arrays = [
            self.arrow.array(column, type=kind)
            for column, kind in zip(columns, self.schema.types, strict=True)
        ]
        table = self.arrow.Table.from_arrays(arrays, schema=self.schema)
        self._writer.write_table(table)
        self._waiting.clear()


def schema_of(table: str, arrow: ModuleType) -> Any:
    """Return the Arrow schema of a table, made from its row's class."""
    kinds = {
        str: arrow.string(),
        int: arrow.int64(),
        dt.datetime: arrow.timestamp("ms", tz="UTC"),
    }
    cls = TABLES[table]
    types = get_type_hints(cls)
    return arrow.schema(
        [
            arrow.field(
                each.name,
                kinds[_inner(types[each.name])],
                nullable=type(None) in get_args(types[each.name]),
            )
            for each in fields(cls)
        ]
    )


def _inner(kind: Any) -> Any:
    """Return the type of a value that may be None."""
    return next((arg for arg in get_args(kind) if arg is not type(None)), kind)


def _plain(value: Any) -> Any:
    """Return a value that Arrow takes: its strings are UTF-8, without surrogates."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value


def _pyarrow() -> ModuleType:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError(
            "tables need pyarrow: pip install 'torch-spyre-provenance[export]'"
        ) from error
    arrow: ModuleType = pa
    return arrow
