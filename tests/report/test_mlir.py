"""Ops and their locations as MLIR, read by MLIR's own parser."""

from __future__ import annotations

import os

import pytest
from attrs import evolve
from bundle_factory import RECORDED, bundle, fx, ir, kernel, line, recorded, spec
from hypothesis import HealthCheck, given, settings
from strategies import bundles

from torch_spyre_provenance.analysis.attribution import Attributor
from torch_spyre_provenance.model import Bundle, Frame, SourceFile, SourceLine
from torch_spyre_provenance.report.mlir import render_facts

HOSTILE = 'a"b\\c\nd\u202e\udc80\0é)]>'


@pytest.fixture(scope="module")
def parse():
    """MLIR's parser."""
    try:
        from iree.compiler import ir as mlir
    except ModuleNotFoundError:
        message = "MLIR's parser does not read the report: no iree-base-compiler"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)

    def parsed(value: Bundle):
        context = mlir.Context()
        context.allow_unregistered_dialects = True
        return mlir.Module.parse(render_facts(Attributor(value)), context)

    return parsed


def ops(module) -> list[tuple[dict[str, str], str]]:
    """Return the attributes of every op, and its location."""
    return [
        ({name: op.attributes[name].value for name in op.attributes}, str(op.location))
        for outer in module.body.operations
        for block in outer.regions[0].blocks
        for op in block.operations
    ]


def one_op(*stack: Frame, source: str | None = None) -> Bundle:
    """Return a bundle of one op with one stack."""
    value = bundle(
        stacks=(stack,),
        post=(fx("p", "aten.relu.default", stack=0),),
        ir_post=(ir(0, "p"),),
        kernels=(kernel(spec(0, "relufwd"), name="k"),),
    )
    lines = (SourceLine(number=stack[-1].line, text=source or ""),)
    file = SourceFile(path=stack[-1].file, sha256="", lines=lines)
    return evolve(value, sources=(file,) if source else ())


@pytest.mark.parametrize("name", RECORDED)
def test_mlir_reads_every_recorded_bundle(parse, name: str):
    """Each op is there, in its kernel."""
    value = recorded(name)
    module = parse(value)

    assert [op.op for _, op in value.ops] == [about["op"] for about, _ in ops(module)]
    assert [each.name for each in value.kernels] == [
        op.attributes["name"].value for op in module.body.operations
    ]


def test_a_stack_is_a_chain_of_call_sites(parse):
    """Innermost first, each frame named by its function, with its columns."""
    outer = Frame(file="train.py", line=7, function="main")
    inner = Frame(file="model.py", line=9, function="forward", column=4, end_column=10)
    ((_, location),) = ops(parse(one_op(outer, inner, source="        x = f(a, b)")))

    assert location == (
        'loc("relufwd"(callsite("forward"("model.py":9:13 to :18) at '
        '"main"("train.py":7:0))))'
    )


def test_columns_need_the_indentation(parse):
    """A trace quotes a line without it: its columns alone would be wrong."""
    frame = Frame(file="model.py", line=9, function="f", column=4, end_column=10)
    ((_, location),) = ops(parse(one_op(frame)))

    assert location == 'loc("relufwd"("f"("model.py":9:0)))'


def test_several_lines_are_fused_with_their_evidence(parse):
    """None of them is picked."""
    value = bundle(
        stacks=(line(1), line(2)),
        post=(
            fx("p", "aten.relu.default", stack=0),
            fx("q", "aten.relu.default", stack=1),
        ),
        ir_post=(ir(0, "p", "q"),),
    )
    ((_, location),) = ops(parse(value))

    assert location == (
        'loc("add"(fused<"measured: own-stack">["forward"("/models/model.py":1:0), '
        '"forward"("/models/model.py":2:0)]))'
    )


def test_an_op_without_a_line_is_unknown(parse):
    """With the reason, and with no empty fusion, which MLIR cannot read back."""
    value = bundle(ir_post=(ir(0, "lost"),))
    ((about, location),) = ops(parse(value))

    assert location == 'loc("add")'
    assert about["reason"] == "its FX nodes were not recorded"
    assert "fused<" not in render_facts(Attributor(value))


def test_hostile_names_are_strings(parse):
    """What is hidden shows; the rest is quoted."""
    frame = Frame(file=HOSTILE, line=1, function=HOSTILE)
    value = one_op(frame)
    hostile = kernel(spec(0, HOSTILE), name=HOSTILE)
    ((about, _),) = ops(parse(evolve(value, kernels=(hostile,))))

    assert about["op"] == 'a"b\\c\\nd\\u202e\\udc80\\u0000é)]>'


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(value=bundles())
def test_mlir_reads_any_bundle(parse, value):
    """Whatever a bundle holds; no fusion is empty."""
    module = parse(value)

    assert len(value.ops) == len(ops(module))
    assert ">[]" not in render_facts(Attributor(value))
