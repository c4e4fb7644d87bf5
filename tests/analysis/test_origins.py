"""The measured rules: what an FX node's own metadata proves, and what it does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bundle_factory import bundle, fx, line, lines, step

from torch_spyre_provenance.analysis.index import BundleIndex
from torch_spyre_provenance.analysis.origins import Origin, Rule, can_make, own_origin
from torch_spyre_provenance.analysis.siblings import resolve_origins
from torch_spyre_provenance.model import Evidence, Replacement

RELU = "aten.relu.default"


def origin_of(name: str, **parts) -> Origin:
    """Return the origin of one node of a bundle."""
    return resolve_origins(BundleIndex(bundle(**parts)))[name]


def test_a_nodes_own_trace_comes_first():
    """The trace on the node counts, and its history names the call."""
    found = origin_of(
        "relu",
        stacks=lines(1),
        pre=(fx("x", "relu", stack=0, module="act"),),
        post=(fx("relu", RELU, stack=0, aten=RELU, came_from=("x",)),),
    )
    assert found == Origin(
        stacks=(0,),
        modules=found.modules,
        calls=("x",),
        calls_evidence=Evidence.MEASURED,
        evidence=Evidence.MEASURED,
        rule=Rule.OWN_STACK,
    )
    assert [call.path for call in found.modules] == ["act"]


def test_the_history_stands_in_for_a_lost_trace():
    """A node without a trace has that of the pre-grad node that it came from."""
    found = origin_of(
        "relu",
        stacks=lines(1, 2),
        pre=(fx("x", "relu", stack=1),),
        post=(fx("relu", RELU, aten=RELU, came_from=("x",)),),
    )
    assert (found.stacks, found.rule) == ((1,), Rule.FROM_NODE)
    assert found.evidence is Evidence.MEASURED


def test_only_the_deepest_step_is_a_pre_grad_node():
    """A graph between may have a node of the same name that is another call's."""
    found = origin_of(
        "mul_1",
        stacks=lines(1, 2),
        pre=(fx("mul", "mul", stack=0), fx("mul_1", "mul", stack=1)),
        post=(
            fx(
                "mul_1",
                "aten.mul.Tensor",
                aten="aten.mul.Tensor",
                came_from=(step("mul_1", depth=0), step("mul", depth=1)),
            ),
        ),
    )
    assert (found.calls, found.stacks) == (("mul",), (0,))


def test_a_history_that_contradicts_the_trace_is_not_believed():
    """A pre-grad node of that name from another line is another node."""
    found = origin_of(
        "add",
        stacks=lines(1, 2),
        pre=(fx("add", "add", stack=0), fx("y", "add", stack=1)),
        post=(fx("add", "aten.add.Tensor", stack=1, came_from=("add",)),),
    )
    assert found.calls == ("y",)
    assert found.calls_evidence is Evidence.INFERRED


def test_the_source_function_names_the_call_where_the_history_is_gone():
    """`source_fn_stack` is unique to a call and is copied along."""
    found = origin_of(
        "mm",
        stacks=lines(1),
        pre=(
            fx("x", "linear", stack=0, source_fn="linear"),
            fx("y", "linear", stack=0, source_fn="linear_1"),
        ),
        post=(fx("mm", "aten.mm.default", stack=0, source_fn="linear_1"),),
    )
    assert found.calls == ("y",)
    assert found.calls_evidence is Evidence.MEASURED


def test_two_calls_on_one_line_stay_two():
    """Without names, the line alone cannot tell its calls apart: all of them stay."""
    found = origin_of(
        "mul",
        stacks=lines(1),
        pre=(
            fx("a", "add", stack=0),
            fx("b", "mul", stack=0),
            fx("c", "mul", stack=0),
        ),
        post=(fx("mul", "aten.mul.Tensor", stack=0, aten="aten.mul.Tensor"),),
    )
    assert found.calls == ("b", "c")
    assert found.calls_evidence is Evidence.INFERRED


def test_two_lines_with_one_text_stay_two():
    """Stacks are told apart by file and line, never by what the line says."""
    found = {
        name: origin_of(
            name,
            stacks=(line(1, "x = f(x)"), line(2, "x = f(x)")),
            pre=(fx("x", "relu", stack=0), fx("x_1", "relu", stack=1)),
            post=(fx("relu", RELU, stack=0), fx("relu_1", RELU, stack=1)),
        ).calls
        for name in ("relu", "relu_1")
    }
    assert found == {"relu": ("x",), "relu_1": ("x_1",)}


def test_what_a_node_was_seen_to_replace_is_its_origin():
    """A node that took over another's uses stands for it."""
    found = origin_of(
        "fused",
        stacks=lines(1),
        pre=(fx("x", "gelu", stack=0),),
        post=(fx("fused", "spyre.gelu.default", aten="aten.gelu.default"),),
        replacements=(
            Replacement(new="fused", old="mul_3", direct=True, sources=("x",), stack=0),
        ),
    )
    assert (found.stacks, found.calls, found.rule) == ((0,), ("x",), Rule.REPLACED)
    assert found.evidence is Evidence.MEASURED


def test_a_fusion_of_lines_keeps_them_all():
    """A node that replaced two others has both lines."""
    found = origin_of(
        "fused",
        stacks=lines(1, 2),
        pre=(fx("x", "mul", stack=0), fx("y", "add", "x", stack=1)),
        post=(fx("fused", "spyre.fma.default", aten="aten.add.Tensor"),),
        replacements=(
            Replacement(new="fused", old="mul", direct=True, sources=("x",), stack=0),
            Replacement(new="fused", old="add", direct=True, sources=("y",), stack=1),
        ),
    )
    assert (found.stacks, found.calls) == ((0, 1), ("x", "y"))


@pytest.mark.parametrize(
    ("reader", "expected"),
    [("add", Rule.REPLACED), ("relu", Rule.NONE)],
)
def test_what_only_its_own_rewrite_reads_stands_for_the_same(reader, expected):
    """The product inside a split addmm; not a node that another call reads."""
    found = origin_of(
        "mm",
        stacks=lines(1, 2),
        pre=None,
        post=(
            fx("mm", "aten.mm.default", "a", "w", aten="aten.addmm.default"),
            fx("add", "aten.sub.Tensor", *("mm",) * (reader == "add"), "b", stack=0),
            fx("relu", RELU, *("mm",) * (reader == "relu"), stack=1, aten=RELU),
        ),
        replacements=tuple(
            Replacement(new=new, old="addmm", direct=new == "add", stack=stack)
            for new in ("mm", "add")
            for stack in (0, 1)[: 1 + (reader == "relu")]
        ),
    )
    assert found.rule is expected


def test_a_rewrite_of_two_places_says_nothing_of_its_inner_nodes():
    """Of two products made at once it is open which stands for which line."""
    found = origin_of(
        "mm",
        stacks=lines(1, 2),
        pre=None,
        post=(
            fx("mm", "aten.mm.default", "a", "w", aten="aten.addmm.default"),
            fx("add", "aten.sub.Tensor", "mm", "b", stack=0),
        ),
        replacements=tuple(
            Replacement(new=new, old=f"addmm_{n}", direct=False, stack=n)
            for new in ("mm", "add")
            for n in (0, 1)
        ),
    )
    assert found.stacks == ()


def test_a_node_of_the_compilers_own_stands_for_nothing_it_replaced():
    """A copy put in front of a value has no `original_aten`, and no line of its own."""
    found = origin_of(
        "copy",
        stacks=lines(1),
        pre=(fx("x", "relu", stack=0),),
        post=(fx("copy", "aten.clone.default"),),
        replacements=(
            Replacement(new="copy", old="relu", direct=True, sources=("x",), stack=0),
        ),
    )
    assert found.stacks == ()


def test_a_product_is_not_of_the_sum_that_it_was_joined_with():
    """Inductor joins a sum with another call's product; replacing it splits them."""
    along = Replacement(new="mm", old="addmm", direct=False, sources=("y",), stack=1)
    found = origin_of(
        "mm",
        stacks=lines(1, 2),
        pre=(
            fx("x", "_operator.matmul", "a", "w", stack=0),
            fx("y", "_operator.add", "x", "b", stack=1),
        ),
        post=(
            fx("mm", "aten.mm.default", "a", "w", aten="aten.addmm.default"),
            fx(
                "add",
                "aten.add.Tensor",
                "mm",
                "b",
                stack=1,
                aten="aten.add.Tensor",
                came_from=("y",),
            ),
        ),
        replacements=(along, Replacement(new="add", old="addmm", direct=True)),
    )
    assert (found.stacks, found.rule) == ((0,), Rule.DATA_FLOW)


def test_a_call_without_a_line_is_not_given_anothers():
    """A node whose call is known, and has no trace, is of no other call."""
    found = origin_of(
        "exp",
        stacks=lines(1),
        pre=(fx("x", "exp", "a"), fx("y", "relu", "x", stack=0)),
        post=(
            fx("exp", "aten.exp.default", "a", aten="aten.exp.default", came_from="x"),
            fx("relu", RELU, "exp", stack=0, aten=RELU, came_from="y"),
        ),
    )
    assert (found.stacks, found.calls) == ((), ("x",))
    assert found.calls_evidence is Evidence.MEASURED
    assert found.reason.startswith("Dynamo's graph has no line for x")


def test_a_trace_without_a_user_frame_is_still_the_nodes_own():
    """Whose frame counts is asked later; here the trace is what was found."""
    index = BundleIndex(bundle(stacks=((),), post=(fx("a", RELU, stack=0),)))
    assert own_origin(index.post_nodes["a"], index).stacks == (0,)


@pytest.mark.parametrize(
    ("call", "target", "aten", "expected"),
    [
        ("torch._C._nn.linear", "mm", "addmm", True),
        ("addmm", "mm", "addmm", True),
        ("_operator.matmul", "mm", "addmm", True),
        ("_operator.add", "mm", "addmm", False),
        ("_operator.add", "add", "addmm", True),
        ("_operator.matmul", "add", "addmm", False),
        ("_operator.add", "add", "linear", False),
        ("relu", "mm", "addmm", False),
        ("_operator.matmul", "bmm", "bmm", True),
        ("relu", "relu", "relu", True),
        ("relu", "gelu", "gelu", False),
    ],
)
def test_which_calls_can_make_a_node(call, target, aten, expected):
    """A product can come from several calls, anything else from its namesake."""
    node = fx("n", f"aten.{target}.default", aten=f"aten.{aten}.default")
    assert can_make(fx("x", call), node) is expected


def test_every_rule_is_explained():
    """The report's table says what each rule goes by."""
    assert len({rule.meaning for rule in Rule}) == len(Rule)


def test_every_rule_is_documented_in_the_order_of_its_turn():
    """The page has a row for each rule, the first ones first."""
    page = (Path(__file__).parents[2] / "docs" / "attribution.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)
    assert rows == [str(rule) for rule in Rule if rule is not Rule.NONE]
