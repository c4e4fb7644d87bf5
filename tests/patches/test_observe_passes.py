"""Observers around each pre-scheduling pass."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from patches.checkout import Checkout
from patches.errors import UnrecognisedError
from patches.observe_passes import CODEMOD, observe
from patches.syntax import parse


@pytest.fixture
def passes(checkout, load):
    """The patched module of passes."""
    Checkout(checkout).write(CODEMOD.changes(Checkout(checkout)))
    return load("passes")


def graph(*, has_groups: bool) -> SimpleNamespace:
    """Return what the stand-in's passes take for a graph."""
    return SimpleNamespace(has_groups=has_groups)


def test_each_pass_is_announced_under_its_own_name(passes):
    """Before and after every pass that runs, wrappers and helpers never."""
    seen = []
    passes.pass_observers.append(lambda *call: seen.append((*call, len(passes.ran))))
    whole = graph(has_groups=True)

    passes.CustomPreSchedulingPasses()(whole)

    assert ["insert_copies", "find_groups", "check_groups", "tile ['a group']"] == (
        passes.ran
    )
    assert [
        ("insert_copies", whole, False, 0),
        ("insert_copies", whole, True, 1),
        ("find_groups", whole, False, 1),
        ("find_groups", whole, True, 2),
        ("tile", whole, False, 3),
        ("tile", whole, True, 4),
    ] == seen


def test_a_pass_that_does_not_run_is_not_announced(passes):
    """What a wrapper leaves out is left out, and results still arrive."""
    seen = []
    passes.pass_observers.append(lambda name, _, after: seen.append((name, after)))

    passes.CustomPreSchedulingPasses()(graph(has_groups=False))

    assert ["insert_copies", "find_groups"] == passes.ran
    assert ("find_groups", True) == seen[-1]


def test_without_observers_passes_run_as_before(checkout, load):
    """The same passes with the same arguments, patched or not."""
    load("passes").CustomPreSchedulingPasses()(graph(has_groups=True))
    expected = list(load("passes").ran)
    Checkout(checkout).write(CODEMOD.changes(Checkout(checkout)))
    namespace = {"__name__": "patched"}
    source = (checkout / "torch_spyre/_inductor/passes.py").read_text()
    exec(compile(source, "passes.py", "exec"), namespace)  # noqa: S102

    namespace["CustomPreSchedulingPasses"]()(graph(has_groups=True))

    assert expected == namespace["ran"]
    assert [] == namespace["pass_observers"]


def test_observers_may_come_and_go(passes):
    """One that removes itself is still told the end of the pass it saw begin."""
    seen = []

    def once(name, _graph, after):
        seen.append((name, after))
        if not after:
            passes.pass_observers.remove(once)

    passes.pass_observers.append(once)
    passes.CustomPreSchedulingPasses()(graph(has_groups=True))

    assert [("insert_copies", False), ("insert_copies", True)] == seen


PIPELINE = """\
from typing import Any, Callable
from torch._inductor.graph import GraphLowering

class CustomPreSchedulingPasses:
    def __call__(self, graph):
        for each in self.passes:
            {}
"""
WRAPPER = """
@_runs(tile)
def _maybe_tile(graph):
    {}
"""


def test_a_pipeline_without_wrappers_is_enough():
    """The list then comes before the pipeline's class."""
    changed = observe(parse(PIPELINE.format("each(graph)").encode())).code

    assert "_run_observed(each, graph)" in changed
    assert changed.index("pass_observers: list") < changed.index("class CustomPre")


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("", "no class CustomPreSchedulingPasses"),
        (PIPELINE.format("each(graph, 1); each(graph)"), "2 call of a pass"),
        (PIPELINE.format("run(each, graph)"), "no call of a pass"),
        (PIPELINE.format("each(graph)").replace("Any, ", ""), "does not import Any"),
        (PIPELINE.format("each(graph)").replace("self.passes", "()"), "no loop"),
        (
            PIPELINE.format("each(graph)") + WRAPPER.format("tile(groups)"),
            "_maybe_tile runs none of its passes on graph",
        ),
        (
            PIPELINE.format("each(graph)") + WRAPPER.format("tile(graph)"),
            "_runs does not set _pass_sources",
        ),
    ],
)
def test_other_shapes_are_not_recognised(source, complaint):
    """A pass that nobody would be told of is an error, not a silence."""
    with pytest.raises(UnrecognisedError, match=complaint):
        observe(parse(source.encode()))
