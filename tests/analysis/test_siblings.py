"""The rules for the halves of a split call: when they fire, and when they must not."""

from __future__ import annotations

import pytest
from attrs import evolve
from bundle_factory import bundle, fx, lines

from torch_spyre_provenance.analysis.index import BundleIndex
from torch_spyre_provenance.analysis.origins import Origin, Rule
from torch_spyre_provenance.analysis.siblings import resolve_origins
from torch_spyre_provenance.model import CompileKind, Evidence, FxNode, Replacement

ADDMM = "aten.addmm.default"
LINEAR = "aten.linear.default"
MM = "aten.mm.default"
BMM = "aten.bmm.default"
EXP = "aten.exp.default"
TANH = "aten.tanh.default"
ADD = "aten.add.Tensor"
PERMUTE = "aten.permute.default"
RELU = "aten.relu.default"


def origins(pre, post, n_lines: int, replacements=()) -> dict[str, Origin]:
    """Return the origins of a graph whose stack ``n`` is line ``n``."""
    value = bundle(
        stacks=lines(*range(n_lines)), pre=pre, post=post, replacements=replacements
    )
    return dict(resolve_origins(BundleIndex(value)))


def rules(found: dict[str, Origin], *names: str) -> list[tuple[tuple[int, ...], Rule]]:
    """Return the lines and rules of some nodes."""
    return [(found[name].stacks, found[name].rule) for name in names]


def weight_view(name: str, call: str, stack: int) -> FxNode:
    """Return the transposed weight that lowering ``linear`` makes."""
    return fx(name, PERMUTE, f"{name}_w", stack=stack, aten=LINEAR, came_from=(call,))


def product(name: str, *inputs: str) -> FxNode:
    """Return the product half of a split ``addmm``."""
    return fx(name, MM, *inputs, aten=ADDMM)


def addition(name: str, *inputs: str) -> FxNode:
    """Return the addition half of a split ``addmm`` without a trace."""
    return fx(name, ADD, *inputs, aten=ADDMM)


def linear(name: str, stack: int, *inputs: str) -> FxNode:
    """Return a call of ``linear`` with a bias."""
    given = (*inputs, f"{name}_w", f"{name}_b")
    return fx(name, "torch._C._nn.linear", *given, stack=stack)


def traced_relu(stack: int, *inputs: str) -> FxNode:
    """Return the node of a call ``y`` of ``relu``."""
    return fx("relu", RELU, *inputs, stack=stack, aten=RELU, came_from=("y",))


def test_the_product_has_the_line_of_its_addition():
    """Torch 2.13 leaves the trace on the addition of a split linear."""
    found = origins(
        (linear("x", 1, "a"),),
        (
            product("mm", "a", "w"),
            fx("add", ADD, "b", "mm", stack=1, aten=LINEAR, came_from=("x",)),
        ),
        2,
    )
    assert rules(found, "mm") == [((1,), Rule.SPLIT_SIBLING)]
    assert found["mm"].evidence is Evidence.INFERRED
    assert found["mm"].calls == ("x",)


def test_a_product_that_others_read_is_no_half():
    """An addition's operand that something else reads may be any call's."""
    found = origins(
        None,
        (
            product("mm", "a", "w"),
            fx("add", ADD, "b", "mm", stack=1, aten=LINEAR),
            fx("relu", RELU, "mm", stack=0, aten=RELU),
        ),
        2,
    )
    assert found["mm"].stacks == ()
    assert "lost its stack trace" in found["mm"].reason


def test_an_addition_of_the_users_says_nothing_of_its_operands():
    """``z = mm + c`` was written on another line than the product, maybe."""
    found = origins(
        None,
        (product("mm", "a", "w"), fx("add", ADD, "b", "mm", stack=1, aten=ADD)),
        2,
    )
    assert found["mm"].stacks == ()


def test_an_addition_of_two_products_is_not_split():
    """Which of two products is the call's own cannot be told."""
    found = origins(
        None,
        (
            product("mm", "a", "w"),
            product("mm_1", "c", "v"),
            fx("add", ADD, "mm_1", "mm", stack=1, aten=LINEAR),
        ),
        2,
    )
    assert (found["mm"].stacks, found["mm_1"].stacks) == ((), ())


def test_the_weights_view_gives_its_line_to_the_product():
    """Torch 2.11 leaves the trace on the transposed weight alone."""
    found = origins(
        (linear("x", 1, "a"),),
        (
            weight_view("permute", "x", 1),
            product("mm", "a", "permute"),
            addition("add", "b", "mm"),
        ),
        2,
    )
    assert rules(found, "mm", "add") == [
        ((1,), Rule.OPERAND_VIEW),
        ((1,), Rule.SPLIT_SIBLING),
    ]


def test_a_view_that_two_products_read_is_neithers():
    """A view shared by tied weights has the trace of the first call only."""
    found = origins(
        None,
        (
            weight_view("permute", "x", 1),
            product("mm", "a", "permute"),
            product("mm_1", "c", "permute"),
        ),
        2,
    )
    assert (found["mm"].stacks, found["mm_1"].stacks) == ((), ())


def test_a_view_that_the_user_wrote_is_no_part_of_the_product():
    """``wt = w.t()`` stands on a line of its own, which is not the product's."""
    found = origins(
        None,
        (
            fx("permute", PERMUTE, "w", stack=1, aten="aten.t.default"),
            product("mm", "a", "permute"),
        ),
        2,
    )
    assert found["mm"].stacks == ()


def test_a_view_of_a_calls_result_belongs_to_the_call_before():
    """The reshaped result of one linear is what the next one reads."""
    found = origins(
        None,
        (
            fx("mm", MM, "a", "w", stack=1, aten=LINEAR),
            fx("view", "aten.view.default", "mm", stack=1, aten=LINEAR),
            product("mm_1", "view", "v"),
        ),
        2,
    )
    assert found["mm_1"].stacks == ()


def test_views_in_a_circle_do_not_hang():
    """A damaged bundle may hold any graph."""
    found = origins(
        None,
        (
            fx("a", PERMUTE, "b", stack=0, aten=LINEAR),
            fx("b", PERMUTE, "a", stack=0, aten=LINEAR),
            product("mm", "a", "b"),
        ),
        1,
    )
    assert found["mm"].rule in (Rule.NONE, Rule.OPERAND_VIEW)


def test_the_only_call_between_two_neighbours():
    """A hand-written addmm, its transpose above it and an activation below."""
    found = origins(
        (
            fx("wt", "t", "w", stack=1),
            fx("x", "addmm", "c", "a", "wt", stack=2),
            fx("y", "relu", "x", stack=3),
        ),
        (
            fx("permute", PERMUTE, "w", stack=1, aten="aten.t.default"),
            product("mm", "a", "permute"),
            addition("add", "c", "mm"),
            traced_relu(3, "add"),
        ),
        4,
    )
    assert rules(found, "mm", "add") == [((2,), Rule.DATA_FLOW)] * 2


def test_halves_of_two_calls_keep_their_own_lines():
    """Inductor joins a product and a sum of two lines; split again they are two."""
    found = origins(
        (
            fx("x", "_operator.matmul", "a", "w", stack=1),
            fx("q", "relu", "b", stack=2),
            fx("y", "_operator.add", "x", "q", stack=3),
            fx("z", "exp", "y", stack=4),
        ),
        (
            fx("relu", RELU, "b", stack=2, aten=RELU, came_from=("q",)),
            product("mm", "a", "w"),
            addition("add", "relu", "mm"),
            fx("exp", "aten.exp.default", "add", stack=4, aten="e", came_from=("z",)),
        ),
        5,
    )
    assert rules(found, "mm", "add") == [
        ((1,), Rule.DATA_FLOW),
        ((3,), Rule.DATA_FLOW),
    ]


def test_a_sum_that_knows_its_call_does_not_speak_for_another_calls_product():
    """The sum was written on line 2, and only adds: the product is line 1's."""
    found = origins(
        (
            fx("x", "_operator.matmul", "a", "w", stack=1),
            fx("y", "_operator.add", "x", "b", stack=2),
        ),
        (
            product("mm", "a", "w"),
            fx("add", ADD, "b", "mm", stack=2, aten=ADDMM, came_from=("y",)),
        ),
        3,
    )
    assert rules(found, "mm") == [((1,), Rule.DATA_FLOW)]


def test_a_chain_of_calls_is_resolved_from_its_end():
    """Each addmm of a chain is given back to its own line."""
    found = origins(
        (
            fx("x", "addmm", "c", "a", "w", stack=1),
            fx("x_1", "addmm", "c", "x", "v", stack=2),
            fx("y", "relu", "x_1", stack=3),
        ),
        (
            product("mm", "a", "w"),
            addition("add", "c", "mm"),
            product("mm_1", "add", "v"),
            addition("add_1", "c", "mm_1"),
            traced_relu(3, "add_1"),
        ),
        4,
    )
    assert [found[n].stacks for n in ("mm", "add", "mm_1", "add_1")] == [
        (1,),
        (1,),
        (2,),
        (2,),
    ]


def test_a_call_that_leaves_no_node_does_not_hide_its_neighbours():
    """Dropout does nothing in evaluation, so the activation reads the sum itself."""
    found = origins(
        (
            linear("x", 1, "a"),
            fx("d", "dropout", "x", stack=2),
            fx("y", "relu", "d", stack=3),
        ),
        (product("mm", "a", "w"), addition("add", "c", "mm"), traced_relu(3, "add")),
        4,
    )
    assert [found[n].stacks for n in ("mm", "add")] == [(1,), (1,)]


def test_the_last_call_without_its_product():
    """With nothing beside it to go by, the only call left over is the one."""
    found = origins(
        (linear("x", 1, "a"), linear("z", 2, "a")),
        (
            fx("mm", MM, "a", "w", stack=1, aten=LINEAR, came_from=("x",)),
            product("mm_1", "a", "v"),
            addition("add", "c", "mm_1"),
        ),
        3,
    )
    assert rules(found, "mm_1", "add") == [
        ((2,), Rule.ELIMINATION),
        ((2,), Rule.SPLIT_SIBLING),
    ]


def test_a_sum_is_not_of_the_call_that_remains_where_its_product_has_one():
    """The product is a linear layer's; the only other call that adds is not its sum."""
    found = origins(
        (linear("x", 1, "a"), fx("z", "_operator.add", "b", "c", stack=2)),
        (
            fx("mm", MM, "a", "w", stack=1, came_from=("x",)),
            addition("add", "c", "mm"),
        ),
        3,
    )
    assert found["add"].stacks in {(), (1,)}


@pytest.mark.parametrize(("bias", "expected"), [(("b",), (1,)), ((), ())])
def test_a_linear_layer_without_a_bias_has_no_addition(bias, expected):
    """Inductor joined its product with another call's sum."""
    found = origins(
        (
            fx("x", "torch._C._nn.linear", "a", "w", *bias, stack=1),
            fx("z", "_operator.add", "x", "c", stack=2),
            fx("v", "_operator.add", "x", "d", stack=3),
        ),
        (
            fx("mm", MM, "a", "w", stack=1, aten=ADDMM, came_from=("x",)),
            addition("add", "c", "mm"),
        ),
        4,
    )
    assert found["add"].stacks == expected


def test_halves_of_what_was_joined_stay_apart_without_the_graph_of_calls():
    """Nothing tells then whether both halves were of one call."""
    post = (
        fx("mm", MM, "a", "w", stack=1, aten=ADDMM),
        addition("add", "c", "mm"),
    )
    assert origins(None, post, 2)["add"].stacks == ()


def test_two_calls_that_remain_are_not_guessed_at():
    """Two unconnected calls on two lines: neither product gets a line."""
    found = origins(
        (linear("x", 1, "a"), linear("z", 2, "a")),
        (
            product("mm", "a", "w"),
            addition("add", "c", "mm"),
            product("mm_1", "a", "v"),
            addition("add_1", "c", "mm_1"),
        ),
        3,
    )
    assert {found[n].stacks for n in ("mm", "add", "mm_1", "add_1")} == {()}


def test_two_calls_that_remain_on_one_line_share_it():
    """The line is certain although the call is not; both calls are kept."""
    found = origins(
        (linear("x", 1, "a"), linear("z", 1, "a")),
        (product("mm", "a", "w"), product("mm_1", "a", "v")),
        2,
    )
    assert [found[n].stacks for n in ("mm", "mm_1")] == [(1,), (1,)]
    assert found["mm"].calls == ("x", "z")


@pytest.mark.parametrize("target", [BMM, "spyre.batched_matmul.default"])
def test_a_product_that_a_pass_made_has_the_only_call_that_can_make_it(target):
    """It says nothing of itself; between its neighbours lies one product."""
    found = origins(
        (
            fx("x", "torch.tanh", "a", stack=1),
            fx("m", "_operator.matmul", "x", "w", stack=2),
            fx("y", "torch.relu", "m", stack=3),
        ),
        (
            fx("tanh", TANH, "a", stack=1, aten=TANH, came_from=("x",)),
            fx("made", target, "tanh", "w"),
            fx("relu", RELU, "made", stack=3, aten=RELU, came_from=("y",)),
        ),
        4,
    )
    assert rules(found, "made") == [((2,), Rule.DATA_FLOW)]
    assert found["made"].calls == ("m",)


@pytest.mark.parametrize(
    "target",
    ["torch._C._nn.scaled_dot_product_attention", "higher_order.wrap_body_0", "einsum"],
)
def test_a_call_that_may_hold_any_product_stays_possible(target):
    """What is left over may be inside of it, although it never says so."""
    found = origins(
        (linear("x", 1, "a"), fx("z", target, "a", stack=2)),
        (product("mm", "a", "w"), addition("add", "c", "mm")),
        3,
    )
    assert {found[name].stacks for name in ("mm", "add")} == {()}


def test_a_call_with_one_of_its_products_may_hold_another():
    """Attention multiplies twice; the second product is not taken from it."""
    attention = "torch._C._nn.scaled_dot_product_attention"
    found = origins(
        (
            fx("z", attention, "q", "k", "v", stack=1),
            fx("m", "_operator.matmul", "z", "w", stack=2),
            fx("y", "torch.relu", "m", stack=3),
        ),
        (
            fx("bmm", BMM, "q", "k", stack=1, aten=BMM, came_from=("z",)),
            fx("made", BMM, "bmm", "v"),
            fx("made_1", BMM, "made", "w"),
            fx("relu", RELU, "made_1", stack=3, aten=RELU, came_from=("y",)),
        ),
        4,
    )
    assert {found[name].stacks for name in ("made", "made_1")} <= {(), (1,), (2,)}
    assert found["made"].stacks in {(), (1,)}
    assert found["made_1"].stacks in {(), (2,)}


def test_what_may_be_of_many_calls_names_some_and_counts_the_rest():
    """The reason stays short, and says how much it leaves out."""
    calls = tuple(linear(f"x_{n}", n, "a") for n in range(7))
    above = fx("relu", RELU, "b", stack=7, aten=RELU, came_from=("a",))
    found = origins(
        (fx("a", "torch.relu", "b", stack=7), *calls),
        (above, product("mm", "relu", "w")),
        8,
    )
    assert found["mm"].reason == (
        "addmm lost its stack trace, and may be of any of x_0, x_1, x_2, x_3 and 3 more"
    )


def updated(*last: FxNode):
    """Return the calls and the nodes of a value that is changed in place."""
    calls = (
        fx("x", "torch.tanh", "a", stack=1),
        fx("changed", "neg_", "x", stack=2),
        fx("y", "torch.exp", "x", stack=3),
    )
    nodes = (
        fx("tanh", TANH, "a", stack=1, aten=TANH, came_from=("x",)),
        *last,
        fx("exp", "aten.exp.default", "neg", stack=3, aten="e", came_from=("y",)),
    )
    return calls, nodes


def test_what_reads_a_changed_value_may_read_the_change():
    """By the graph of calls ``exp`` reads ``tanh``; by memory it reads ``neg_``."""
    calls, nodes = updated(fx("neg", "aten.neg.default", "tanh"))
    assert origins(calls, nodes, 4)["neg"].stacks in {(), (2,)}
    calls, nodes = updated(fx("neg", RELU, "tanh", aten=RELU))
    assert origins(calls, nodes, 4)["neg"].stacks == ()


def test_calls_that_contradict_a_node_are_not_its_own():
    """The only call between multiplies, and the node is an activation."""
    found = origins(
        (
            fx("x", "torch.tanh", "a", stack=1),
            fx("m", "_operator.mul", "x", "w", stack=2),
            fx("y", "torch.exp", "m", stack=3),
        ),
        (
            fx("tanh", TANH, "a", stack=1, aten=TANH, came_from=("x",)),
            fx("made", RELU, "tanh", aten=RELU),
            fx("exp", "aten.exp.default", "made", stack=3, aten="e", came_from=("y",)),
        ),
        4,
    )
    assert found["made"].stacks == ()


def test_what_reads_one_of_two_equal_calls_may_read_the_others_node():
    """Both were computed once; the only reader of the first one is not the only one."""
    found = origins(
        (
            fx("a", "torch.exp", "x", stack=1),
            fx("b", "torch.exp", "x", stack=2),
            fx("c", "_operator.add", "a", "y", stack=3),
            fx("d", "_operator.add", "b", "z", stack=4),
        ),
        (
            fx("exp", EXP, "x", stack=1, aten=EXP, came_from=("a",)),
            fx("add", ADD, "exp", "y", stack=3, aten=ADD, came_from=("c",)),
            fx("add_1", ADD, "exp", "z", aten=ADD),
        ),
        5,
    )
    assert found["add_1"].stacks in {(), (4,)}


def test_nothing_is_concluded_from_the_order_of_calls_in_a_backward_graph():
    """Gradients flow the other way round, and forward ops are computed again."""
    value = bundle(
        stacks=lines(0, 1, 2, 3),
        pre=(
            fx("x", "torch.tanh", "a", stack=1),
            fx("m", "torch.neg", "x", stack=2),
            fx("y", "torch.exp", "m", stack=3),
        ),
        post=(
            fx("tanh", TANH, "a", stack=1, aten=TANH, came_from=("x",)),
            fx("neg", "aten.neg.default", "tanh", aten="aten.neg.default"),
            fx("exp", "aten.exp.default", "neg", stack=3, aten="e", came_from=("y",)),
        ),
    )
    compile_ = evolve(value.compile, kind=CompileKind.BACKWARD)
    backward = evolve(value, compile=compile_)
    found = [resolve_origins(BundleIndex(each))["neg"] for each in (value, backward)]
    assert [each.stacks for each in found] == [(2,), ()]


def test_a_node_made_along_with_a_replacement_shares_its_line():
    """The last resort: what was replaced as the node was made, if of one place."""
    olds = tuple(
        Replacement(new="mm", old=f"old_{n}", direct=False, stack=1) for n in range(2)
    )
    post = (product("mm", "a", "w"),)
    found = origins(None, post, 3, olds)
    assert rules(found, "mm") == [((1,), Rule.MADE_ALONG)]
    assert found["mm"].evidence is Evidence.INFERRED
    elsewhere = (olds[0], evolve(olds[1], stack=2))
    assert origins(None, post, 3, elsewhere)["mm"].stacks == ()


@pytest.mark.parametrize("n_layers", [1, 7])
def test_every_layer_of_a_deep_model_gets_its_own_line(n_layers):
    """No layer is given its neighbour's line, however many there are."""
    pre = tuple(linear(f"x_{n}", n, f"x_{n - 1}") for n in range(n_layers))
    post = tuple(
        node
        for n in range(n_layers)
        for node in (
            weight_view(f"permute_{n}", f"x_{n}", n),
            product(f"mm_{n}", f"add_{n - 1}", f"permute_{n}"),
            addition(f"add_{n}", f"b_{n}", f"mm_{n}"),
        )
    )
    found = origins(pre, post, n_layers)
    assert [
        found[f"{half}_{n}"].stacks for n in range(n_layers) for half in _HALVES
    ] == [(n,) for n in range(n_layers) for _ in _HALVES]


_HALVES = ("mm", "add")
