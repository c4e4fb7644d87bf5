"""Loading and registering the front end, and what it hands to recording."""

from __future__ import annotations

import importlib

import pytest
import torch
from torch import nn
from torch._inductor.codegen.common import (
    custom_backend_codegen_configs,
    custom_backend_passes,
    get_scheduling_for_device,
    get_wrapper_codegen_for_device,
)
from torch.nn import functional

from torch_spyre_provenance.frontends import reference
from torch_spyre_provenance.frontends.contract import DEVICE, FrontEnd
from torch_spyre_provenance.frontends.reference import config, native
from torch_spyre_provenance.frontends.reference.fx_passes import Chain


def test_load_returns_the_contract():
    """Each class is where the contract says, and loading twice is harmless."""
    front_end = reference.load()
    assert isinstance(front_end, FrontEnd)
    assert "reference" == front_end.name
    module, _, name = front_end.async_compile.partition(":")
    compiler = getattr(importlib.import_module(module), name)
    assert callable(compiler.sdsc)
    assert {} == dict(front_end.unavailable)
    assert front_end.scheduling is reference.load().scheduling


def test_register_uses_inductors_own_registry():
    """The device's backend, passes and settings are where Inductor looks for them."""
    reference.register()
    front_end = reference.load()
    assert front_end.scheduling is get_scheduling_for_device(DEVICE)
    assert front_end.wrapper is get_wrapper_codegen_for_device(DEVICE)
    assert isinstance(custom_backend_passes[DEVICE], Chain)
    assert config is custom_backend_codegen_configs[DEVICE]


def test_the_passes_name_this_front_end():
    """A cache entry of another front end has another key."""
    front_end = reference.load()
    first, *rest = Chain(front_end.fx_pass, front_end.lowering_pass).uuid()
    assert "torch_spyre_provenance.reference" == first
    assert [front_end.fx_pass.uuid(), front_end.lowering_pass.uuid()] == rest
    assert None not in rest


cast = torch.ops.prims.convert_element_type.default

OPERATORS = {
    "linear": lambda x: functional.linear(x, x, x[:, 0]),
    "gelu": functional.gelu,
    "silu": functional.silu,
    "softplus": functional.softplus,
    "clamp": lambda x: torch.clamp(x, -0.5, 0.5),
    "softmax": lambda x: torch.softmax(x, -1),
    "softmax_to": lambda x: torch.softmax(x, -1, dtype=torch.float64),
    "layer_norm": lambda x: functional.layer_norm(x, (8,), x[0], x[1]),
    "layer_norm_2d": lambda x: functional.layer_norm(x, (8, 8)),
    "rms_norm": lambda x: functional.rms_norm(x, (8,), x[0]),
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("needs_gradient", [False, True])
def test_registered_kernels_serve_eager_too(name, needs_gradient):
    """An operator that the front end takes over computes as before, backward too."""
    reference.load()
    function = OPERATORS[name]
    host = torch.randn(8, 8, generator=torch.Generator().manual_seed(0))
    device = host.to(DEVICE)
    host.requires_grad_(needs_gradient)
    device.requires_grad_(needs_gradient)
    expected, actual = function(host), function(device)
    torch.testing.assert_close(actual.cpu(), expected, rtol=1e-4, atol=1e-4)
    if needs_gradient:
        expected.square().sum().backward()
        actual.square().sum().backward()
        torch.testing.assert_close(device.grad.cpu(), host.grad, rtol=1e-4, atol=1e-4)


def graph_of(function, *args):
    """Trace a function over the device's tensors."""
    from torch.fx.experimental.proxy_tensor import make_fx

    reference.load()
    traced = make_fx(function, tracing_mode="fake")(*(arg.to(DEVICE) for arg in args))
    return [node for node in traced.graph.nodes if node.op == "call_function"]


@pytest.mark.parametrize(
    ("function", "dtype", "expected"),
    [
        (torch.exp, torch.float16, True),
        (torch.exp, torch.float32, True),
        (torch.exp, torch.float64, False),
        (torch.log, torch.float32, False),
        (torch.sin, torch.float16, False),
        (lambda a: a > 0, torch.float16, True),
        (lambda a: a > 0, torch.float32, False),
        (lambda a: a.sum(0), torch.float16, True),
        (lambda a: a.sum(0), torch.int64, False),
        (lambda a: a**2, torch.float16, True),
        (lambda a: a**2.5, torch.float16, False),
        (lambda a: cast(a, torch.float32), torch.float16, True),
        (lambda a: cast(a, torch.int32), torch.float16, False),
        (lambda a: a.t(), torch.float16, True),
    ],
)
def test_what_is_native(function, dtype, expected):
    """The operator, its types and its shapes decide."""
    *_, node = graph_of(function, torch.ones(4, 8, dtype=dtype))
    assert expected == native.is_native(node)


def test_compiling_nothing_leaves_the_kernels_alone():
    """Where Dynamo skips every frame of a model, it does not compile ours instead."""
    reference.register()
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).to(DEVICE)
    eager = model(torch.ones(2, 8).to(DEVICE))
    model.compile()
    torch.testing.assert_close(model(torch.ones(2, 8).to(DEVICE)).cpu(), eager.cpu())
    assert 0 == torch._dynamo.utils.counters["stats"]["unique_graphs"]
