"""The hot pieces of recording, each by itself: ``make bench-compare``.

They are measured with pytest-benchmark, which keeps every run, so that a change can be
held against the run before it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import sympy
import torch
from torch import fx

from torch_spyre_provenance.analysis.attribution import Attributor
from torch_spyre_provenance.model import parse_stack_trace
from torch_spyre_provenance.recording.fx import FxReader, StackTable
from torch_spyre_provenance.recording.guard import Guard
from torch_spyre_provenance.recording.op_specs import ExpressionTexts
from torch_spyre_provenance.recording.points import Point
from torch_spyre_provenance.report import markdown
from torch_spyre_provenance.store.bundle_dir import read_bundle, write_bundle
from torch_spyre_provenance.store.record import record_of, unpack

from .attribution_cost import bundle_of
from .overhead_subjects import blocks

Benchmark = Callable[..., object]

BUNDLE = bundle_of("layers", 300)
TRACE = "".join(
    f'  File "/models/part_{n}.py", line {n + 1}, in forward\n    x = self.fc{n}(x)\n'
    for n in range(20)
)


@pytest.fixture(scope="module")
def graph() -> fx.Graph:
    """Return the graph of 50 blocks, with the traces that Dynamo would give it."""
    traced = fx.symbolic_trace(blocks(50)).graph
    for number, node in enumerate(traced.nodes):
        node.meta["stack_trace"] = f"{TRACE}\n    line {number}\n"
        node.meta["nn_module_stack"] = {"0": ("L['self'].layers[0]", torch.nn.Linear)}
    return traced


def test_stack_trace(benchmark: Benchmark) -> None:
    """Parsing one trace of twenty frames."""
    benchmark(parse_stack_trace, TRACE)


def test_fx_graph(benchmark: Benchmark, graph: fx.Graph) -> None:
    """Reading an FX graph, with tables that are empty at first."""

    def read() -> object:
        reader = FxReader(stacks=StackTable())
        return reader.graph(graph)

    benchmark(read)


def test_expressions(benchmark: Benchmark) -> None:
    """Printing the expressions of a kernel whose ops share them."""
    a, b = sympy.symbols("c0 c1")
    expressions = [a, b, a + 64 * b, sympy.Integer(64)] * 250

    def printed() -> list[str]:
        return list(map(ExpressionTexts().text, expressions))

    benchmark(printed)


def test_guard(benchmark: Benchmark) -> None:
    """A hundred observations of nothing."""
    guard = Guard()

    def observe() -> None:
        for _ in range(100):
            with guard.watch(Point.KERNEL):
                pass

    benchmark(observe)


def test_pack(benchmark: Benchmark) -> None:
    """Packing a bundle of 300 ops into a literal."""
    benchmark(lambda: record_of(BUNDLE).packed())


def test_unpack(benchmark: Benchmark) -> None:
    """Making a bundle's text of that literal, as every load of a module does."""
    packed = record_of(BUNDLE).packed()
    benchmark(lambda: unpack(packed).with_run(BUNDLE.run))


def test_write(benchmark: Benchmark, tmp_path: Path) -> None:
    """Writing a bundle of 300 ops."""
    benchmark(write_bundle, tmp_path, BUNDLE, {})


def test_read(benchmark: Benchmark, tmp_path: Path) -> None:
    """Reading it."""
    benchmark(read_bundle, write_bundle(tmp_path, BUNDLE, {}))


def test_attribution(benchmark: Benchmark) -> None:
    """Attributing 300 ops."""
    benchmark(lambda: Attributor(BUNDLE).attributions)


def test_report(benchmark: Benchmark) -> None:
    """Rendering the report of 300 ops."""
    benchmark(markdown.render, BUNDLE)
