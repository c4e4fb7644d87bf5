"""The passes between lowering and scheduling, and what they do to the provenance."""

from __future__ import annotations

import pytest
import torch
from attrs import frozen

from torch_spyre_provenance.frontends.reference import passes
from torch_spyre_provenance.frontends.reference.provenance import HISTORY
from torch_spyre_provenance.model import ProvenanceTransform


@frozen
class Seen:
    """What one observer saw of an operation."""

    buffer: str
    origins: tuple[str, ...]
    origin_node: str | None


def look(graph):
    """Describe the operations of a graph."""
    return [
        Seen(
            operation.get_name(),
            tuple(sorted(node.name for node in operation.origins)),
            operation.origin_node and operation.origin_node.name,
        )
        for operation in graph.operations
    ]


@pytest.fixture
def watched():
    """Keep what each pass was given and what it left."""
    kept = {}

    def observe(name, graph, *, after):
        kept[name, after] = look(graph)

    passes.OBSERVERS.append(observe)
    yield kept
    passes.OBSERVERS.remove(observe)


def compile_for_device(function, *args):
    """Compile and run without gradients."""
    with torch.no_grad():
        return torch.compile(function)(*(arg.to("spyre") for arg in args))


def half(*shape):
    """Return ones in half precision."""
    return torch.ones(shape, dtype=torch.float16)


def test_every_pass_is_observed_in_order(compiled, watched):
    """An observer sees the graph before and after each pass of the list."""
    compile_for_device(torch.relu, half(4, 64))
    expected = [
        (step.__name__, after)
        for step in passes.PRE_SCHEDULING
        for after in (False, True)
    ]
    assert expected == list(watched)


def test_one_op_stays_as_it_is(compiled, watched):
    """A graph that needs nothing comes out as it went in."""
    compile_for_device(torch.relu, half(4, 64))
    assert [Seen("buf0", ("relu",), "relu")] == watched["work_distribution", True]


def test_split_names_the_original(compiled, watched):
    """The scaled operand of an addition becomes a buffer with a node of its own."""
    x = half(4, 64)
    compile_for_device(lambda a, b: torch.add(a, b, alpha=2), x, x)
    before = watched["split_multi_ops", False]
    after = watched["split_multi_ops", True]
    assert [Seen("buf0", ("add",), "add")] == before
    assert [
        Seen("buf1", ("constant_default",), "constant_default"),
        Seen("buf2", ("mul_tensor",), "mul_tensor"),
        Seen("buf0", ("add",), "add"),
    ] == after
    node = compiled.buffers["buf2"].origin_node
    (step,) = node.meta["from_node"]
    assert ("add", "split_multi_ops") == (step.name, step.pass_name)
    assert torch.ops.aten.mul.Tensor == node.meta["original_aten"]
    assert compiled.buffers["buf0"].origin_node.stack_trace == node.stack_trace
    history = getattr(compiled.buffers["buf2"], HISTORY)
    assert (
        ProvenanceTransform(
            kind="decomposition",
            pass_name="split_multi_ops",
            reason="materialize mul",
        ),
    ) == history


def test_a_number_is_not_a_decomposition(compiled):
    """An op that only got its number from a buffer has no history."""
    compile_for_device(lambda a: a * 2, half(4, 64))
    assert [()] == [spec.debug_handle.transform_history for spec in compiled.specs]


def test_restickify_has_no_source(compiled, watched):
    """The copy's one origin is a node that knows no line; the product keeps its own."""
    x = half(64, 128)
    compile_for_device(lambda a: a @ a.t(), x)
    assert [
        Seen("buf1", ("restickify_default",), "restickify_default"),
        Seen("buf0", ("mm", "permute"), "mm"),
    ] == watched["insert_restickify", True]
    copy, product = compiled.specs
    assert (None, None) == (copy.debug_handle.source, copy.debug_handle.aten_op)
    assert product.debug_handle.source is not None


def test_one_copy_serves_one_op_only_where_it_must(compiled):
    """A weight that lies as the product wants it is not copied."""
    model = torch.nn.Linear(128, 64).half()
    with torch.no_grad():
        torch.compile(model.to("spyre"))(half(4, 128).to("spyre"))
    assert [["batchmatmul", "add"]] == compiled.ops


def test_equal_numbers_are_merged_and_moved_to_the_front(compiled, watched):
    """Two buffers read one constant, which comes before both."""
    compile_for_device(lambda a: torch.relu(a * 2) * 2, half(4, 64))
    buffers = [seen.buffer for seen in watched["dedup_and_promote_constants", True]]
    assert ["buf3", "buf0", "buf1", "buf2"] == buffers
    assert [["mul", "relufwd", "mul"]] == compiled.ops


def test_dead_code_is_removed(compiled, watched):
    """A constant that was read in place leaves no loop nest behind."""
    fill = torch.ops.aten.full_like.default
    compile_for_device(lambda a: a + fill(a, 3.0), half(4, 64))
    assert [["add"]] == compiled.ops


def test_work_is_divided(compiled):
    """Rows over the cores first, then columns by sticks, then one reduced loop."""
    compile_for_device(torch.mm, half(2, 128), half(128, 256))
    (product,) = [spec for spec in compiled.specs if spec.op == "batchmatmul"]
    space = {str(s): (int(n), c) for s, (n, c) in product.iteration_space.items()}
    assert {"c0": (2, 2), "c1": (256, 4), "c2": (128, 2)} == space
