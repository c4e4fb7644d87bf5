"""Real architectures: each equals eager, and every op of it is accounted for.

By default two of them run. With ``--update-goldens`` all do, and the table in
``docs/models.md`` is written from what they made.
"""

from __future__ import annotations

import copy
import time
from collections import Counter
from pathlib import Path

import pytest
import torch
from attrs import frozen
from eager_comparison import TOLERANCE
from models.architectures import ARCHITECTURES, words
from torch import nn
from torch.nn import functional

import torch_spyre_provenance
from torch_spyre_provenance.analysis.attribution import attribute
from torch_spyre_provenance.frontends.contract import DEVICE
from torch_spyre_provenance.frontends.reference.op_table import RESTICKIFY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    # transformers warns about itself, and uses what torch deprecates.
    pytest.mark.filterwarnings("ignore"),
]

DOCS = Path(__file__).parents[2] / "docs" / "models.md"
SAMPLE = ("Llama", "ResNet-18")
OWN = {"ResNet-18"}
"""Architectures that need nothing but torch."""

NO_COMPUTATION = {"MultiOutput", "SpyreConstantFallback", "SpyreEmptyFallback"}
"""What stands among the extern kernels and computes nothing."""

HEAD = """\
# Models

What the reference front end makes of real architectures, with random weights and small
configurations (two layers, width 64; `tests/models/architectures.py`), in half
precision and without gradients. Each result equals eager on the host within 2 %, each
device op has a line or a reason why not. The table is written by a test run:

    make models

The seconds are those of the first call: Dynamo, Inductor, recording, and the run on the
host.

| model | graphs | FX nodes | OpSpecs | restickifies | kernels | seconds | on the host |
|---|--:|--:|--:|--:|--:|--:|---|
"""


@frozen(kw_only=True)
class Row:
    """One line of the table."""

    model: str
    graphs: int
    nodes: int
    ops: int
    restickifies: int
    kernels: int
    seconds: float
    extern: Counter

    def __str__(self):
        """Return the line."""
        extern = ", ".join(
            f"`{name}` {count}" for name, count in sorted(self.extern.items())
        )
        numbers = (self.graphs, self.nodes, self.ops, self.restickifies, self.kernels)
        cells = (self.model, *numbers, f"{self.seconds:.0f}", extern)
        return f"| {' | '.join(map(str, cells))} |"


@pytest.fixture(scope="module")
def rows(request):
    """Collect the table's lines, and write it at the end if it is to be updated."""
    collected = []
    yield collected
    if request.config.getoption("--update-goldens"):
        DOCS.write_text(HEAD + "".join(f"{row}\n" for row in collected))


def pytest_generate_tests(metafunc):
    """Run all architectures where the table is to be written, else the sample."""
    if "architecture" in metafunc.fixturenames:
        everything = metafunc.config.getoption("--update-goldens")
        metafunc.parametrize("architecture", ARCHITECTURES if everything else SAMPLE)


def tensors(value):
    """Return the tensors in a model's output, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if hasattr(value, "to_tuple"):
        value = value.to_tuple()
    if isinstance(value, tuple):
        return [tensor for item in value for tensor in tensors(item)]
    return []


def assert_close(expected, actual):
    """Assert that the device's tensors are the host's, within the stated tolerance."""
    for want, got in zip(expected, actual, strict=True):
        tolerance = TOLERANCE[want.dtype]
        torch.testing.assert_close(got.cpu(), want, rtol=tolerance, atol=tolerance)


def extern_kernels(bundle):
    """Count the host's operators of a compile, by name."""
    names = (op.kernel for op in bundle.loop_ir_post.ops)
    return Counter(name for name in names if name and name not in NO_COMPUTATION)


def assert_complete(bundle):
    """Assert that each op is the device's or the host's, and that its line is known."""
    computed = {op.buffer for _, op in bundle.ops}
    assert [] == [
        op.name
        for op in bundle.loop_ir_post.ops
        if op.kernel is None and op.buffer not in computed
    ]
    assert [] == [kernel.name for kernel in bundle.kernels if kernel.unimplemented]
    assert [] == [
        found.op for found in attribute(bundle) if not (found.locations or found.reason)
    ]


def test_architecture(architecture, rows, tmp_path):
    """It compiles as one graph, equals eager, and nothing of it is unaccounted for."""
    if architecture not in OWN:
        pytest.importorskip("transformers")
    torch._dynamo.reset()
    torch.manual_seed(0)
    subject = ARCHITECTURES[architecture]
    model = subject.make().eval().half()
    inputs = {
        name: value.half() if value.is_floating_point() else value
        for name, value in subject.inputs().items()
    }
    with (
        torch_spyre_provenance.record(out=tmp_path, strict=True) as recording,
        torch.no_grad(),
    ):
        expected = tensors(model(**inputs))
        model = model.to(DEVICE)
        moved = {name: value.to(DEVICE) for name, value in inputs.items()}
        started = time.perf_counter()
        compiled = torch.compile(model, fullgraph=subject.fullgraph)
        actual = tensors(compiled(**moved))
        seconds = time.perf_counter() - started
    assert_close(expected, actual)
    bundles = [done.bundle for done in recording.bundles]
    for bundle in bundles:
        assert_complete(bundle)
    ops = [op.op for bundle in bundles for _, op in bundle.ops]
    assert ops
    rows.append(
        Row(
            model=architecture,
            graphs=len(bundles),
            nodes=sum(len(bundle.fx_post_grad.nodes) for bundle in bundles),
            ops=len(ops),
            restickifies=ops.count(RESTICKIFY),
            kernels=sum(len(bundle.kernels) for bundle in bundles),
            seconds=seconds,
            extern=sum(map(extern_kernels, bundles), Counter()),
        )
    )


def test_a_prompt_and_the_next_word(tmp_path):
    """A decoder fills a cache of keys and values, and goes on from it."""
    transformers = pytest.importorskip("transformers")
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = ARCHITECTURES["Llama"].make().eval()

    def decode(model, call):
        device = next(model.parameters()).device
        cache = transformers.StaticCache(config=model.config, max_cache_len=16)
        text, position = words(2, 10).to(device), torch.arange(10, device=device)
        scores = []
        for _ in range(2):
            result = call(
                input_ids=text,
                past_key_values=cache,
                cache_position=position,
                use_cache=True,
            )
            scores.append(result.logits)
            text, position = result.logits[:, -1:].argmax(-1), position[-1:] + 1
        return scores

    with (
        torch_spyre_provenance.record(out=tmp_path, strict=True) as recording,
        torch.no_grad(),
    ):
        expected = decode(model, copy.deepcopy(model))
        model = model.to(DEVICE)
        actual = decode(model, torch.compile(model, fullgraph=True))
    assert_close(expected, actual)
    assert recording.bundles
    for done in recording.bundles:
        assert_complete(done.bundle)


class Transformer(nn.Module):
    """Two layers, and the loss of the words that it should say."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(96, 64)
        layer = nn.TransformerEncoderLayer(
            64, 4, 128, dropout=0.0, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(64, 96)

    def forward(self, text, target):
        scores = self.head(self.layers(self.embedding(text)))
        return functional.cross_entropy(scores.flatten(0, 1), target.flatten())


def test_a_training_step(tmp_path):
    """Forward and backward are compiled, and two steps leave the host's weights."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    host = Transformer()
    device = copy.deepcopy(host).to(DEVICE)
    text, target = words(2, 10), words(2, 10).flip(0)
    with torch_spyre_provenance.record(out=tmp_path, strict=True) as recording:
        compiled = torch.compile(device, fullgraph=True)
        for _ in range(2):
            for model, call in ((host, host), (device, compiled)):
                place = next(model.parameters()).device
                loss = call(text.to(place), target.to(place))
                loss.backward()
                torch.optim.SGD(model.parameters(), lr=0.1).step()
                model.zero_grad()
    assert_close(
        [parameter.detach() for parameter in host.parameters()],
        [parameter.detach() for parameter in device.parameters()],
    )
    kinds = [done.bundle.compile.kind.value for done in recording.bundles]
    assert ["backward", "forward"] == sorted(kinds)
    for done in recording.bundles:
        assert_complete(done.bundle)
