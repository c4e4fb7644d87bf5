"""The comparison with the seed's captures finds every field that differs.

The captures themselves are not in the repository. One is made here of a bundle, in the
seed's format.
"""

from __future__ import annotations

import copy
import json

import pytest
from bundle_factory import BUNDLES, recorded
from on_torch_spyre.compare_samples import compare, main

from torch_spyre_provenance.model import Presence
from torch_spyre_provenance.store import handle_json

NAME = "simple_mlp_torch2.13"


def capture_of(bundle):
    """Return what the seed's tool would have captured of a bundle's compile."""
    operations = {op.name: op for op in bundle.loop_ir_post.ops}
    by_buffer = {op.buffer: op for op in bundle.loop_ir_post.ops}
    return {
        "stage2_pre_grad": fx_stage(bundle, bundle.fx_pre_grad),
        "stage2_post_grad": fx_stage(bundle, bundle.fx_post_grad),
        "stage3_looplevel_prepass": ir_stage(bundle.loop_ir_pre),
        "stage4_looplevel_postpass": ir_stage(bundle.loop_ir_post),
        "stage5_opspec": {
            "fired": True,
            "ops": [op_record(op, by_buffer[op.buffer]) for _, op in bundle.ops],
            "opspec_fields": list(bundle.op_spec_fields),
        },
        "stage6_kernels": {
            "fired": True,
            "kernels": [
                {
                    "kernel_name": kernel.name,
                    "node_origins": [ir_record(operations[n]) for n in kernel.ir_ops],
                    "kernel_metadata": {"metadata": kernel.metadata, "detailed": ""},
                }
                for kernel in bundle.kernels
            ],
            "output_dirs": {files.kernel: "/cache/K" for files in bundle.run.files},
        },
    }


def fx_stage(bundle, graph):
    """An FX graph."""
    nodes = [fx_record(bundle, node) for node in graph.nodes]
    return {"fired": True, "nodes": nodes}


def fx_record(bundle, node):
    """An FX node."""
    reprs = {
        "stack_trace": trace(bundle.stacks[node.stack])
        if node.stack is not None
        else "",
        "nn_module_stack": str({i: Module(m) for i, m in enumerate(node.modules)}),
        "source_fn_stack": str([(each.name, "?") for each in node.source_fns]),
        "original_aten": node.original_aten,
        "from_node": "\n".join(
            f"(name={s.name}, pass_name={s.pass_name}, action={s.action}, graph_id=1)"
            for s in node.from_nodes
        ),
    }
    record = {
        "name": node.name,
        "op": node.op,
        "target": node.target,
        "all_meta_keys": list(node.meta_keys),
        "input_nodes": list(node.inputs),
        "fields": {},
    }
    for found in node.fields:
        is_there = found.presence not in (Presence.ABSENT, Presence.EMPTY)
        value = {"type": found.type, "repr": reprs[found.name], "nonempty": True}
        record["fields"][found.name] = value if is_there else None
    if record["fields"]["stack_trace"]:
        quoted = bundle.stacks[node.stack][-1].text
        record["fields"]["stack_trace"]["source_line"] = quoted
    return record


class Module:
    """Prints as an entry of a module stack does."""

    def __init__(self, call):
        self.call = call

    def __repr__(self):
        """Return a path and a class."""
        return f"(\"L['self'].{self.call.path}\", <class '{self.call.type}'>)"


def trace(stack):
    """A stack trace."""
    return "".join(
        f'  File "{f.file}", line {f.line}, in {f.function}\n    {f.text}\n'
        for f in stack
    )


def ir_stage(graph):
    """LoopLevelIR."""
    return {"fired": True, "operations": [ir_record(op) for op in graph.ops]}


def ir_record(op):
    """An IR operation."""
    presence = {found.name: found.presence for found in op.fields}
    stacks = presence["get_stack_traces"] is Presence.POPULATED
    fields = {
        "origins": [{"name": name, "target": "?"} for name in op.origins],
        "origin_node": op.origin_node,
        "traceback": None,
        "get_stack_traces": {"nonempty": stacks, "repr": ""},
    }
    return {
        "name": op.name,
        "type": op.type,
        "fields": fields,
        "attr_exists": {n: p is not Presence.ABSENT for n, p in presence.items()},
        "all_attrs": list(op.attributes),
    }


def op_record(op, operation):
    """An OpSpec."""
    names = ("origins", "origin_node", "traceback", "get_stack_traces", "debug_handle")
    populated = {f.name for f in op.fields if f.presence is Presence.POPULATED}
    return {
        **ir_record(operation),
        "op": op.op,
        "is_reduction": op.is_reduction,
        "opspec_present": {name: name in populated for name in names},
        "debug_handle": {**handle_json(op.handle), "source_line": "?"},
    }


@pytest.fixture(scope="module")
def bundle():
    """A recorded bundle."""
    return recorded(NAME)


@pytest.fixture
def capture(bundle):
    """The capture of the same compile."""
    return capture_of(bundle)


def test_a_capture_of_the_same_compile_agrees(bundle, capture):
    """Hundreds of fields are compared, and none differs."""
    comparison = compare(capture, bundle)
    assert [] == [str(each) for each in comparison.differences]
    assert comparison.n_compared > 300


def node(capture, number=0):
    """A pre-grad node of a capture."""
    return capture["stage2_pre_grad"]["nodes"][number]


CHANGES = {
    "pre-grad x: op": lambda c: node(c).update(op="call_method"),
    "pre-grad x: target": lambda c: node(c).update(target="<built-in function add>"),
    "pre-grad x: inputs": lambda c: node(c)["input_nodes"].append("y"),
    "pre-grad x: meta keys": lambda c: node(c)["all_meta_keys"].append("more"),
    "pre-grad x: stack_trace": lambda c: node(c)["fields"]["stack_trace"].update(
        type="int"
    ),
    "post-grad permute: ATen": lambda c: c["stage2_post_grad"]["nodes"][0]["fields"][
        "original_aten"
    ].update(repr="aten.x"),
    "pre-grad x: frames": lambda c: node(c)["fields"]["stack_trace"].update(
        repr='  File "/other.py", line 3, in forward\n    x\n'
    ),
    "pre-grad x: source line": lambda c: node(c)["fields"]["stack_trace"].update(
        source_line="y"
    ),
    "pre-grad x: nn_module_stack holds": lambda c: node(c)["fields"][
        "nn_module_stack"
    ].update(repr="(\"x\", <class 'other'>)"),
    "pre-grad: nodes": lambda c: node(c).update(name="other"),
    "pre-grad: fired": lambda c: c["stage2_pre_grad"].update(fired=False),
    "pre-pass op0: type": lambda c: c["stage3_looplevel_prepass"]["operations"][
        0
    ].update(type="ExternKernel"),
    "post-pass op1: origins": lambda c: c["stage4_looplevel_postpass"]["operations"][1][
        "fields"
    ]["origins"].append({"name": "other", "target": "?"}),
    "post-pass op1: attributes": lambda c: c["stage4_looplevel_postpass"]["operations"][
        1
    ]["all_attrs"].append("more"),
    "OpSpec: declared fields": lambda c: c["stage5_opspec"]["opspec_fields"].pop(),
    "OpSpec 2: is_reduction": lambda c: c["stage5_opspec"]["ops"][2].update(
        is_reduction=True
    ),
    "OpSpec 1: debug_handle.aten_op": lambda c: c["stage5_opspec"]["ops"][1][
        "debug_handle"
    ].update(aten_op="aten.mul.Tensor"),
    "OpSpec 1: debug_handle.id": lambda c: c["stage5_opspec"]["ops"][1][
        "debug_handle"
    ].update(id="7"),
    "kernels: with a directory": lambda c: c["stage6_kernels"]["output_dirs"].clear(),
    "kernels: names": lambda c: c["stage6_kernels"]["kernels"][0].update(
        kernel_name="other"
    ),
}
"""What is changed in a capture, by the field that then differs."""


@pytest.mark.parametrize("where", CHANGES)
def test_a_field_that_differs_is_found(bundle, capture, where):
    """One change, one difference, and no reason for it."""
    CHANGES[where](capture)
    differences = compare(capture, bundle).differences
    assert [(where, None)] == [(each.where, each.reason) for each in differences]


def test_known_reasons_are_given(bundle, capture):
    """Carets, ids of a moved file and the pattern matcher's numbers are explained."""
    moved = json.loads(json.dumps(capture).replace("models.py", "moved.py"))
    quoted = node(moved)["fields"]["stack_trace"]
    quoted["source_line"] = "~~^~~"
    node(moved)["all_meta_keys"].append("mutation_region_id")
    handle = moved["stage5_opspec"]["ops"][0]["debug_handle"]
    handle["id"] = "7"
    comparison = compare(moved, bundle, {"moved.py": "models.py"})
    assert {
        "pre-grad x: source line",
        "pre-grad x: meta keys",
        "OpSpec 0: debug_handle.id",
    } == {each.where for each in comparison.differences}
    assert None not in {each.reason for each in comparison.differences}


def test_the_script_prints_and_judges(capture, tmp_path, capsys):
    """Exit code 0 where all is explained, 3 where something is not."""
    same, other = tmp_path / "same.json", tmp_path / "other.json"
    same.write_text(json.dumps(capture))
    changed = copy.deepcopy(capture)
    node(changed)["op"] = "call_method"
    other.write_text(json.dumps(changed))
    bundle = str(BUNDLES / f"{NAME}.json")
    assert 0 == main([str(same), bundle])
    assert " 0 differ, 0 without a known reason" in capsys.readouterr().out
    assert 3 == main([str(other), bundle])
    first, last = capsys.readouterr().out.splitlines()
    assert "pre-grad x: op: 'call_method' / 'call_function'  UNEXPLAINED" == first
    assert last.endswith(" 1 differ, 1 without a known reason")
