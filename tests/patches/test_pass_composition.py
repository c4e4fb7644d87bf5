"""The module that is added to torch-spyre: one pass out of several."""

from __future__ import annotations

import pickle

import pytest
from torch._inductor import config, custom_graph_pass
from torch._inductor.custom_graph_pass import CustomGraphPass

from patches.pass_composition import compose_passes

NODE_PASS = getattr(custom_graph_pass, "CustomSchedulerPass", CustomGraphPass)


class GraphPass(CustomGraphPass):
    """A pass over a list that stands for a graph: appends a letter to it."""

    def __init__(self, letter, key="same"):
        self.letter, self.key = letter, key

    def __call__(self, graph):
        """Append the letter."""
        graph.append(self.letter)
        return "ignored"

    def uuid(self):
        """Return the letter and the key, or what stands for no key."""
        return self.key and f"{self.letter} {self.key}"


class DevicePass(GraphPass):
    """The device's pass over a graph."""


class NodePass(NODE_PASS):
    """A pass over nodes: returns them with a letter more."""

    def __init__(self, letter):
        self.letter = letter

    def __call__(self, nodes):
        """Return the nodes and the letter."""
        return [*nodes, self.letter]

    def uuid(self):
        """Return the letter."""
        return self.letter


class DeviceNodePass(NodePass):
    """The device's pass over nodes."""


def composed(option, configured, own):
    """Return the value that an option gets."""
    with config.patch({option: configured}):
        return compose_passes({option: own, "permute_fusion": False})[option]


def test_graph_passes_run_in_order():
    """The configured ones first, whatever they return."""
    value = composed("pre_grad_custom_pass", GraphPass("a"), DevicePass("d"))
    graph = []

    assert value(graph) is None
    assert ["a", "d"] == graph


def test_nodes_go_from_one_pass_to_the_next():
    """Each pass gets what the one before it returned."""
    value = composed("_pre_fusion_custom_pass", NodePass("a"), DeviceNodePass("d"))

    assert ["n", "a", "d"] == value(["n"])
    assert ("a", "d") == value.uuid()


@pytest.mark.parametrize("form", [list, tuple])
def test_lists_of_passes_are_taken_apart(form):
    """Since torch 2.13 an option takes several passes; they run one after the other."""
    several = form([GraphPass("a"), GraphPass("b")])
    graph = []

    composed("post_grad_custom_pre_pass", several, DevicePass("d"))(graph)

    assert ["a", "b", "d"] == graph


@pytest.mark.parametrize("nothing", [None, [], ()])
def test_nothing_configured_is_nothing_changed(nothing):
    """The device's own object comes back."""
    own = DevicePass("d")

    assert own is composed("pre_grad_custom_pass", nothing, own)


def test_keys_tell_compositions_apart():
    """The uuid changes with each of the passes, and with their order; it pickles."""

    def key(*configured):
        passes = list(configured)
        return composed("pre_grad_custom_pass", passes, DevicePass("d")).uuid()

    first, second = GraphPass("a"), GraphPass("b")
    keys = [
        key(first),
        key(second),
        key(first, second),
        key(second, first),
        key(GraphPass("a", key="changed")),
    ]

    assert len(keys) == len(set(keys))
    assert keys == pickle.loads(pickle.dumps(keys))  # noqa: S301
    assert key(first) == key(GraphPass("a"))


@pytest.mark.parametrize(
    "keyless", [lambda graph: None, GraphPass("a", key=None), GraphPass("a", key="")]
)
def test_a_graph_pass_without_a_key_leaves_none(keyless):
    """Then Inductor keeps the compile out of its caches, as it would by itself."""
    value = composed("pre_grad_custom_pass", keyless, DevicePass("d"))

    assert value.uuid() is None


def test_a_node_pass_without_a_key_leaves_no_pass_object():
    """Inductor asks a node pass for its class only, so it must be a plain callable."""
    value = composed(
        "_post_fusion_custom_pass", lambda nodes: nodes, DeviceNodePass("d")
    )

    assert not isinstance(value, NODE_PASS)
    assert ["n", "d"] == value(["n"])


@pytest.mark.parametrize(
    ("option", "configured", "own"),
    [
        ("pre_grad_custom_pass", GraphPass("a"), DevicePass),
        ("pre_grad_custom_pass", [DevicePass("other")], DevicePass),
        ("_pre_fusion_custom_pass", NodePass("a"), DeviceNodePass),
        ("_pre_fusion_custom_pass", lambda nodes: nodes, DeviceNodePass),
        ("_pre_fusion_custom_pass", None, DeviceNodePass),
    ],
)
def test_composing_twice_is_composing_once(option, configured, own):
    """The device's passes that are in place already are not put there again."""
    once = composed(option, configured, own("d"))

    assert once is composed(option, once, own("d"))


def test_passes_that_ask_are_told_what_the_graph_is_for():
    """Since torch 2.13 some passes are told whether a graph is for inference."""
    aware = getattr(custom_graph_pass, "CustomInferenceAwareGraphPass", None)
    if aware is None:
        pytest.skip("torch < 2.13 tells nobody")

    class Aware(aware):
        def __call__(self, graph, is_inference):
            graph.append(is_inference)

        def uuid(self):
            return "aware"

    value = composed("post_grad_custom_post_pass", Aware(), DevicePass("d"))
    graph = []
    value(graph, is_inference=True)

    assert isinstance(value, aware)
    assert [True, "d"] == graph
