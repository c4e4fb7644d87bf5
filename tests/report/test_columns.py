"""The page's data: it says what the lineage says, and no more than it must."""

from __future__ import annotations

import json
from itertools import accumulate

import pytest
from attrs import evolve
from bundle_factory import RECORDED, bundle, fx, ir, kernel, line, recorded, spec
from report.many_ops import many_ops

from torch_spyre_provenance.analysis.attribution import Attributor
from torch_spyre_provenance.analysis.lineage import Level, build_lineage
from torch_spyre_provenance.model import Bundle
from torch_spyre_provenance.report.columns import column_data

MIB = 1 << 20
RELU = "aten.relu.default"


def data_of(value: Bundle) -> dict:
    """Return the data as the page's script gets it."""
    return json.loads(json.dumps(column_data(Attributor(value))))


def decoded(data: dict) -> list[tuple[int, int, str, str]]:
    """Return the edges as pairs of entities, with evidence and rule."""
    edges = data["edges"]
    return list(
        zip(
            accumulate(edges["start"]),
            accumulate(edges["end"]),
            edges["evidence"],
            (data["strings"][rule] for rule in edges["rule"]),
            strict=True,
        )
    )


@pytest.mark.parametrize("name", RECORDED)
def test_the_edges_are_those_of_the_lineage(name: str):
    """Up to the ops; from there, each op leads to the file that it runs."""
    value = recorded(name)
    lineage = build_lineage(Attributor(value))
    entities = [e for e in lineage.entities if e.ref.level is not Level.KERNEL]
    numbers = {entity.ref: number for number, entity in enumerate(entities)}
    expected = [
        (numbers[e.start], numbers[e.end], str(e.evidence)[0], e.rule)
        for e in lineage.edges
        if e.end.level is not Level.KERNEL
    ]
    found = decoded(data_of(value))
    files = [edge for edge in found if edge[3] == "executes"]

    assert expected == found[: len(expected)]
    assert files == found[len(expected) :]
    assert len(files) == len(value.ops)


@pytest.mark.parametrize("name", RECORDED)
def test_every_array_of_a_column_is_as_long_as_its_names(name: str):
    """They are parallel, and so is the evidence."""
    data = data_of(recorded(name))
    columns = data["columns"].values()

    for column in columns:
        assert {len(column["names"])} == {len(values) for values in column.values()}
    assert len(data["evidence"]) == sum(len(column["names"]) for column in columns)


def test_each_op_has_its_line():
    """The stack of an op ends in the frame of its line."""
    data = data_of(recorded("simple_mlp_torch2.13"))
    ops = data["columns"]["op_spec"]
    frames = [data["frames"][data["stacks"][stack][-1]] for (stack,) in ops["stacks"]]

    assert [frame[1] for frame in frames] == [17, 17, 18, 19, 19]
    assert [data["strings"][note] for note in ops["note"]] == [
        "batchmatmul",
        "add",
        "relufwd",
        "batchmatmul",
        "add",
    ]


def test_evidence_is_told_for_each_entity():
    """What has no line says why; the op's own evidence is its attribution's."""
    value = bundle(
        stacks=(line(1),),
        pre=(fx("a", "relu", stack=0),),
        post=(
            fx("p", RELU, stack=0, aten=RELU, came_from=("a",)),
            fx("q", RELU, aten="aten.q"),
        ),
        ir_post=(ir(0, "p"), ir(1, "q")),
        kernels=(kernel(spec(0), spec(1)),),
    )
    data = data_of(value)

    assert data["evidence"] == "mmmxmxmxmx"
    assert {int(entity) for entity in data["missing"]} == {3, 5, 7, 9}


def test_source_comes_from_traces_where_none_was_recorded():
    """A bundle without its source still has the lines that its traces quote."""
    data = data_of(evolve(recorded("simple_mlp_torch2.13"), sources=()))
    (file,) = data["sources"]

    assert dict(zip(file["lines"], file["texts"], strict=True)) == {
        17: "x = self.fc1(x)",
        18: "x = torch.relu(x)",
        19: "return self.fc2(x)",
    }


def test_hidden_characters_are_seen():
    """A name cannot turn the direction of the text around it."""
    value = bundle(stacks=(line(1),), pre=(fx("a\u202eb", "x", stack=0),), post=None)

    assert data_of(value)["columns"]["fx_pre_grad"]["names"] == ["a\\u202eb"]


def test_a_bundle_without_anything_has_empty_columns():
    """Stages that were not recorded are no error."""
    data = data_of(bundle(pre=None, post=None))

    assert {column: len(part["names"]) for column, part in data["columns"].items()} == (
        dict.fromkeys(data["columns"], 0)
    )


def test_ten_thousand_ops_fit():
    """The data grows with the ops and nothing else, and stays below 8 MB."""
    sizes = [len(json.dumps(column_data(Attributor(many_ops(n))))) for n in (500, 5000)]

    assert sizes[1] < 4 * MIB
    assert sizes[1] < 11 * sizes[0]
