"""The graph from source lines to kernels, and the laws that it keeps."""

from __future__ import annotations

import pytest
from attrs import evolve
from bundle_factory import RECORDED, bundle, fx, ir, kernel, lines, recorded, spec
from hypothesis import HealthCheck, given, settings
from strategies import bundles

from torch_spyre_provenance.analysis.attribution import Attributor
from torch_spyre_provenance.analysis.lineage import (
    Level,
    Lineage,
    Ref,
    build_lineage,
)
from torch_spyre_provenance.model import Bundle, Evidence

RELU = "aten.relu.default"
NEXT = dict(zip(Level, list(Level)[1:], strict=False))


def lineage(value: Bundle) -> Lineage:
    """Return the lineage of a bundle."""
    return build_lineage(Attributor(value))


def pairs(found: Lineage, start: Level, end: Level) -> list[tuple[str, str, Evidence]]:
    """Return the edges between two columns."""
    return [
        (edge.start.key, edge.end.key, edge.evidence)
        for edge in found.edges
        if (edge.start.level, edge.end.level) == (start, end)
    ]


def check_laws(found: Lineage) -> None:
    """Check what every lineage keeps, whatever the bundle holds."""
    refs = [entity.ref for entity in found.entities]
    assert len(refs) == len(set(refs))
    ends = [(edge.start, edge.end) for edge in found.edges]
    assert len(ends) == len(set(ends))
    assert {ref for edge in ends for ref in edge} <= set(refs)
    reached = {ref for ref in refs if ref.level is Level.SOURCE}
    for level in Level:
        reached |= {end for start, end in ends if start in reached and level}
    for entity in found.entities:
        assert bool(entity.missing) != (entity.ref in reached)


def test_the_edges_of_the_seeds_example():
    """Every edge of the published lineage is there, and no other."""
    found = lineage(recorded("simple_mlp_torch2.11"))
    source = "/models/models.py"
    assert [p[:2] for p in pairs(found, Level.SOURCE, Level.FX_PRE_GRAD)] == [
        (f"{source}:17", "x"),
        (f"{source}:18", "x_1"),
        (f"{source}:19", "linear_1"),
    ]
    assert [p[:2] for p in pairs(found, Level.FX_PRE_GRAD, Level.FX_POST_GRAD)] == [
        ("x", "permute"),
        ("x", "mm_default_1"),
        ("x", "add_tensor_1"),
        ("x_1", "relu"),
        ("linear_1", "permute_1"),
        ("linear_1", "mm_default"),
        ("linear_1", "add_tensor"),
    ]
    assert [p[:2] for p in pairs(found, Level.FX_POST_GRAD, Level.LOOP_IR_PRE)] == [
        ("mm_default_1", "buf0"),
        ("permute", "buf0"),
        ("add_tensor_1", "buf1"),
        ("relu", "buf2"),
        ("mm_default", "buf3"),
        ("permute_1", "buf3"),
        ("add_tensor", "buf4"),
    ]
    name = "sdsc_fused_addmm_linear_relu_0"
    assert pairs(found, Level.LOOP_IR_PRE, Level.LOOP_IR_POST) == [
        (f"buf{n}", f"buf{n}", Evidence.MEASURED) for n in range(5)
    ]
    assert pairs(found, Level.LOOP_IR_POST, Level.OP_SPEC) == [
        (f"buf{n}", f"{name}/{n}", Evidence.MEASURED) for n in range(5)
    ]
    assert pairs(found, Level.OP_SPEC, Level.KERNEL) == [
        (f"{name}/{n}", name, Evidence.MEASURED) for n in range(5)
    ]
    assert len(found.edges) == 3 + 7 + 7 + 5 + 5 + 5


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_bundles_keep_the_laws_and_skip_no_stage(name):
    """Every edge leads to the very next column, and everything has a source."""
    found = lineage(recorded(name))
    check_laws(found)
    assert {NEXT[edge.start.level] for edge in found.edges} == set(NEXT.values())
    assert all(NEXT[edge.start.level] is edge.end.level for edge in found.edges)
    assert [entity for entity in found.entities if entity.missing] == []


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(bundles())
def test_any_bundle_keeps_the_laws(value):
    """Whatever a bundle holds, each entity has a path to a source or a reason."""
    check_laws(lineage(value))


def test_two_calls_on_one_line_keep_their_own_nodes():
    """Each post-grad node hangs on its own call, not on all of that line."""
    found = lineage(
        bundle(
            stacks=lines(1),
            pre=(fx("x", "relu", stack=0), fx("y", "relu", "x", stack=0)),
            post=(
                fx("relu", RELU, stack=0, aten=RELU, came_from=("x",)),
                fx("relu_1", RELU, "relu", stack=0, aten=RELU, came_from=("y",)),
            ),
        )
    )
    assert pairs(found, Level.FX_PRE_GRAD, Level.FX_POST_GRAD) == [
        ("x", "relu", Evidence.MEASURED),
        ("y", "relu_1", Evidence.MEASURED),
    ]


def test_a_join_by_line_alone_is_inferred():
    """A node that names no call hangs on those of its line, marked as such."""
    found = lineage(
        bundle(
            stacks=lines(1),
            pre=(fx("x", "relu", stack=0),),
            post=(fx("relu", RELU, stack=0, aten=RELU),),
        )
    )
    (edge,) = [e for e in found.edges if e.end.level is Level.FX_POST_GRAD]
    assert (edge.evidence, edge.rule) == (Evidence.INFERRED, "same line")


def test_an_inserted_operation_hangs_on_what_it_serves():
    """A restickify has no origin; it hangs on the op that it was inserted for."""
    found = lineage(recorded("plain_weight_torch2.13"))
    assert pairs(found, Level.LOOP_IR_PRE, Level.LOOP_IR_POST) == [
        ("buf0", "buf3", Evidence.INFERRED),
        ("buf0", "buf0", Evidence.MEASURED),
        ("buf1", "buf1", Evidence.MEASURED),
        ("buf2", "buf2", Evidence.MEASURED),
    ]


def test_an_operation_split_from_another_hangs_on_it():
    """A new buffer whose node came from a recorded one is measured."""
    found = lineage(
        bundle(
            stacks=lines(1),
            post=(fx("gelu", "aten.gelu.default", stack=0),),
            later=(fx("mul", "aten.mul.Tensor", came_from=("gelu",)),),
            ir_pre=(ir(0, "gelu"),),
            ir_post=(ir(1, "mul"), ir(0, "gelu", reads=("buf1",))),
        )
    )
    assert pairs(found, Level.LOOP_IR_PRE, Level.LOOP_IR_POST) == [
        ("buf0", "buf1", Evidence.MEASURED),
        ("buf0", "buf0", Evidence.MEASURED),
    ]


def test_stages_that_were_not_recorded_are_bridged():
    """Without pre-grad and IR, lines lead to post-grad and nodes to ops."""
    value = recorded("simple_mlp_torch2.13")
    found = lineage(
        evolve(value, fx_pre_grad=None, loop_ir_pre=None, loop_ir_post=None)
    )
    check_laws(found)
    assert len(pairs(found, Level.SOURCE, Level.FX_POST_GRAD)) == 7
    assert len(pairs(found, Level.FX_POST_GRAD, Level.OP_SPEC)) == 5
    only_post = lineage(evolve(value, loop_ir_pre=None))
    assert len(pairs(only_post, Level.FX_POST_GRAD, Level.LOOP_IR_POST)) == 7
    only_pre = lineage(evolve(value, loop_ir_post=None))
    assert len(pairs(only_pre, Level.LOOP_IR_PRE, Level.OP_SPEC)) == 5
    assert pairs(only_pre, Level.FX_POST_GRAD, Level.OP_SPEC) == []


def test_what_has_no_source_says_why():
    """A missing line is a reason on every entity below it."""
    found = lineage(bundle(pre=None, post=None, kernels=(kernel(spec(0)),)))
    reasons = {entity.ref: entity.missing for entity in found.entities}
    assert reasons == {
        Ref(Level.OP_SPEC, "sdsc_fused_0/0"): "no operation is known to be behind it",
        Ref(Level.KERNEL, "sdsc_fused_0"): "no op of it has a line",
    }
