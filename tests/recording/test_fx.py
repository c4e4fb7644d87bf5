"""Reading FX graphs."""

from __future__ import annotations

import operator

import pytest
import torch

from torch_spyre_provenance.model import FX_FIELDS, Presence
from torch_spyre_provenance.recording.fx import (
    FxReader,
    StackTable,
    module_path,
    source_digest,
    target_text,
)

TRACE = '  File "/m.py", line 3, in f\n    y = x + x\n        ~~^~~\n'


def reader() -> FxReader:
    """Return a reader with empty tables."""
    return FxReader(stacks=StackTable())


def graph_of_two() -> torch.fx.Graph:
    """Return ``neg(x + x)``, the first node with a stack trace."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    total = graph.call_function(torch.add, (x, x))
    total.meta["stack_trace"] = TRACE
    graph.output(graph.call_function(operator.neg, (total,)))
    return graph


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("L['self']", ""),
        ("L['self']._modules['layers']._modules['0'].fc1", "layers.0.fc1"),
        ("L['self'].layers[0]", "layers.0"),
        ("layers.0", "layers.0"),
        ("G['model'].fc", "model.fc"),
        ("L['net'].fc", "net.fc"),
        ("", ""),
    ],
)
def test_module_path_is_from_the_root(text, path):
    """Every form that Dynamo gives a module's path becomes the dotted one."""
    assert path == module_path(text)


def test_target_text_has_no_address():
    """Targets read the same in every process."""
    assert "aten.mm.default" == target_text(torch.ops.aten.mm.default)
    assert "_operator.add" == target_text(operator.add)
    assert "relu" == target_text("relu")
    assert "0x" not in target_text(torch.nn.functional.linear)


def test_graph_is_read_in_one_walk():
    """Compute nodes, inputs and outputs are there, in order, with their data flow."""
    record = reader().graph(graph_of_two())

    assert ("x",) == record.placeholders
    assert ("neg",) == record.outputs
    assert [("add", ("x",)), ("neg", ("add",))] == [
        (node.name, node.inputs) for node in record.nodes
    ]


def test_absent_and_empty_and_populated_differ():
    """No slot, an empty slot and content are three findings."""
    graph = graph_of_two()
    node = next(iter(graph.find_nodes(op="call_function", target=torch.add)))
    node.meta["nn_module_stack"] = {}

    record = reader().node(node)

    assert FX_FIELDS == tuple(each.name for each in record.fields)
    assert [Presence.POPULATED, Presence.EMPTY, Presence.ABSENT] == [
        each.presence for each in record.fields[:3]
    ]


def test_equal_traces_are_kept_once():
    """Two nodes with one trace name the same stack, without its row of carets."""
    graph = graph_of_two()
    for node in graph.nodes:
        node.meta["stack_trace"] = TRACE
    reading = reader()

    stacks = {node.stack for node in reading.graph(graph).nodes}

    assert {0} == stacks
    assert "y = x + x" == reading.stacks.stacks[0][0].text


def test_digest_tells_lines_apart():
    """Graphs that compute the same from different lines have different digests."""
    here, there = graph_of_two(), graph_of_two()
    for node in there.nodes:
        node.meta["stack_trace"] = TRACE.replace("line 3", "line 4")

    assert source_digest(here) == source_digest(graph_of_two())
    assert source_digest(here) != source_digest(there)
