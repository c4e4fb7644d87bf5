"""Hostile text becomes visible and inert."""

from __future__ import annotations

import re

import pytest
from bundle_factory import bundle, line
from hypothesis import given
from hypothesis import strategies as st

from torch_spyre_provenance.report.escape import (
    ShortPaths,
    code,
    mermaid_label,
    row,
    visible,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = f(x)", "`x = f(x)`"),
        ("a`b", "``a`b``"),
        ("`", "`` ` ``"),
        ("```", "```` ``` ````"),
        (" a", "`  a `"),
        ("", "—"),
        (None, "—"),
        ("<script>", "`<script>`"),
        ("a\nb", "`a\\nb`"),
        ("a\rb\x1b[31m", "`a\\u000db\\u001b[31m`"),
        ("a\u202eb", "`a\\u202eb`"),
        ("a\u2028b", "`a\\u2028b`"),
        ("\udcff", "`\\udcff`"),
        ("\U000e0041", "`\\U000e0041`"),
        ("été", "`été`"),
    ],
)
def test_a_code_span_shows_exactly_its_text(text, expected):
    """Fences, line ends, escapes and direction marks cannot leave the span."""
    assert code(text) == expected


@given(st.text())
def test_no_text_leaves_its_code_span(text):
    """A span opens and closes with one fence that its text does not hold."""
    span = code(text)
    if not text:
        return
    fence = re.match("`+", span)[0]
    inner = span[len(fence) : -len(fence)]
    assert span.endswith(fence)
    assert fence not in re.findall("`+", inner)
    assert "\n" not in span
    assert span.isprintable()


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_a_row_has_as_many_cells_as_it_was_given(cells):
    """Pipes in a cell do not make a cell."""
    text = row([code(cell) for cell in cells])
    assert len(re.findall(r"(?<!\\)\|", text)) == len(cells) + 1


def test_long_text_is_cut():
    """A name of a megabyte does not fill the report."""
    assert visible("a" * 300, 10) == "a" * 9 + "…"


@given(st.text())
def test_a_mermaid_label_holds_nothing_that_mermaid_reads(text):
    """No quotes, brackets of tags, line ends, fences or comments are left."""
    label = mermaid_label(text)
    assert re.fullmatch(r"(?:[\w .,:/·=+*@(){}\[\]-]|#\d+;)*", label, re.ASCII)


def test_a_mermaid_label_shows_the_text():
    """Ordinary source code stays readable."""
    assert mermaid_label("x = self.fc1(x)") == "x = self.fc1(x)"
    assert mermaid_label('"<b>') == "#34;#60;b#62;"


def test_files_are_called_as_short_as_they_can_be_told_apart():
    """Files of one name are told apart by their directories."""
    stacks = (
        line(1, file="/u/a/model.py"),
        line(1, file="/u/b/model.py"),
        line(1, file="/u/train.py"),
        line(1, file="model.py"),
        line(1, file="<string>"),
    )
    paths = ShortPaths(bundle(stacks=stacks))
    assert [paths.of(stack[0].file) for stack in stacks] == [
        "a/model.py",
        "b/model.py",
        "train.py",
        "model.py",
        "<string>",
    ]
    assert paths.where("/u/a/model.py", 7) == "a/model.py:7"
    assert paths.where("/elsewhere/x.py", 7) == "/elsewhere/x.py:7"


@given(st.sets(st.text("/ab", max_size=6)))
def test_short_names_are_as_many_as_files(files):
    """No two files ever have the same short name."""
    paths = ShortPaths(bundle(stacks=tuple(line(1, file=file) for file in files)))
    assert len({paths.of(file) for file in files}) == len(files)
