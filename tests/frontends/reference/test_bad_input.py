"""What the device cannot do: a right result from the host, or an error, never worse."""

from __future__ import annotations

import pytest
import torch
from eager_comparison import assert_equals_eager
from torch._inductor.exc import InductorError

from torch_spyre_provenance.frontends.contract import DEVICE
from torch_spyre_provenance.frontends.reference import passes
from torch_spyre_provenance.frontends.reference.ir import spyre_loops


# Inductor says that it generates no code for complex numbers.
@pytest.mark.filterwarnings("ignore:Torchinductor does not support code generation")
@pytest.mark.parametrize(
    "dtype",
    [
        torch.float64,
        torch.complex64,
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
    ],
    ids=str,
)
def test_a_type_that_the_device_does_not_compute_in(compiled, dtype):
    """The host computes, in the type that was asked for."""
    x = torch.arange(12).reshape(3, 4).to(dtype)
    assert_equals_eager(lambda a: torch.cat([a + 1, (a * a).t().reshape(3, 4)]), x)
    assert [] == compiled.kernels


def test_truth_values(compiled):
    """They are moved by the device, and combined by the host where it lacks the op."""
    x = torch.arange(12).reshape(3, 4) % 2 == 0
    assert_equals_eager(lambda a: (~a | a).t().contiguous(), x)
    assert [["identity"]] == compiled.ops


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0)])
def test_no_elements(compiled, shape):
    """A tensor of size 0 goes through products, sums and concatenations."""
    x = torch.ones(shape)
    assert_equals_eager(
        lambda a: (a @ a.t(), a.sum(0), a.sum(), torch.cat([a, a])),
        x,
    )


def test_a_rank_above_six(compiled):
    """More dimensions than the device has are left to the host."""
    x = torch.randn(2, 1, 2, 2, 1, 2, 3)
    assert_equals_eager(lambda a: torch.relu(a.transpose(0, 6) * 2), x)
    assert [] == compiled.kernels


def test_the_most_dimensions(compiled):
    """Six are as many as the device has."""
    x = torch.randn(2, 3, 2, 2, 2, 3)
    assert_equals_eager(lambda a: torch.relu(a.transpose(0, 5)), x)
    assert [["relufwd"]] == compiled.ops


def line_of(function):
    """Return ``file:line`` of the line below a function's docstring."""
    return f"{__file__}:{function.__code__.co_firstlineno + 2}"


def rectify_and_add(a, b):
    """Return what two ops on one line make."""
    return torch.relu(a) + b


def test_a_failing_pass_names_the_op_and_the_line(compiled):
    """The error says which pass failed, on which op, and where the model wants it."""

    def fail(graph, plan):
        for buffer in plan.visit(spyre_loops(graph)):
            if buffer.origin_node.target is torch.ops.aten.add.Tensor:
                raise ZeroDivisionError("no cores")

    x = torch.ones(4, 64).to(DEVICE)
    passes.EXTRA.append(fail)
    try:
        with torch.no_grad(), pytest.raises(InductorError) as caught:
            torch.compile(rectify_and_add)(x, x)
    finally:
        passes.EXTRA.remove(fail)
    assert (
        "UnsupportedError: the pass fail failed on buf1, aten.add.Tensor: "
        f"ZeroDivisionError: no cores (from {line_of(rectify_and_add)}) [unsupported]"
    ) in str(caught.value)
    torch._dynamo.reset()
    with torch.no_grad():
        actual = torch.compile(rectify_and_add)(x, x)
    torch.testing.assert_close(actual.cpu(), rectify_and_add(x, x).cpu())


def test_a_failing_pass_does_not_outlive_its_compile(compiled):
    """The error names the cause, and the process compiles the next model."""

    def fail(name, graph, *, after):
        raise ValueError(f"no {name} today")

    x = torch.ones(4, 64).to(DEVICE)
    passes.OBSERVERS.append(fail)
    try:
        with torch.no_grad(), pytest.raises(InductorError, match="no deadcode_elim"):
            torch.compile(torch.relu)(x)
    finally:
        passes.OBSERVERS.remove(fail)
    torch._dynamo.reset()
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(torch.relu)(x).cpu(), x.cpu())
    assert [["relufwd"]] == compiled.ops
