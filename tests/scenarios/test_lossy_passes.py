"""Passes that lose provenance on purpose: found, named, charged to the right buffer."""

from __future__ import annotations

import pytest
import torch
from attrs import evolve
from scenarios.compiling import half, op_lines
from torch._inductor import ir
from torch.utils._ordered_set import OrderedSet

import torch_spyre_provenance
from torch_spyre_provenance.analysis.attribution import attribute
from torch_spyre_provenance.analysis.losses import ALL_PASSES, find_losses
from torch_spyre_provenance.analysis.origins import Rule
from torch_spyre_provenance.cli import main
from torch_spyre_provenance.frontends import reference
from torch_spyre_provenance.frontends.reference import passes
from torch_spyre_provenance.frontends.reference.ir import SpyreConstantFallback
from torch_spyre_provenance.frontends.reference.rewriting import add_buffer, add_node
from torch_spyre_provenance.model import Evidence


def set_on(operation, **attributes):
    """Set attributes of an operation, which is a frozen value."""
    for name, value in attributes.items():
        object.__setattr__(operation, name, value)


def computing(graph, name):
    """Return the operation that computes an FX node."""
    return next(op for op in graph.operations if op.origin_node.name == name)


def drop_all(graph, _plan):
    """Lose everything of the relu."""
    set_on(computing(graph, "relu"), origins=OrderedSet(), origin_node=None)


def drop_one_of_two(graph, _plan):
    """Lose one origin of the product, which has two."""
    product = computing(graph, "mm")
    kept = [node for node in product.origins if node.name != "permute"]
    set_on(product, origins=OrderedSet(kept))


def drop_origin_node(graph, _plan):
    """Lose which origin stands for the last operation."""
    set_on(computing(graph, "exp"), origin_node=None)


def rename_and_drop(graph, _plan):
    """Give the relu's operation another name, and lose what it had."""
    relu = computing(graph, "relu")
    graph.name_to_op["op77"] = relu
    set_on(relu, operation_name="op77", origins=OrderedSet(), origin_node=None)


def rebuild_and_drop(graph, _plan):
    """Put a new object of the same name in place of the relu's operation."""
    old = computing(graph, "relu")
    new = ir.ComputedBuffer(name=old.name, layout=old.layout, data=old.data)
    name = old.operation_name
    set_on(new, operation_name=name, origins=OrderedSet(), origin_node=None)
    graph.operations[graph.operations.index(old)] = new
    graph.buffers[graph.buffers.index(old)] = new
    graph.name_to_buffer[old.name] = graph.name_to_op[name] = new


def insert_and_drop(graph, _plan):
    """Make a buffer without a source, as a pass may, and lose an old one's origins."""
    last = graph.operations[-1]
    device, dtype = last.get_device_or_error(), torch.float16
    node = add_node(graph, torch.ops.spyre.constant.default, (5.0, dtype, device))
    layout = ir.FixedLayout(device, dtype, [], [])
    add_buffer(graph, node, lambda: SpyreConstantFallback(5.0, layout), None)
    set_on(last, origins=OrderedSet(), origin_node=None)


def model(x, w):
    """Return three lines: a product of two origins, and two more ops."""
    product = x @ w.t()  # product
    y = torch.relu(product)  # relu
    return torch.exp(y)  # exp


@pytest.fixture
def recorded(tmp_path):
    """Return a function that records the model's compile with more passes."""
    reference.load()

    def run(*extra):
        torch._dynamo.reset()
        passes.EXTRA.extend(extra)
        with (
            torch_spyre_provenance.record(out=tmp_path, strict=True) as recording,
            torch.no_grad(),
        ):
            inputs = (half(4, 64).to("spyre"), half(64, 64).to("spyre"))
            torch.compile(model)(*inputs)
        (done,) = recording.bundles
        return done

    yield run
    passes.EXTRA.clear()
    torch._dynamo.reset()


CASES = [
    (drop_all, "op1", "buf1", "origins", "relu"),
    (drop_one_of_two, "op0", "buf0", "origins", "permute"),
    (drop_origin_node, "op2", "buf2", "origin_node", "exp"),
    (rename_and_drop, "op77", "buf1", "origins", "relu"),
    (rebuild_and_drop, "op1", "buf1", "origins", "relu"),
    (insert_and_drop, "op2", "buf2", "origins", "exp"),
]
"""A pass, and the loss that it makes: operation, buffer, field, lost FX nodes."""


@pytest.mark.parametrize(
    "case",
    CASES,
    ids=[case[0].__name__ for case in CASES],
)
def test_loss_is_found_everywhere(recorded, capsys, case):
    """The bundle, the analysis, the report and the gate name it (torch-spyre#3181)."""
    extra, op, buffer, what, lost = case
    done = recorded(extra)

    name = extra.__name__
    assert [name] == [step.name for step in done.bundle.passes if step.losses]
    found = find_losses(done.bundle)
    assert (name, op, buffer, what, (lost,)) in {
        (each.pass_name, each.loss.op, each.loss.buffer, each.loss.what, each.lost)
        for each in found
    }
    assert {buffer} == {each.loss.buffer for each in found}
    report = (done.path / "report.md").read_text().splitlines()
    rows = [line for line in report if line.startswith(f"| `{name}`")]
    assert 1 == sum(f"**`{op}`** `{what}`: `{lost}`" in row for row in rows)
    assert 3 == main(["check", str(done.path), "--no-loss"])
    assert f"{name}: {op} ({buffer}) lost {what} {lost}" in capsys.readouterr().out


def test_each_loss_is_charged_to_its_own_pass(recorded):
    """What an earlier pass lost is not lost again in a later one."""
    bundle = recorded(drop_one_of_two, insert_and_drop, drop_all).bundle

    assert [
        ("drop_one_of_two", "buf0", "origins"),
        ("insert_and_drop", "buf2", "origins"),
        ("insert_and_drop", "buf2", "origin_node"),
        ("drop_all", "buf1", "origins"),
        ("drop_all", "buf1", "origin_node"),
    ] == [
        (each.pass_name, each.loss.buffer, each.loss.what)
        for each in find_losses(bundle)
    ]


def test_loss_is_found_without_an_observer_of_the_passes(recorded):
    """Before and after are compared, and the passes as a whole are charged."""
    bundle = evolve(recorded(rename_and_drop).bundle, passes=None)

    assert [(ALL_PASSES, "buf1", "origins"), (ALL_PASSES, "buf1", "origin_node")] == [
        (each.pass_name, each.loss.buffer, each.loss.what)
        for each in find_losses(bundle)
    ]


def test_what_passes_are_there_to_do_is_no_loss(recorded):
    """A restickify is made without a source; nothing that was there has less."""
    bundle = recorded().bundle

    made = [made for step in bundle.passes for made in step.created]
    assert [("buf3", False)] == [(each.buffer, each.has_source) for each in made]
    assert () == find_losses(bundle)
    assert 0 == len([step for step in bundle.passes if step.losses])


@pytest.mark.parametrize("extra", [drop_all, rename_and_drop, rebuild_and_drop])
def test_op_that_lost_its_origins_is_not_given_its_readers_line(recorded, extra):
    """It was no insertion: it keeps its own line, by a rule of its own."""
    bundle = recorded(extra).bundle

    assert [
        ("ReStickifyOpHBM", ["product"]),
        ("batchmatmul", ["product"]),
        ("relufwd", ["relu"]),
        ("exp", ["exp"]),
    ] == op_lines(bundle)
    relu = attribute(bundle)[2]
    assert (Evidence.INFERRED, Rule.BEFORE_LOSS) == (relu.evidence, relu.rule)
