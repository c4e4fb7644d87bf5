"""Ops inside counted loops keep their lines, and the bundle says how often they run."""

from __future__ import annotations

import pytest
import torch
from scenarios.compiling import op_lines, record_into

from torch_spyre_provenance.analysis.attribution import Attributor, attribute
from torch_spyre_provenance.analysis.questions import answer
from torch_spyre_provenance.analysis.sdsc import LinkState, link_files
from torch_spyre_provenance.analysis.verification import verify
from torch_spyre_provenance.frontends.reference import config
from torch_spyre_provenance.model import Evidence
from torch_spyre_provenance.report.answers import answer_text
from torch_spyre_provenance.report.markdown import render


def model(x, w, b):
    """A product and what follows tile by tile, and two ops that are not alike."""
    h = x @ w  # product
    h = torch.relu(h)  # rectify
    h = h + b  # shift
    rows = h.sum(0)  # total
    return rows, torch.exp(b)  # small


@pytest.fixture(scope="module")
def bundle(bundles):
    """Record one compile of the model in which a core reaches 8 KiB far."""
    half = torch.float16
    inputs = (
        torch.ones(64, 64, dtype=half),
        torch.ones(64, 512, dtype=half),
        torch.ones(512, dtype=half),
    )
    with config.patch(max_span_bytes=8192, sencores=2):
        (recorded,) = record_into(bundles)(model, *inputs)
    return recorded


def test_every_op_has_its_line(bundle):
    """What is computed tile by tile was written on one line all the same."""
    assert [
        ("batchmatmul", ["product"]),
        ("relufwd", ["rectify"]),
        ("add", ["shift"]),
        ("sum", ["total"]),
        ("exp", ["small"]),
    ] == op_lines(bundle)
    assert {Evidence.MEASURED} == {found.evidence for found in attribute(bundle)}


def test_paths_and_trips(bundle):
    """An op's path leads through its loops, whose trips it lists."""
    assert [
        ("0.0", ("8",), "buf0"),
        ("0.1", ("8",), "buf1"),
        ("0.2", ("8",), "buf2"),
        ("1.0", ("4",), "buf3"),
        ("2", (), "buf4"),
    ] == [(op.spec_path, op.loops, op.buffer) for _, op in bundle.ops]


def test_files_are_those_of_the_ops(bundle):
    """The body of a loop is written once, and every file has its op's handle."""
    (files,) = bundle.run.files
    assert tuple(f"sdsc_{n}.json" for n in range(5)) == files.executes
    assert {LinkState.OWN} == {link.state for link in link_files(bundle)}
    assert () == verify(bundle)


def test_the_report_counts_the_trips(bundle):
    """The trips stand beside the path."""
    text = render(bundle)
    assert "| `0.1` in loops of `8` | `relufwd` |" in text
    assert "| `2` | `exp` |" in text


def test_an_answer_counts_the_trips(bundle):
    """What is known of one op has the tile's extents, and how many tiles there are."""
    facts = Attributor(bundle)
    text = answer_text(facts, answer(facts, f"{bundle.kernels[0].name}:0.1"))
    assert "space     c0=64/2, c1=64/1  (extent/cores) in loops of 8" in text
