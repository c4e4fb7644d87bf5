"""The stack-depth benchmark: a table, and room that does what it is for."""

from __future__ import annotations

from benchmarks import stack_depth


def test_the_table_has_a_row_for_each_depth(capsys):
    """Two compiles of each depth, without room and with it."""
    assert stack_depth.main(["SimpleMLP", "--depths", "2", "--repeats", "1"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split("|")[1].strip() for row in rows[2:]] == ["0", "1"]
