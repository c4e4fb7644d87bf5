"""The forward graph of a training step is watched, whoever has the passes after it.

A device may put passes of its own into ``post_grad_custom_pre_pass`` for the time of
its compiles, as torch-spyre does; ours is not called then.
"""

from __future__ import annotations

import pytest
import torch
from torch._functorch.partitioners import default_partition
from torch._inductor import compile_fx, config
from torch._inductor.custom_graph_pass import CustomPartitionerFn

import torch_spyre_provenance
from torch_spyre_provenance.analysis.attribution import attribute
from torch_spyre_provenance.model import CompileKind, Evidence
from torch_spyre_provenance.recording.partition import (
    OPTION,
    WatchPartitioner,
    with_watch,
    without_watch,
)


def model(x, w, b, v, c):
    """Return a result of two products with a bias each."""
    y = torch.addmm(b, x, w)
    z = torch.addmm(c, torch.sigmoid(y), v)
    return z * y


LINES = [model.__code__.co_firstlineno + offset for offset in (2, 2, 3, 3, 3, 4)]
"""The lines of the ops: product, sum, sigmoid, product, sum, product."""


def masking(gm, inputs):
    """Compile as torch-spyre does, with the pass before post-grad taken out."""
    with config.patch(post_grad_custom_pre_pass=None):
        return compile_fx.compile_fx(gm, inputs)


def half(*shape):
    """Return a Spyre tensor that asks for a gradient."""
    return torch.ones(shape, dtype=torch.float16).to("spyre").requires_grad_()


def train(out, backend):
    """Record a training step; return its forward and its backward graph."""
    torch._dynamo.reset()
    with torch_spyre_provenance.record(
        out, front_end="reference", strict=True
    ) as recording:
        inputs = half(64, 64), half(64, 64), half(64), half(64, 64), half(64)
        torch.compile(model, backend=backend)(*inputs).sum().backward()
    bundles = {each.bundle.compile.kind: each.bundle for each in recording.bundles}
    return bundles[CompileKind.FORWARD], bundles[CompileKind.BACKWARD]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """The two graphs of a step whose forward one is compiled without our pass."""
    return train(tmp_path_factory.mktemp("bundles"), masking)


def test_what_replaced_what_is_known(graphs):
    """In the forward graph every product and every sum has its own line, measured."""
    forward, _ = graphs
    found = attribute(forward)
    assert {Evidence.MEASURED} == {each.evidence for each in found}
    assert sorted(LINES) == sorted(
        place.frame.line for each in found for place in each.locations
    )
    assert 4 == len({each.new for each in forward.replacements})


def test_each_graph_has_its_own_replacements(graphs):
    """Names come again in the backward graph; what they replaced there is another."""
    forward, backward = graphs
    ours = {(each.new, each.old, each.stack) for each in forward.replacements}
    theirs = {(each.new, each.old, each.stack) for each in backward.replacements}
    assert set() == ours & theirs


class Partitioner(CustomPartitionerFn):
    """A partitioner of the user's own; Inductor copies it."""

    def __init__(self, key="default"):
        self.key = key

    def __call__(self, gm, joint_inputs, **options):
        """Split a graph without computing anything again."""
        calls.append(options.pop("compiler"))
        return default_partition(gm, joint_inputs, **options)

    def uuid(self):
        """Return a name."""
        return self.key

    def __eq__(self, other):
        """Return whether the other is one of the same name."""
        return isinstance(other, Partitioner) and self.key == other.key

    def __hash__(self):
        """Return the name's."""
        return hash(self.key)


calls = []


def test_a_configured_partitioner_goes_on(tmp_path):
    """It is called as it would be, and is in its place again afterwards."""
    own = Partitioner()
    with config.patch({OPTION: own}):
        forward, _ = train(tmp_path, "inductor")
        assert own == getattr(config, OPTION)
    assert ["inductor"] == calls
    assert forward.replacements


def test_the_option_is_as_it_was(graphs):
    """Nothing of ours stays when the recording is over."""
    assert None is getattr(config, OPTION)


def test_watching_twice_is_watching_once():
    """The option is set as each compile starts, and stays what it is."""
    watched = with_watch(None)
    assert watched is with_watch(watched)
    assert None is without_watch(watched)
    assert None is without_watch(None)


def test_keys_tell_partitioners_apart():
    """The configured partitioner is part of the key; without a key of its own, none."""
    keys = {with_watch(each).uuid() for each in (None, Partitioner(), Partitioner("b"))}
    assert 3 == len(keys)
    assert None is with_watch(Partitioner(None)).uuid()
    assert WatchPartitioner() == with_watch(None)
    assert WatchPartitioner() != with_watch(Partitioner())
    assert hash(WatchPartitioner()) == hash(with_watch(None))
