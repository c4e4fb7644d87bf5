"""Models that torch-spyre has been seen to compile: the same ops in the same order.

What is written down here is what torch-spyre of July 2026 made of each model: the
buffers after its passes with their origins, and the ops of its one kernel. Only the
names of FX nodes that torch-spyre's own post-grad passes make are left out.
"""

from __future__ import annotations

import json
import re
from functools import reduce
from pathlib import Path

import pytest
import torch
from attrs import frozen
from torch import nn
from torch.nn import functional

from torch_spyre_provenance.frontends.reference import config, passes

SOFTMAX = ["max", "sub", "exp", "sum", "realdiv"]


class Mlp(nn.Module):
    """Two linear layers."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(128, 256)
        self.second = nn.Linear(256, 128)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class Norms(nn.Module):
    """A norm whose input is read by two ops, a softmax, a product."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(256)

    def forward(self, x, weight):
        return torch.softmax(self.norm(x) * 2.0, dim=-1) @ weight


class Attention(nn.Module):
    """One head."""

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(128, 128, bias=False)
        self.key = nn.Linear(128, 128, bias=False)
        self.value = nn.Linear(128, 128, bias=False)

    def forward(self, x):
        query, key, value = self.query(x), self.key(x), self.value(x)
        scores = query @ key.transpose(-1, -2)
        return torch.softmax(scores * 0.125, dim=-1) @ value


class PlainWeight(nn.Module):
    """A linear layer whose weight is an argument, so that it lies row by row."""

    def forward(self, x, weight, bias):
        return functional.gelu(functional.linear(x, weight, bias))


@frozen(kw_only=True)
class Sample:
    """One model, and what torch-spyre made of it.

    Attributes:
        model: Its class.
        shapes: The shapes of its inputs.
        inserted: For each buffer that a pass added, in order, its one origin.
        ops: The ops of the kernel.
    """

    model: type[nn.Module]
    shapes: tuple[tuple[int, ...], ...]
    inserted: list[str]
    ops: list[str]


SAMPLES = {
    "simple_mlp": Sample(
        model=Mlp,
        shapes=((2, 128),),
        inserted=[],
        ops=["batchmatmul", "add", "relufwd", "batchmatmul", "add"],
    ),
    "norms_softmax_matmul": Sample(
        model=Norms,
        shapes=((64, 256), (256, 128)),
        inserted=["constant_default", "clone"],
        ops=[
            "identity",
            "exx2",
            "layernormscale",
            "layernormnorm",
            "mul",
            *SOFTMAX,
            "batchmatmul",
        ],
    ),
    "attention": Sample(
        model=Attention,
        shapes=((2, 64, 128),),
        inserted=["constant_default", "restickify_default"],
        ops=[
            "batchmatmul",
            "batchmatmul",
            "ReStickifyOpHBM",
            "batchmatmul",
            "mul",
            *SOFTMAX,
            "batchmatmul",
            "batchmatmul",
        ],
    ),
    "plain_weight_restickify": Sample(
        model=PlainWeight,
        shapes=((64, 128), (256, 128), (256,)),
        inserted=["restickify_default"],
        ops=["ReStickifyOpHBM", "batchmatmul", "add", "gelufwd"],
    ),
}


KEYS = Path(__file__).with_name("superdsc_keys.txt")
"""The keys of torch-spyre's files for these models, one a line, indented by depth.

Four words stand for what depends on the op: ``N`` for a number, ``op`` for its name,
``DIM`` for the label of a dimension, ``POINT`` for a place in the folds.
"""

PLACEHOLDERS = (
    (r"-?\d+", "N"),
    (r"\d+_\w+", "N_op"),
    (r"\[[\d, ]+\]", "POINT"),
    (r"(mb|x|y|i|j|ki|kj|out|in)(_?)", r"DIM\2"),
)


def key_tree(value, parent=""):
    """Return the keys of a JSON value as nested dictionaries, those of lists merged."""
    if isinstance(value, list):
        return reduce(merged, (key_tree(item, parent) for item in value), {})
    if not isinstance(value, dict):
        return {}
    tree = {}
    for key, inner in value.items():
        name = "op" if parent == "dscs_" else general(key)
        tree[name] = merged(tree.get(name, {}), key_tree(inner, name))
    return tree


def general(key):
    """Return a key, or the word that stands for its kind."""
    for pattern, word in PLACEHOLDERS:
        if found := re.fullmatch(pattern, key):
            return found.expand(word)
    return key


def merged(first, second):
    """Return one tree with the keys of both, those of the first one in front."""
    extra = {key: merged(first.get(key, {}), inner) for key, inner in second.items()}
    return first | extra


def outline(tree, depth=0):
    """Return a tree's keys, indented by depth."""
    return [
        line
        for key, inner in tree.items()
        for line in ("  " * depth + key, *outline(inner, depth + 1))
    ]


@pytest.fixture
def buffers():
    """Keep the buffers and their origins, as lowered and as the passes left them."""
    kept = {}

    def observe(name, graph, *, after):
        ends = {(passes.PRE_SCHEDULING[0].__name__, False): "before"}
        ends[passes.PRE_SCHEDULING[-1].__name__, True] = "after"
        if (name, after) in ends:
            kept[ends[name, after]] = [
                (op.get_name(), [node.name for node in op.origins])
                for op in graph.operations
            ]

    passes.OBSERVERS.append(observe)
    yield kept
    passes.OBSERVERS.remove(observe)


def run(model, shapes):
    """Compile a model for the device in half precision, without gradients."""
    torch.manual_seed(0)
    inputs = [torch.randn(shape).half().to("spyre") for shape in shapes]
    with torch.no_grad(), config.patch(lx_planning=True):
        torch.compile(model.half().to("spyre"))(*inputs)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_passes_add_what_torch_spyre_adds(compiled, buffers, name):
    """The same source-less buffers, in the same order; the same ops in one kernel."""
    sample = SAMPLES[name]
    run(sample.model(), sample.shapes)
    lowered = {buffer for buffer, _ in buffers["before"]}
    added = [seen for seen in buffers["after"] if seen[0] not in lowered]
    assert [[origin] for origin in sample.inserted] == [names for _, names in added]
    assert [sample.ops] == compiled.ops
    moves = ("identity", "ReStickifyOpHBM")
    assert [op for op in sample.ops if op in moves] == [
        spec.op
        for spec in compiled.specs
        # The addition of a bias has no line either before torch 2.13.
        if spec.debug_handle.source is None and spec.op != "add"
    ]


def test_the_files_have_torch_spyres_keys(compiled, inductor_cache):
    """Each key of its files for these models, nested and ordered as there."""
    tree = {}
    # The one of the plainest ops comes first: what others add comes after its keys.
    for sample in SAMPLES.values():
        run(sample.model(), sample.shapes)
        for path in sorted(inductor_cache.glob("*/*/sdsc_*.json")):
            tree = merged(tree, key_tree(json.loads(path.read_text())))
    assert KEYS.read_text().splitlines() == outline(tree)


def test_a_product_over_part_of_a_stick_is_padded(compiled, buffers):
    """Four buffers of one source-less node: allocation, zero, fill and copy."""
    run(Product(), ((5, 100), (100, 33)))
    before = {buffer for buffer, _ in buffers["before"]}
    added = [names for buffer, names in buffers["after"] if buffer not in before]
    assert [["constant_pad_nd_default"]] * 4 == added
    assert [["identity", "identity", "batchmatmul"]] == compiled.ops
    fill, copy, product = compiled.specs
    assert [None] * 2 == [spec.debug_handle.source for spec in (fill, copy)]
    assert product.debug_handle.source is not None
    assert [1, 128, 64] == product.args[1].device_size


class Product(nn.Module):
    """One matrix product."""

    def forward(self, x, y):
        return x @ y
