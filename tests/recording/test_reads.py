"""What an operation reads, asked in the cheap way and in the thorough one."""

from __future__ import annotations

import pytest
import torch
from torch._dynamo.exc import BackendCompilerFailed
from torch._inductor import config, ir
from torch._inductor.virtualized import V

from torch_spyre_provenance.recording.fx import FieldTable, FxReader, StackTable
from torch_spyre_provenance.recording.ir import IrReader


class LoweringIsOverError(Exception):
    """Ends a compile before any kernel is made."""


def lowered(model, *inputs):
    """Return pairs of what the operations of a model read, in both ways, and loops."""
    found = []

    def look(_nodes):
        operations = list(V.graph.operations)
        for as_lowered in (True, False):
            fields = FieldTable()
            reader = IrReader(
                fx=FxReader(stacks=StackTable(), fields=fields), fields=fields
            )
            graph = reader.graph(operations, frozenset(), as_lowered=as_lowered)
            found.append({op.name: op.reads for op in graph.ops})
        found.append({type(getattr(each, "data", None)) for each in operations})
        raise LoweringIsOverError

    torch._dynamo.reset()
    with (
        config.patch(_pre_fusion_custom_pass=look, fx_graph_cache=False),
        pytest.raises(BackendCompilerFailed, match="LoweringIsOverError"),
    ):
        torch.compile(model)(*inputs)
    return found


def scatter(x, index):
    """Read the index outside of the loop's body."""
    return torch.zeros(8, 64).index_put((index,), x + 1, accumulate=True)


def variance(x, _index):
    """Take sums of two kinds in one loop."""
    return torch.var_mean(x.repeat(1, 400), dim=-1)


def softmax(x, _index):
    """Take a maximum and a sum in one loop."""
    return torch.softmax(x, dim=-1)


def gather(x, index):
    """Read where another tensor says."""
    return torch.relu(x)[index] + x


def parts(x, _index):
    """Read several tensors in one loop, each where it has something."""
    y = torch.cat((x, x.exp(), x.sin()), dim=-1)
    return torch.nn.functional.pad(y, (1, 2))[:, 3:] * 2


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (scatter, ir.Scatter),
        (variance, ir.WelfordReduction),
        (softmax, ir.Reduction),
        (gather, ir.Pointwise),
        (parts, ir.Pointwise),
    ],
)
def test_both_ways_find_the_same(model, kind):
    """The names that lowering counted are those of all reads."""
    cheap, thorough, kinds = lowered(
        model, torch.rand(4, 64), torch.tensor([1, 0, 3, 1])
    )
    assert kind in kinds
    assert thorough == cheap
    assert any(thorough.values())
