"""Inductor's own mapping of nodes and kernels, of its debug directory or its log."""

from __future__ import annotations

import json

import pytest

from torch_spyre_provenance.cli import main
from torch_spyre_provenance.errors import BundleFormatError, BundleVersionError
from torch_spyre_provenance.store.node_mappings import (
    parse_node_mappings,
    read_node_mappings,
)

PLAIN = {
    "preToPost": {"x": ["mm", "relu"]},
    "postToPre": {"mm": ["x"], "relu": ["x"]},
    "cppCodeToPost": {"sdsc_a_0:1": ["mm"], "sdsc_a_0:2": ["relu"]},
    "postToCppCode": {"mm": ["sdsc_a_0:1"], "relu": ["sdsc_a_0:2"]},
}


def text(**changes: object) -> bytes:
    """Return a file with some keys changed."""
    return json.dumps(PLAIN | changes).encode()


@pytest.mark.parametrize("version", [{}, {"version": 2.0}, {"version": 2}])
def test_a_file_is_read_with_a_version_and_without(version):
    """A kernel's launches count together."""
    found = parse_node_mappings(text(**version), "file")
    assert {"mm": ("x",), "relu": ("x",)} == found.post_to_pre
    assert {"x": ("mm", "relu")} == found.pre_to_post
    assert {"sdsc_a_0": {"mm", "relu"}} == found.nodes_of_kernels()


def test_an_empty_result_is_one_too():
    """Inductor writes it where it found nothing."""
    found = parse_node_mappings(b'{"version": 2.0}', "file")
    assert ({}, {}) == (found.post_to_pre, found.kernel_to_post)


def test_another_version_is_refused():
    """It names both versions."""
    with pytest.raises(BundleVersionError, match=r"version 3.0; .* reads version 2"):
        parse_node_mappings(text(version=3.0), "file")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        text()[:-5],
        text(postToPre=[]),
        text(postToPre={"mm": "x"}),
        text(postToPre={"mm": [1]}),
        text(postToPre={"mm": ["x"]}),
    ],
)
def test_what_is_no_such_file_is_refused(data):
    """A file whose maps are no inverses is none, either."""
    with pytest.raises(BundleFormatError, match="holds no node mappings"):
        parse_node_mappings(data, "file")


def test_other_files_are_left_to_others(tmp_path):
    """A bundle is none, and neither is a directory."""
    file = tmp_path / "bundle.json"
    for content in ('{"schema_version": 2}', '{"preToPost": 1', '{"x": "postToPre"}'):
        file.write_text(content + " " * 100)
        assert read_node_mappings(file) is None
    assert read_node_mappings(tmp_path) is None


def test_two_files_are_compared(tmp_path, capsys):
    """What the second one lacks is marked, and is a regression."""
    before, after = tmp_path / "a.json", tmp_path / "b.json"
    before.write_bytes(text())
    after.write_bytes(text(preToPost={"x": ["mm"]}, postToPre={"mm": ["x"]}, version=2))

    assert 3 == main(["diff", str(before), str(after), "--fail"])
    assert capsys.readouterr().out.splitlines() == [
        "! node     relu: lost x",
        "regression: see the lines that begin with !",
    ]
    assert 0 == main(["diff", str(after), str(before), "--fail", "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert [{"name": "relu", "lost": [], "gained": ["x"]}] == facts["nodes"]
    empty = tmp_path / "empty.json"
    empty.write_text('{"version": 2.0}')
    assert 3 == main(["diff", str(before), str(empty), "--fail"])
    capsys.readouterr()
    assert 0 == main(["diff", str(before), str(before)])
    assert "no difference\n" == capsys.readouterr().out
