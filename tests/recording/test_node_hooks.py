"""Which node took the place of which, as the hooks of a graph tell it."""

from __future__ import annotations

import pytest
import torch
from torch.fx.traceback import NodeSource, NodeSourceAction

from torch_spyre_provenance.recording.fx import StackTable
from torch_spyre_provenance.recording.node_hooks import RewriteRecorder

aten = torch.ops.aten


def trace(line: int) -> str:
    """Return a stack trace of one frame."""
    return f'  File "/m.py", line {line}, in f\n    y = f(x)\n'


class Rewriting:
    """A graph of ``relu(mm(x, w) + b)``, whose calls are on lines 1 to 3, watched."""

    def __init__(self):
        self.graph = torch.fx.Graph()
        self.x, self.w, self.b = map(self.graph.placeholder, "xwb")
        self.mm = self.call(1, aten.mm.default, self.x, self.w)
        self.add = self.call(2, aten.add.Tensor, self.mm, self.b)
        self.relu = self.call(3, aten.relu.default, self.add)
        self.graph.output(self.relu)
        gm = torch.fx.GraphModule({}, self.graph)
        assert gm.graph is self.graph
        self.recorder = RewriteRecorder(gm=gm)
        self.recorder.start()

    def call(self, line, target, *args):
        """Return a node of the call on a line."""
        node = self.graph.call_function(target, args)
        node.meta["stack_trace"] = trace(line)
        source = torch.fx.Graph().placeholder(f"call_{line}")
        node.meta["from_node"] = [NodeSource(source, "", NodeSourceAction.CREATE)]
        return node

    def make(self, before, target, *args):
        """Make a node."""
        with self.graph.inserting_before(before):
            return self.graph.call_function(target, args)

    def join(self):
        """Make one ``addmm`` of the product and the sum, as Inductor does."""
        joined = self.make(self.add, aten.addmm.default, self.b, self.x, self.w)
        self.take_place(joined, self.add)
        self.graph.erase_node(self.mm)
        return joined

    def take_place(self, new, old):
        """Let a node take over the uses of another one, which goes."""
        old.replace_all_uses_with(new)
        self.graph.erase_node(old)

    def found(self):
        """Return what was recorded: new, old, calls, line, and whether directly."""
        stacks = StackTable()
        names = frozenset(node.name for node in self.graph.nodes)
        return {
            (
                each.new,
                each.old,
                each.sources,
                stacks.stacks[each.stack][0].line if each.stack is not None else None,
                each.direct,
            )
            for each in self.recorder.replacements(names, stacks)
        }


@pytest.fixture
def rewriting():
    """Return a watched graph."""
    return Rewriting()


def test_new_node_stands_for_the_one_whose_uses_it_got(rewriting):
    """The old node's trace and calls are read before it goes."""
    new = rewriting.make(rewriting.relu, aten.gelu.default, rewriting.add)
    rewriting.take_place(new, rewriting.relu)

    assert {
        ("gelu_default", rewriting.relu.name, ("call_3",), 3, True)
    } == rewriting.found()


def test_node_made_along_is_marked(rewriting):
    """The other new nodes of a rewrite stand for the same old one, not directly."""
    half = rewriting.make(rewriting.relu, aten.mul.Tensor, rewriting.add, 0.5)
    new = rewriting.make(rewriting.relu, aten.gelu.default, half)
    rewriting.take_place(new, rewriting.relu)

    assert {
        ("mul_tensor", rewriting.relu.name, ("call_3",), 3, False),
        ("gelu_default", rewriting.relu.name, ("call_3",), 3, True),
    } == rewriting.found()


def test_what_is_joined_and_split_again_finds_its_own(rewriting):
    """Product and sum of two lines become one node and two again, on their lines."""
    joined = rewriting.join()
    product = rewriting.make(joined, aten.mm.default, rewriting.x, rewriting.w)
    total = rewriting.make(joined, aten.add.Tensor, product, rewriting.b)
    rewriting.take_place(total, joined)

    assert {
        (product.name, rewriting.mm.name, ("call_1",), 1, True),
        (total.name, rewriting.add.name, ("call_2",), 2, True),
    } == rewriting.found()


def test_what_is_left_over_stands_for_what_is_left_over(rewriting):
    """A product of another operator stands for the only old one without a twin."""
    joined = rewriting.join()
    product = rewriting.make(joined, aten.bmm.default, rewriting.x, rewriting.w)
    total = rewriting.make(joined, aten.add.Tensor, product, rewriting.b)
    rewriting.take_place(total, joined)

    assert {
        (product.name, rewriting.mm.name, ("call_1",), 1, False),
        (total.name, rewriting.add.name, ("call_2",), 2, True),
    } == rewriting.found()


def test_chain_of_replacements_ends_at_its_first_node(rewriting):
    """A node that replaces a replacement stands for what that one stood for."""
    second = rewriting.make(rewriting.relu, aten.gelu.default, rewriting.add)
    rewriting.take_place(second, rewriting.relu)
    third = rewriting.make(second, aten.silu.default, rewriting.add)
    rewriting.take_place(third, second)

    assert {
        ("silu_default", rewriting.relu.name, ("call_3",), 3, True)
    } == rewriting.found()


def test_two_of_one_operator_are_not_told_apart(rewriting):
    """Of two new products neither is the twin of the old one."""
    joined = rewriting.join()
    first = rewriting.make(joined, aten.mm.default, rewriting.x, rewriting.w)
    second = rewriting.make(joined, aten.mm.default, rewriting.x, rewriting.w)
    total = rewriting.make(joined, aten.add.Tensor, first, second)
    rewriting.take_place(total, joined)

    assert {
        (first.name, rewriting.mm.name, ("call_1",), 1, False),
        (second.name, rewriting.mm.name, ("call_1",), 1, False),
        (total.name, rewriting.add.name, ("call_2",), 2, True),
    } == rewriting.found()


def test_node_that_is_erased_later_on_is_not_part_of_a_rewrite(rewriting):
    """Dead code that a rewrite's old nodes never read says nothing of the new ones."""
    dead = rewriting.make(rewriting.relu, aten.exp.default, rewriting.x)
    dead.meta["stack_trace"] = trace(9)
    new = rewriting.make(rewriting.relu, aten.exp.default, rewriting.add)
    rewriting.take_place(new, rewriting.relu)
    rewriting.graph.erase_node(dead)

    assert {(new.name, rewriting.relu.name, ("call_3",), 3, True)} == rewriting.found()


def test_nothing_is_noted_when_the_hooks_are_off(rewriting):
    """After `stop` the graph may be rewritten unseen; stopping twice is no error."""
    rewriting.recorder.stop()
    rewriting.recorder.stop()
    rewriting.join()

    assert set() == rewriting.found()
