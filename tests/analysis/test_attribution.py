"""Every device op to its line: the rules for ops, and the recorded models."""

from __future__ import annotations

import pytest
from attrs import evolve
from bundle_factory import (
    bundle,
    fx,
    handle,
    ir,
    kernel,
    line,
    lines,
    recorded,
    spec,
    step,
)

from torch_spyre_provenance.analysis.attribution import Attribution, attribute
from torch_spyre_provenance.analysis.frames import FramePolicy
from torch_spyre_provenance.analysis.inserted import MAX_LOCATIONS
from torch_spyre_provenance.analysis.origins import Rule
from torch_spyre_provenance.model import (
    Bundle,
    Created,
    DebugHandle,
    Evidence,
    Frame,
    PassStep,
    ProvenanceTransform,
    Replacement,
    SourceLoc,
)

VERSIONS = ("torch2.11", "torch2.13")
RELU = "aten.relu.default"
BMM = "aten.bmm.default"
CLONE = "aten.clone.default"
EXPAND = "aten.expand.default"
SPLIT = "split_multi_ops"
RESTICKIFY = "spyre.restickify.default"


def where(value: Bundle) -> list[tuple[str, list[int]]]:
    """Return each op's name with its lines."""
    return [(f.op, [p.frame.line for p in f.locations]) for f in attribute(value)]


def only(value: Bundle) -> Attribution:
    """Return the attribution of the first op."""
    return attribute(value)[0]


@pytest.mark.parametrize("with_hooks", [True, False])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "simple_mlp",
            [
                ("batchmatmul", [17]),
                ("add", [17]),
                ("relufwd", [18]),
                ("batchmatmul", [19]),
                ("add", [19]),
            ],
        ),
        (
            "attention",
            [
                ("batchmatmul", [33]),
                ("batchmatmul", [34]),
                ("batchmatmul", [36]),
                ("mul", [37]),
                ("max", [37]),
                ("sub", [37]),
                ("exp", [37]),
                ("sum", [37]),
                ("realdiv", [37]),
                ("batchmatmul", [35]),
                ("batchmatmul", [38]),
            ],
        ),
        (
            "plain_weight",
            [
                ("ReStickifyOpHBM", [46]),
                ("batchmatmul", [46]),
                ("add", [46]),
                ("gelufwd", [46]),
            ],
        ),
        (
            "twice",
            [
                ("batchmatmul", [59]),
                ("add", [59]),
                ("batchmatmul", [59]),
                ("add", [59]),
                ("relufwd", [60]),
                ("relufwd", [61]),
                ("ReStickifyOpHBM", [63]),
                ("batchmatmul", [63]),
                ("add", [63]),
                ("ReStickifyOpHBM", [64]),
                ("batchmatmul", [64]),
                ("add", [64]),
                ("add", [65]),
            ],
        ),
    ],
)
def test_every_op_of_the_recorded_models(name, expected, version, with_hooks):
    """Each op has its true line, with what the hooks saw and without it."""
    value = recorded(f"{name}_{version}")
    if not with_hooks:
        value = evolve(value, replacements=())
    assert where(value) == expected


def test_modules_are_carried_through_to_the_ops():
    """The module path dies at post-grad; the attribution keeps it."""
    found = attribute(recorded("simple_mlp_torch2.11"))
    assert [f.module_path for f in found] == ["fc1", "fc1", "", "fc2", "fc2"]


def test_a_view_among_the_origins_does_not_count():
    """An operand transposed on another line does not move the product there."""
    value = bundle(
        stacks=lines(1, 2),
        post=(
            fx("permute", "aten.permute.default", "k", stack=0),
            fx("bmm", BMM, "q", "permute", stack=1, aten=BMM),
        ),
        ir_post=(ir(0, "bmm", "permute"),),
    )
    assert where(value) == [("add", [2])]


def test_a_view_that_renames_a_buffer_does_not_count():
    """The next line's ``expand`` becomes `origin_node`; it is none of the origins."""
    value = bundle(
        stacks=lines(37, 40),
        post=(
            fx("bmm", BMM, "q", "k", stack=0, aten=BMM),
            fx("expand", EXPAND, "bmm", stack=1, aten=EXPAND),
        ),
        ir_post=(ir(0, "bmm", origin_node="expand"),),
    )
    assert where(value) == [("add", [37])]


def test_a_copy_of_a_view_has_the_views_line():
    """An op with nothing but views among its origins materialises the last of them."""
    value = bundle(
        stacks=lines(1, 2),
        post=(
            fx("permute", "aten.permute.default", "x", stack=0),
            fx("expand", EXPAND, "permute", stack=1),
        ),
        ir_post=(ir(0, "expand", "permute"),),
    )
    assert where(value) == [("add", [2])]


def test_a_fused_op_keeps_all_its_lines_its_origin_nodes_first():
    """Two calls computed by one op are both its lines."""
    value = bundle(
        stacks=lines(1, 2),
        post=(
            fx("a_mul", "aten.mul.Tensor", "x", stack=0, aten="aten.mul.Tensor"),
            fx("b_add", "aten.add.Tensor", "a_mul", stack=1, aten="aten.add.Tensor"),
        ),
        ir_post=(ir(0, "b_add", "a_mul"),),
    )
    found = only(value)
    assert [place.where for place in found.locations] == [
        "/models/model.py:2",
        "/models/model.py:1",
    ]
    assert found.evidence is Evidence.MEASURED
    assert found.nodes == ("b_add", "a_mul")


def test_an_op_that_computes_a_lost_node_as_well_says_so():
    """The known line stays, and the open point is named."""
    value = bundle(
        stacks=lines(1),
        pre=None,
        post=(
            fx("exp", "aten.exp.default", "x", stack=0, aten="aten.exp.default"),
            fx("lost", "aten.abs.default", "exp", aten="aten.abs.default"),
        ),
        ir_post=(ir(0, "exp", "lost"),),
    )
    found = only(value)
    assert [place.frame.line for place in found.locations] == [1]
    assert found.reason == "nothing is known of lost"


def test_an_inserted_op_serves_all_its_readers():
    """A constant that two lines read has both lines; none is picked."""
    value = bundle(
        stacks=lines(1, 2),
        post=(
            fx("relu", RELU, "x", stack=0, aten=RELU),
            fx("relu_1", RELU, "x", stack=1, aten=RELU),
        ),
        later=(fx("constant", "spyre.constant.default"),),
        ir_post=(
            ir(2, "constant"),
            ir(0, "relu", reads=("buf2",)),
            ir(1, "relu_1", reads=("buf2",)),
        ),
    )
    found = only(value)
    assert [place.frame.line for place in found.locations] == [1, 2]
    assert (found.evidence, found.rule) == (Evidence.INFERRED, Rule.FOR_READERS)
    assert found.serves == ("buf0", "buf1")


def test_a_chain_of_inserted_ops_serves_what_it_ends_in():
    """A constant that is copied before it is used serves the op that uses it."""
    value = bundle(
        stacks=lines(1),
        post=(fx("mul", "aten.mul.Tensor", "x", stack=0, aten="aten.mul.Tensor"),),
        later=(
            fx("constant", "spyre.constant.default"),
            fx("clone", "aten.clone.default", "constant"),
        ),
        ir_post=(
            ir(1, "constant"),
            ir(2, "clone", reads=("buf1",)),
            ir(0, "mul", reads=("buf2",)),
        ),
    )
    found = attribute(value)
    assert [f.serves for f in found] == [("buf0",), ("buf0",), ()]
    assert where(value) == [("add", [1]), ("add", [1]), ("add", [1])]


def test_an_inserted_op_that_nobody_reads_follows_what_it_reads():
    """A copy to the output's layout has the line of what it copies."""
    value = bundle(
        stacks=lines(1),
        post=(fx("relu", RELU, "x", stack=0, aten=RELU),),
        later=(fx("restickify", RESTICKIFY),),
        ir_post=(ir(0, "relu"), ir(1, "restickify", reads=("buf0",))),
    )
    found = attribute(value)[1]
    assert [place.frame.line for place in found.locations] == [1]
    assert (found.rule, found.serves) == (Rule.FOR_SOURCES, ("buf0",))


def test_an_op_of_the_users_is_never_given_its_readers_lines():
    """A call that lost its trace is missing; it was written where it was written."""
    value = bundle(
        stacks=lines(1),
        pre=None,
        post=(
            fx("mm", "aten.mm.default", "x", "w", aten="aten.addmm.default"),
            fx("relu", RELU, "mm", stack=0, aten=RELU),
        ),
        ir_post=(ir(0, "mm"), ir(1, "relu", reads=("buf0",))),
    )
    found = only(value)
    assert (found.locations, found.evidence) == ((), Evidence.MISSING)
    assert found.reason == (
        "addmm lost its stack trace; "
        "Dynamo's graph, which may tell its call, was not recorded"
    )


def test_an_op_that_lost_its_origins_is_not_taken_for_inserted():
    """It had a line before the passes; its readers' line is not its own."""
    value = bundle(
        stacks=lines(1, 2),
        post=(
            fx("relu", RELU, "x", stack=0, aten=RELU),
            fx("exp", "aten.exp.default", "relu", stack=1, aten="aten.exp.default"),
        ),
        ir_pre=(ir(0, "relu"), ir(1, "exp", reads=("buf0",))),
        ir_post=(ir(0), ir(1, "exp", reads=("buf0",))),
    )
    found = only(value)
    assert [place.frame.line for place in found.locations] == [1]
    assert (found.evidence, found.rule) == (Evidence.INFERRED, Rule.BEFORE_LOSS)


def test_an_op_that_lost_origins_without_a_line_is_missing():
    """Nothing is known of it, and its readers' line is still not its own."""
    value = bundle(
        stacks=lines(1),
        pre=None,
        post=(
            fx("mm", "aten.mm.default", aten="aten.addmm.default"),
            fx("exp", "aten.exp.default", "mm", stack=0, aten="aten.exp.default"),
        ),
        ir_pre=(ir(0, "mm"), ir(1, "exp", reads=("buf0",))),
        ir_post=(ir(0), ir(1, "exp", reads=("buf0",))),
    )
    assert only(value).evidence is Evidence.MISSING


def test_the_parts_of_one_insertion_serve_the_readers_of_all():
    """Padding makes a buffer, fills it, and copies into it; only one is read."""
    value = bundle(
        stacks=lines(1),
        post=(
            fx("mul", "aten.mul.Tensor", stack=0, aten="aten.mul.Tensor"),
            fx("pad", "aten.constant_pad_nd.default"),
        ),
        ir_post=(
            ir(4, "pad"),
            ir(6, "pad"),
            ir(7, "pad"),
            ir(1, "mul", reads=("buf4",)),
        ),
    )
    found = attribute(value)
    assert [f.serves for f in found] == [("buf1",)] * 3 + [()]
    assert where(value) == [("add", [1])] * 4


def test_a_shared_constant_lends_no_line_to_what_reads_it():
    """A fill that nobody reads is not of the line that uses the same number."""
    constant = evolve(ir(1, "constant"), type="SpyreConstantFallback")
    value = bundle(
        stacks=lines(1),
        post=(fx("mul", "aten.mul.Tensor", stack=0, aten="aten.mul.Tensor"),),
        later=(fx("constant", "spyre.constant.default"), fx("fill", RESTICKIFY)),
        ir_post=(
            constant,
            ir(0, "mul", reads=("buf1",)),
            ir(2, "fill", reads=("buf1",)),
        ),
    )
    assert where(value)[-1] == ("add", [])


def test_a_product_is_never_taken_for_inserted():
    """A ``bmm`` that a pass made has no `original_aten`, and is the user's work."""
    value = bundle(
        stacks=lines(1),
        pre=None,
        post=(
            fx("bmm", BMM, "x", "w"),
            fx("softmax", "aten.exp.default", "bmm", stack=0, aten="aten.exp.default"),
        ),
        ir_post=(ir(0, "bmm"), ir(1, "softmax", reads=("buf0",))),
    )
    assert only(value).evidence is Evidence.MISSING


@pytest.mark.parametrize("target", ["spyre.batched_matmul.default", "vendor.new.op"])
def test_an_operator_that_is_unknown_is_never_taken_for_inserted(target):
    """What a pass made computes, unless it is known only to move data."""
    value = bundle(
        stacks=lines(1),
        pre=None,
        post=(
            fx("made", target, "x", "w"),
            fx("clone", "aten.clone.default", "made", stack=0, aten=CLONE),
        ),
        ir_post=(ir(0, "made"), ir(1, "clone", reads=("buf0",))),
    )
    assert only(value).evidence is Evidence.MISSING
    seen = Replacement(new="made", old="mm", direct=True, stack=0)
    found = only(evolve(value, replacements=(seen,)))
    assert (found.evidence, found.rule) == (Evidence.MEASURED, Rule.REPLACED)


def test_a_later_node_that_computes_is_never_taken_for_inserted():
    """A pass that makes a product after post-grad does not do so for its own ends."""
    value = bundle(
        stacks=lines(1),
        post=(fx("relu", RELU, "x", stack=0, aten=RELU),),
        later=(fx("made", "vendor.new.op"),),
        ir_post=(ir(0, "made"), ir(1, "relu", reads=("buf0",))),
    )
    assert only(value).evidence is Evidence.MISSING


@pytest.mark.parametrize(
    ("device_op", "expected"),
    [("identity", [1]), ("ReStickifyOpHBM", [1]), ("batchmatmul", []), ("new", [])],
)
def test_an_op_without_origins_serves_only_if_it_moves_data(device_op, expected):
    """Nothing but the device's name for it tells what it is there for."""
    value = bundle(
        stacks=lines(1),
        post=(fx("relu", RELU, "x", stack=0, aten=RELU),),
        ir_post=(ir(0), ir(1, "relu", reads=("buf0",))),
        kernels=(kernel(spec(0, device_op), spec(1)),),
    )
    found = only(value)
    assert [place.frame.line for place in found.locations] == expected
    assert found.reason == (
        "" if expected else "the compiler inserted it without an origin"
    )


@pytest.mark.parametrize(
    ("n_readers", "named"), [(2, "buf1, buf2"), (9, " and 5 more")]
)
def test_an_inserted_op_for_ops_without_a_line_says_so(n_readers, named):
    """It is missing because those it serves are, however many they are."""
    readers = range(1, n_readers + 1)
    value = bundle(
        pre=None,
        post=tuple(fx(f"mm_{n}", "aten.mm.default", aten=BMM) for n in readers),
        later=(fx("r", RESTICKIFY),),
        ir_post=(ir(0, "r"), *(ir(n, f"mm_{n}", reads=("buf0",)) for n in readers)),
    )
    found = only(value)
    assert found.evidence is Evidence.MISSING
    assert found.reason.startswith("no line is known of what it was inserted for: buf1")
    assert found.reason.endswith(named)


def test_an_op_whose_nodes_were_not_recorded_is_not_taken_for_inserted():
    """Without the FX graph nobody knows who made it."""
    value = bundle(
        stacks=lines(1),
        pre=None,
        post=None,
        later=(fx("relu", RELU, stack=0),),
        ir_post=(ir(0, "unknown"), ir(1, "relu", reads=("buf0",))),
    )
    found = only(value)
    assert found.evidence is Evidence.MISSING
    assert found.reason == "its FX nodes were not recorded"


def test_inserted_ops_in_a_circle_are_missing():
    """A damaged bundle may hold any graph; the reason stays."""
    value = bundle(
        later=(fx("a", RESTICKIFY), fx("b", RESTICKIFY)),
        ir_post=(ir(0, "a", reads=("buf1",)), ir(1, "b", reads=("buf0",))),
    )
    assert [f.reason for f in attribute(value)] == [
        "no line is known of what it was inserted for: buf1",
        "no line is known of what it was inserted for: buf0",
    ]


def test_a_node_made_from_a_recorded_one_has_its_line():
    """An op split from a larger one says so in its history."""
    value = bundle(
        stacks=lines(1),
        post=(fx("gelu", "aten.gelu.default", stack=0, aten="aten.gelu.default"),),
        later=(
            fx(
                "mul",
                "aten.mul.Tensor",
                came_from=(step("gelu", pass_name=SPLIT),),
            ),
        ),
        ir_post=(ir(0, "mul"),),
    )
    found = only(value)
    assert [place.frame.line for place in found.locations] == [1]
    assert (found.evidence, found.rule) == (Evidence.MEASURED, Rule.FROM_NODE)
    assert found.pass_name == SPLIT


def test_what_comes_from_an_inferred_node_is_inferred():
    """A conclusion does not become a measurement by being copied."""
    value = bundle(
        stacks=lines(1),
        pre=(fx("x", "torch._C._nn.linear", "a", stack=0),),
        post=(fx("mm", "aten.mm.default", "a", "w", aten="aten.addmm.default"),),
        later=(fx("part", "aten.mm.default", came_from=("mm",)),),
        ir_post=(ir(0, "part"),),
    )
    found = only(value)
    assert (found.evidence, found.rule) == (Evidence.INFERRED, Rule.ELIMINATION)


def test_the_pass_that_was_seen_making_an_op_is_named():
    """What was seen counts more than what such nodes usually come from."""
    value = bundle(later=(fx("r", RESTICKIFY),), ir_post=(ir(0, "r"),))
    made = Created(op="op0", buffer="buf0", origins=("r",), has_source=False)
    seen = evolve(value, passes=(PassStep(name="my_pass", index=3, created=(made,)),))
    assert [only(v).pass_name for v in (seen, value)] == [
        "my_pass",
        "insert_restickify",
    ]


def test_the_pass_that_a_handle_names_is_kept():
    """torch-spyre's own history of an op is used where nothing was seen."""
    history = (ProvenanceTransform(kind="decomposition", pass_name=SPLIT),)
    op = spec(0, handle=evolve(handle("x", "buf0"), transform_history=history))
    value = bundle(ir_post=(ir(0, "x"),), kernels=(kernel(op),))
    assert only(value).pass_name == SPLIT


def test_a_handle_stands_in_for_lost_ir_with_its_names_and_not_its_line():
    """The headline of a handle can be a view's line; its chain names the nodes."""
    op = spec(0, handle=handle("bmm", "buf0", start_line=40))
    value = bundle(
        stacks=lines(37),
        post=(fx("bmm", BMM, stack=0, aten=BMM),),
        kernels=(kernel(op),),
    )
    assert where(value) == [("add", [37])]


def test_a_bundle_without_anything_but_ops_says_why():
    """No stage above the ops: every op is missing, with the reason."""
    value = bundle(pre=None, post=None, kernels=(kernel(spec(0)),))
    assert only(value).reason == "no operation is known to be behind it"
    assert only(value).evidence is Evidence.MISSING


def test_the_whole_stack_stays_beside_the_users_frame():
    """A line in a library has a caller that the user wrote."""
    library = "/v/lib/python3.11/site-packages/hf/modeling.py"
    stack = (*line(7, file="/u/train.py"), *line(900, file=library))
    value = bundle(
        stacks=(stack,),
        post=(fx("relu", RELU, stack=0, aten=RELU),),
        ir_post=(ir(0, "relu"),),
    )
    (place,) = only(value).locations
    assert place.where == "/u/train.py:7"
    assert [frame.file for frame in place.stack] == ["/u/train.py", library]


def test_a_stack_of_framework_frames_is_no_line():
    """The op is missing and says why; another policy may see it otherwise."""
    value = bundle(
        stacks=(line(1, file="/v/site-packages/torch/nn/modules/linear.py"),),
        post=(fx("relu", RELU, stack=0, aten=RELU),),
        ir_post=(ir(0, "relu"),),
    )
    assert only(value).reason == "its stack has framework frames alone"
    assert only(value).evidence is Evidence.MISSING
    (found,) = attribute(value, FramePolicy())
    assert found.evidence is Evidence.MEASURED


def test_lines_beyond_the_bound_are_counted():
    """An op that computes very many lines keeps the first ones and counts the rest."""
    n = MAX_LOCATIONS + 3
    nodes = tuple(fx(f"r{i:03}", RELU, "x", stack=i, aten=RELU) for i in range(n))
    value = bundle(
        stacks=lines(*range(n)),
        post=nodes,
        ir_post=(ir(0, *(node.name for node in nodes)),),
    )
    found = only(value)
    assert (len(found.locations), found.more_locations) == (MAX_LOCATIONS, 3)
    assert found.reason == "3 more lines"


def test_two_calls_on_one_line_are_one_location():
    """Where columns tell the calls apart, the line is still one line."""
    stacks = tuple(
        (Frame(file="m.py", line=1, function="f", text="g(g(x))", column=c),)
        for c in (0, 2)
    )
    value = bundle(
        stacks=stacks,
        post=(
            fx("a", RELU, "x", stack=0, aten=RELU),
            fx("b", RELU, "a", stack=1, aten=RELU),
        ),
        ir_post=(ir(0, "b", "a"),),
    )
    assert [place.where for place in only(value).locations] == ["m.py:1"]


def test_the_front_ends_own_headline_is_not_taken_over():
    """The handle says 42 because of a view; the op was computed on 41."""
    source = SourceLoc(file="/models/model.py", start_line=42)
    wrong = DebugHandle(id=1, source=source, aten_op=EXPAND, ir_chain=("div", "buf8"))
    value = bundle(
        stacks=lines(41, 42),
        post=(
            fx("div", "aten.div.Tensor", "exp", stack=0, aten="aten._softmax.default"),
            fx("expand", EXPAND, "div", stack=1, aten=EXPAND),
        ),
        ir_post=(ir(8, "div", origin_node="expand"),),
        kernels=(kernel(spec(8, handle=wrong)),),
    )
    assert where(value) == [("add", [41])]
