"""Calls of the model: several on a line, several of one text, one read twice."""

from __future__ import annotations

import torch
from scenarios.compiling import half, op_lines

from torch_spyre_provenance.analysis.attribution import Attributor, attribute
from torch_spyre_provenance.analysis.lineage import Level, build_lineage
from torch_spyre_provenance.model import Evidence


def edges(bundle, start: Level, end: Level) -> list[tuple[str, str]]:
    """Return the edges of a bundle's lineage between two columns."""
    return [
        (edge.start.key, edge.end.key)
        for edge in build_lineage(Attributor(bundle)).edges
        if (edge.start.level, edge.end.level) == (start, end)
    ]


def test_two_calls_on_one_line_keep_their_nodes_and_columns(record_one):
    """Each call keeps its own edges, none goes for its line (torch-spyre#3206)."""

    def model(x, y):
        return torch.exp(x) * torch.exp(y)  # both

    bundle = record_one(model, half(4, 64), half(4, 64))

    assert [("exp", ["both"]), ("exp", ["both"]), ("mul", ["both"])] == op_lines(bundle)
    if torch.__version__ >= (2, 13):  # traces before that mark no columns
        left, right, product = (
            each.locations[0].frame.column for each in attribute(bundle)
        )
        assert left < right
        assert left == product
    assert [("exp", "exp"), ("exp_1", "exp_1"), ("mul", "mul")] == edges(
        bundle, Level.FX_PRE_GRAD, Level.FX_POST_GRAD
    )


def test_two_lines_of_one_text_stay_two(record_one):
    """Lines are told apart by number; equal texts do not merge them."""

    def model(x):
        x = torch.relu(x + 1.0)
        y = torch.relu(x + 1.0)
        return x * y

    bundle = record_one(model, half(4, 64))

    first = model.__code__.co_firstlineno
    assert [first + 1, first + 1, first + 2, first + 2, first + 3] == [
        each.locations[0].frame.line for each in attribute(bundle)
    ]


def test_value_that_is_read_twice_by_one_call_has_one_edge(record_one):
    """``x + x`` loses nothing: neither line nor argument (torch-spyre#2592, #2247)."""

    def model(x):
        y = torch.exp(x)  # exp
        return y + y  # twice

    bundle = record_one(model, half(4, 64))

    assert [("exp", ["exp"]), ("add", ["twice"])] == op_lines(bundle)
    assert {Evidence.MEASURED} == {each.evidence for each in attribute(bundle)}
    _, op = bundle.ops[1]
    assert ("buf0",) == bundle.loop_ir_post.ops[1].reads
    assert [True, True, False] == [arg.is_input for arg in op.args]


def test_product_and_sum_on_two_lines_keep_them(record_one):
    """A product that Inductor joins with a later sum keeps the line of the product."""

    def model(x, w, c):
        product = x @ w  # product
        other = torch.relu(c)  # other
        return product + other  # sum

    bundle = record_one(model, half(64, 64), half(64, 64), half(64, 64))

    assert {"batchmatmul": ["product"], "relufwd": ["other"], "add": ["sum"]} == dict(
        op_lines(bundle)
    )


def test_each_turn_of_a_loop_has_its_own_calls(record_one):
    """Turns share the line, and each op hangs on its own turn (tritonparse#193)."""

    def model(x):
        for _ in range(3):
            x = torch.relu(x * x)  # turn
        return x

    bundle = record_one(model, half(4, 64))

    assert [("mul", ["turn"]), ("relufwd", ["turn"])] * 3 == op_lines(bundle)
    pairs = edges(bundle, Level.FX_PRE_GRAD, Level.FX_POST_GRAD)
    calls = {end: start for start, end in pairs}
    assert len(bundle.fx_pre_grad.nodes) == len(set(calls.values())) == 6
    users = {node.name: node.inputs for node in bundle.fx_pre_grad.nodes}
    assert [calls["mul_1"], calls["mul_2"]] == [
        users[calls["relu_1"]][0],
        users[calls["relu_2"]][0],
    ]


def test_replacement_is_recorded_once_however_many_read_it(record_one):
    """A node with three readers is replaced by one node once (pytorch#159484)."""

    def model(x, w, b):
        y = torch.addmm(b, x, w)  # product
        return torch.exp(y) + torch.relu(y) * y  # readers

    bundle = record_one(model, half(64, 64), half(64, 64), half(64, 64))

    pairs = [(each.new, each.old) for each in bundle.replacements]
    assert len(pairs) == len(set(pairs)) == 2
    assert [("batchmatmul", ["product"]), ("add", ["product"])] == op_lines(bundle)[:2]
