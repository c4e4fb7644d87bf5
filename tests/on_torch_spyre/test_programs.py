"""Programs of every kind of operator, recorded through a real torch-spyre."""

from __future__ import annotations

from pathlib import Path

import pytest

RUN = Path(__file__).with_name("run_programs.py")

pytestmark = pytest.mark.timeout(900)
"""All programs are compiled before the first test: minutes, on a busy machine."""

UNAVAILABLE = {
    "plain": ["pre_grad_graph", "pass_observer"],
    "backend": ["pass_observer"],
}
"""What an unpatched torch-spyre has no seam for, by the way of compiling."""


@pytest.fixture(scope="module")
def runs(checkout, json_of, tmp_path_factory):
    """Every program compiled in each way, by its name and the way."""
    cache, out = tmp_path_factory.mktemp("cache"), tmp_path_factory.mktemp("out")
    return json_of(RUN, checkout, out, cache=cache)


@pytest.fixture(scope="module")
def bundles(checkout, runs):
    """The one bundle of each run; the kernels were made and not launched."""
    assert {} == {name: run["raised"] for name, run in runs.items() if run["raised"]}
    assert {1} == {len(run["bundles"]) for run in runs.values()}
    return {name: run["bundles"][0] for name, run in runs.items()}


def test_there_are_enough_programs(bundles):
    """At least 24 lines and three modules, the modules in both ways."""
    names = {name.split()[0] for name in bundles}
    assert {"encoder", "gated", "classifier"} <= names
    assert len(names) >= 27
    assert len([name for name in bundles if name.endswith("backend")]) >= 6


def test_every_point_fired_that_can(bundles):
    """Nothing failed, and nothing was silent but what is named as unavailable."""
    silent = {
        name: (bundle["failed"], bundle["unfired"], bundle["unavailable"])
        for name, bundle in bundles.items()
    }
    expected = {
        name: ([], UNAVAILABLE[name.split()[1]], UNAVAILABLE[name.split()[1]])
        for name in bundles
    }
    assert expected == silent


def test_every_op_that_was_needed_is_there(runs, bundles):
    """The op that a program is about is among the recorded ones, each with a file."""
    missing = {
        name
        for name, run in runs.items()
        if run["needs"] is not None and run["needs"] not in bundles[name]["ops"]
    }
    assert set() == missing
    counts = {name: bundle["counts"] for name, bundle in bundles.items()}
    assert {} == {n: c for n, c in counts.items() if c["op_spec"] != c["super_dsc"]}


def test_every_op_comes_from_its_line(runs, bundles):
    """An op of a one-line program comes from that line and no other."""
    lines = {n: b["lines"] for n, b in bundles.items() if runs[n]["line"] is not None}
    assert {name: [runs[name]["line"]] for name in lines} == lines
    assert {("programs.py",)} == {tuple(each["files"]) for each in bundles.values()}


def test_no_op_is_without_a_line(bundles):
    """Nothing is missing, the ops that torch-spyre inserted included."""
    assert {} == {n: b["missing"] for n, b in bundles.items() if b["missing"]}


def test_handles_are_torch_spyres_own(bundles):
    """The ids are those in the SDSC files, and those that the recipe gives."""
    for bundle in bundles.values():
        assert bundle["ids_on_disk"] == bundle["ids"]
        assert bundle["ids_recomputed"] == bundle["ids"]


def test_recording_changes_nothing_that_is_generated(runs):
    """The SDSC files and the bundle of every kernel are the same, byte for byte."""
    changed = {
        name
        for name, run in runs.items()
        if "generated_unrecorded" in run
        and (not run["generated"] or run["generated"] != run["generated_unrecorded"])
    }
    assert set() == changed
