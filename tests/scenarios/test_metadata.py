"""Metadata that other passes leave on nodes: odd, deep, or none at all."""

from __future__ import annotations

import pytest
import torch
import torch._inductor.config as inductor_config
from scenarios.compiling import half, op_lines
from torch.fx.traceback import NodeSource, NodeSourceAction

import torch_spyre_provenance
from torch_spyre_provenance.analysis.attribution import attribute
from torch_spyre_provenance.analysis.coverage import measure_coverage
from torch_spyre_provenance.analysis.losses import find_losses
from torch_spyre_provenance.model import Evidence
from torch_spyre_provenance.recording.fx import (
    MAX_HISTORY,
    FxReader,
    StackTable,
)


def model(x):
    """Return two lines."""
    y = torch.exp(x)  # exp
    return torch.relu(y)  # relu


def test_stack_trace_on_an_output_breaks_nothing(record_one):
    """Metadata where nobody expects it is left alone (pytorch#157183)."""

    def tag_outputs(graph: torch.fx.Graph) -> None:
        (output,) = graph.find_nodes(op="output")
        output.meta["stack_trace"] = '  File "nowhere.py", line 1, in f\n'
        output.meta["nn_module_stack"] = {"": ("", "nowhere")}

    with inductor_config.patch(pre_grad_custom_pass=tag_outputs):
        bundle = record_one(model, half(4, 64))

    assert [("exp", ["exp"]), ("relufwd", ["relu"])] == op_lines(bundle)


def test_metadata_of_another_shape_costs_its_stage_and_no_compile(bundles):
    """A node that cannot be read is a failure that is counted, not a broken compile."""

    def spoil(graph: torch.fx.Graph) -> None:
        for node in graph.nodes:
            node.meta["source_fn_stack"] = [("alone",)]

    torch._dynamo.reset()
    with (
        inductor_config.patch(pre_grad_custom_pass=spoil),
        torch_spyre_provenance.record(out=bundles) as recording,
        torch.no_grad(),
    ):
        result = torch.compile(model)(half(4, 64).to("spyre"))

    assert torch.equal(torch.full((4, 64), torch.e).half(), result.cpu())
    (recorded,) = recording.bundles
    failed = {o.point: o.error for o in recorded.bundle.all_observations if o.failed}
    assert "pre_grad_graph" in failed
    assert "IndexError" in failed["pre_grad_graph"]


def read(node: torch.fx.Node):
    """Return the record of a node."""
    return FxReader(stacks=StackTable()).node(node)


def with_history(depth: int, width: int) -> torch.fx.Node:
    """Return a node whose history has a number of steps, each from `width` equals."""
    node = torch.fx.Graph().placeholder("x")
    sources: list[NodeSource] = []
    for number in range(depth):
        node.name = f"x_{number}"
        source = NodeSource(node, "a_pass", NodeSourceAction.CREATE)
        source.from_node = sources
        sources = [source] * width
    node.meta["from_node"] = sources
    return node


@pytest.mark.parametrize("width", [1, 2])
def test_deep_history_is_bounded_and_keeps_its_end(width):
    """Histories are walked, not copied: 2 to the 500 ways end soon (pytorch#193051)."""
    record = read(with_history(500, width))

    assert MAX_HISTORY >= len(record.from_nodes)
    assert ("x_499", 0) == (record.from_nodes[0].name, record.from_nodes[0].depth)
    assert ("x_0", 499) == (record.from_nodes[-1].name, record.from_nodes[-1].depth)


class Block(torch.nn.Module):
    """Attention and a feed-forward layer: what a transformer repeats."""

    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(3))
        self.up, self.down = torch.nn.Linear(64, 128), torch.nn.Linear(128, 64)
        self.norm = torch.nn.LayerNorm(64)

    def forward(self, x):
        q, k, v = (each(x) for each in self.qkv)
        scores = torch.softmax(q @ k.transpose(-1, -2) * 0.125, dim=-1)
        x = self.norm(x + scores @ v)
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


def test_lines_survive_every_pass_of_a_transformer_block(record_one):
    """No pass drops a location, and no op ends without one (tvm#12129, #13116)."""
    bundle = record_one(Block().half().to("spyre"), half(1, 64, 64))

    coverage = measure_coverage(attribute(bundle))
    assert (coverage.total, 0) == (coverage.attributed, coverage.missing)
    assert () == find_losses(bundle)
    assert coverage.inferred == sum(
        found.evidence is Evidence.INFERRED and found.op == "ReStickifyOpHBM"
        for found in attribute(bundle)
    )
