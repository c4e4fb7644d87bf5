"""Reading LoopLevelIR changes nothing about the graph that is read."""

from __future__ import annotations

import pytest
import torch
from torch._inductor import config
from torch._inductor.codegen.common import register_backend_for_device
from torch._inductor.ir import MultiOutput
from torch._inductor.virtualized import V

from torch_spyre_provenance.frontends import reference
from torch_spyre_provenance.frontends.contract import DEVICE
from torch_spyre_provenance.recording.fx import FxReader, StackTable
from torch_spyre_provenance.recording.ir import IrReader


def model(x):
    """Return what takes an operator of two outputs, which the host runs."""
    values, _ = torch.sort(x + x)
    return values + x


@pytest.fixture
def read():
    """Compile `model`, and return what was read of its operations, and the merges.

    A merge is a call of the graph's loop simplification, whose answers it keeps: one
    that comes before the front end has set it up stays for good.
    """
    found = []
    front_end = reference.load()

    class Wrapper(front_end.wrapper):
        @classmethod
        def create(cls, *args, **kw):
            merges = []
            simplify = V.graph.sizevars._simplify_loops_impl
            V.graph.sizevars._simplify_loops_impl = lambda *a: (
                merges.append(a) or simplify(*a)
            )
            fx = FxReader(stacks=StackTable())
            operations = list(V.graph.operations)
            graph = IrReader(fx=fx).graph(operations, frozenset())
            found.append((operations, graph, len(merges)))
            del V.graph.sizevars._simplify_loops_impl
            return super().create(*args, **kw)

    register_backend_for_device(
        DEVICE,
        front_end.scheduling,
        Wrapper,
        device_custom_pass=front_end.plain_pass(),
        device_custom_config=front_end.config,
    )
    torch._dynamo.reset()
    with config.patch(fx_graph_cache=False):
        x = torch.rand(4, 64)
        actual = torch.compile(model)(x.to("spyre")).cpu()
        torch.testing.assert_close(actual, model(x))
    yield found[0]
    reference.register()


def test_no_loop_is_merged_by_reading(read):
    """An operation with several outputs is read without a merge of its loops."""
    operations, _, n_merges = read
    assert any(isinstance(each, MultiOutput) for each in operations)
    assert 0 == n_merges


def test_what_an_output_reads_is_its_kernel(read):
    """The output of an extern kernel reads the kernel, and not itself."""
    operations, graph, _ = read
    reads = {op.name: op.reads for op in graph.ops}
    for each in operations:
        if isinstance(each, MultiOutput):
            expected = (each.inputs[0].get_name(),)
            assert expected == reads[each.get_operation_name()]
