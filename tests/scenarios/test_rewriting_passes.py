"""Passes that make several operations of one, or one of several: lines go along."""

from __future__ import annotations

import pytest
import torch
from attrs import evolve
from scenarios.compiling import half, op_lines
from torch.utils._ordered_set import OrderedSet

from torch_spyre_provenance.analysis.attribution import Attributor, attribute
from torch_spyre_provenance.analysis.losses import find_losses
from torch_spyre_provenance.analysis.rewrites import Shape, find_rewrites
from torch_spyre_provenance.frontends.reference import passes
from torch_spyre_provenance.frontends.reference.rewriting import exchange_loads
from torch_spyre_provenance.frontends.reference.tracing import trace
from torch_spyre_provenance.report.facts import report_facts
from torch_spyre_provenance.report.markdown import render


def computing(graph, name):
    """Return the operation that computes an FX node."""
    return next(op for op in graph.operations if op.origin_node.name == name)


def merge(graph, _plan):
    """Let the exponential take the relu's place, and its origins along."""
    relu, exp = computing(graph, "relu"), computing(graph, "exp")
    (source,) = trace(relu).loads
    (load,) = trace(exp).loads
    exchange_loads(exp, {load: evolve(load, buffer=source.buffer)})
    graph.operations.remove(relu)
    both = OrderedSet([*exp.origins, *relu.origins])
    object.__setattr__(exp, "origins", both)


@pytest.fixture
def merging():
    """Run the pass that merges after the pipeline's own."""
    passes.EXTRA.append(merge)
    yield
    passes.EXTRA.clear()


def test_parts_of_a_divided_op_keep_its_line(record_one):
    """No part of an op that a pass takes apart is without a line (iree#11931)."""

    def model(x, y):
        z = torch.add(x, y, alpha=3.0)  # scaled
        return torch.exp(z)  # exp

    bundle = record_one(model, half(4, 64), half(4, 64))

    assert [("mul", ["scaled"]), ("add", ["scaled"]), ("exp", ["exp"])] == (
        op_lines(bundle)
    )
    (split,) = find_rewrites(bundle)
    assert ("split_multi_ops", Shape.ONE_TO_MANY) == (split.pass_name, split.shape)
    assert () == find_losses(bundle)


@pytest.mark.usefixtures("merging")
def test_op_that_was_merged_of_two_has_both_lines(record_one):
    """What a pass joins has all lines, the one that stands for it first."""

    def model(x):
        z = torch.relu(x)  # relu
        return torch.exp(z)  # exp

    bundle = record_one(model, half(4, 64))

    assert [("exp", ["exp", "relu"])] == op_lines(bundle)
    (found,) = attribute(bundle)
    assert ("exp", "relu") == found.nodes
    (merged,) = find_rewrites(bundle)
    assert ("merge", Shape.MANY_TO_ONE) == (merged.pass_name, merged.shape)
    assert (("op0", "op1"), ("op1",), ("relu",)) == (
        merged.old,
        merged.new,
        merged.gained,
    )
    assert () == find_losses(bundle)


@pytest.mark.usefixtures("merging")
def test_reports_say_what_became_of_what(record_one):
    """Below the passes, and among the facts for other tools."""

    def model(x):
        return torch.exp(torch.relu(x))

    bundle = record_one(model, half(4, 64))

    assert "| `merge` | n→1 | `op0`, `op1` | `op1` |" in render(bundle).splitlines()
    (fact,) = report_facts(Attributor(bundle))["rewrites"]
    assert ("merge", "n→1", ("relu",)) == (
        fact["pass_name"],
        fact["shape"],
        fact["gained"],
    )
