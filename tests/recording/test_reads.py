"""What an operation reads, asked in cheap ways and in Inductor's thorough one."""

from __future__ import annotations

import pytest
import torch
from torch._dynamo.exc import BackendCompilerFailed
from torch._inductor import config, ir
from torch._inductor.virtualized import V

from torch_spyre_provenance.recording.fx import FxReader, StackTable
from torch_spyre_provenance.recording.ir import IrReader


class LoweringIsOverError(Exception):
    """Ends a compile before any kernel is made."""


def lowered(model, *inputs):
    """Return what the operations of a model read, in three ways, and their loops."""
    found = []

    def look(_nodes):
        operations = list(V.graph.operations)
        for as_lowered in (True, False):
            reader = IrReader(fx=FxReader(stacks=StackTable()))
            graph = reader.graph(operations, frozenset(), as_lowered=as_lowered)
            found.append({op.name: op.reads for op in graph.ops})
        found.append(
            {
                each.get_operation_name(): tuple(
                    sorted({dep.name for dep in each.get_read_writes().reads})
                )
                for each in operations
            }
        )
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


def buckets(x, _index):
    """Look up in a table, and take a number apart."""
    found = torch.bucketize(x, torch.tensor([0.1, 0.5, 0.9]))
    mantissa, exponent = torch.frexp(x)
    return found + mantissa + exponent


def dropped(x, _index):
    """Draw random numbers from a seed in a buffer."""
    return torch.nn.functional.dropout(x, 0.5) + torch.rand_like(x)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (buckets, ir.Pointwise),
        (dropped, ir.Pointwise),
        (scatter, ir.Scatter),
        (variance, ir.WelfordReduction),
        (softmax, ir.Reduction),
        (gather, ir.Pointwise),
        (parts, ir.Pointwise),
    ],
)
def test_all_ways_find_the_same(model, kind):
    """What lowering counted, what the body asks for, and what Inductor works out."""
    index = torch.tensor([1, 0, 3, 1])
    counted, run, thorough, kinds = lowered(model, torch.rand(4, 64), index)
    assert kind in kinds
    assert thorough == counted
    assert thorough == run
    assert any(thorough.values())
