"""The whole compile: the reference model, names, files, caches, training."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import textwrap

import pytest
import torch
from eager_comparison import TOLERANCE
from torch import nn
from torch._inductor.choices import InductorChoices
from torch._inductor.exc import InductorError
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

from torch_spyre_provenance.errors import UnsupportedError
from torch_spyre_provenance.frontends.contract import DEVICE
from torch_spyre_provenance.frontends.reference.async_compile import SpyreAsyncCompile
from torch_spyre_provenance.frontends.reference.coordinates import NotOnDeviceError
from torch_spyre_provenance.frontends.reference.kernel import SpyreKernel
from torch_spyre_provenance.frontends.reference.op_spec import UnimplementedOp
from torch_spyre_provenance.simple_mlp import SimpleMLP


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_simple_mlp(compiled, dtype):
    """Five ops in one kernel of the known name, and eager's result."""
    torch.manual_seed(0)
    model = SimpleMLP().to(dtype).eval()
    x = torch.randn(2, 128, dtype=dtype)
    with torch.no_grad():
        expected = model(x)
        actual = torch.compile(model.to(DEVICE))(x.to(DEVICE))
    tolerance = TOLERANCE[dtype]
    torch.testing.assert_close(actual.cpu(), expected, rtol=tolerance, atol=tolerance)
    assert [["batchmatmul", "add", "relufwd", "batchmatmul", "add"]] == compiled.ops
    assert ["sdsc_fused_addmm_linear_relu_0"] == [name for name, _ in compiled.kernels]


def test_simple_mlp_chains(compiled):
    """Each op names the nodes and the buffer that it came from."""
    with torch.no_grad():
        model = SimpleMLP().half().to(DEVICE)
        torch.compile(model)(torch.ones(2, 128, dtype=torch.float16).to(DEVICE))
    assert [
        ("mm_default_1", "permute", "buf0"),
        ("add_tensor_1", "buf1"),
        ("relu", "buf2"),
        ("mm_default", "permute_1", "buf3"),
        ("add_tensor", "buf4"),
    ] == [spec.debug_handle.ir_chain for spec in compiled.specs]
    assert "aten.addmm.default" == compiled.specs[0].debug_handle.aten_op


def test_the_scheduler_is_spared_from_weighing_fusions(compiled, monkeypatch):
    """It asks the backend about no pair, and scores none before."""
    weighed = []

    def weigh(_, *pair, **__):
        weighed.append(pair)
        return False

    (backend,) = compiled.scheduling
    monkeypatch.setattr(backend, "can_fuse_vertical", weigh)
    monkeypatch.setattr(backend, "can_fuse_horizontal", weigh)
    monkeypatch.setattr(InductorChoices, "can_fuse", weigh)
    with torch.no_grad():
        model = SimpleMLP().half().to(DEVICE)
        torch.compile(model)(torch.ones(2, 128, dtype=torch.float16).to(DEVICE))
    assert [["batchmatmul", "add", "relufwd", "batchmatmul", "add"]] == compiled.ops
    assert [] == weighed


def test_arguments_are_positions_of_the_call(compiled):
    """The buffers of a kernel are numbered as they come up."""
    with torch.no_grad():
        x = torch.ones(4, 64, dtype=torch.float16).to(DEVICE)
        torch.compile(lambda a: torch.relu(a) + a)(x)
    indices = [[arg.arg_index for arg in spec.args] for spec in compiled.specs]
    assert [[0, 1], [1, 0, 2]] == indices


CACHED = """
    import sys, torch
    from torch._dynamo.utils import counters
    from torch_spyre_provenance.frontends import reference
    from torch_spyre_provenance.simple_mlp import SimpleMLP
    reference.register()
    torch.manual_seed(0)
    with torch.no_grad():
        model = SimpleMLP().half().to("spyre")
        x = torch.ones(2, 128, dtype=torch.float16).to("spyre")
        print(torch.compile(model)(x).cpu().float().sum().item())
    print(counters["inductor"]["fxgraph_cache_hit"]
          + counters["aot_autograd"]["autograd_cache_hit"])
"""


def run(program):
    """Run a program in a process of its own and return the lines that it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout.split()


@pytest.mark.slow
def test_a_cached_module_makes_its_kernels_again(inductor_cache):
    """The second process hits the cache, computes the same, and has its own files."""
    first, misses = run(CACHED)
    second, hits = run(CACHED)
    assert (first, "0") == (second, misses)
    assert int(hits) > 0
    directories = sorted((inductor_cache / "inductor-spyre").iterdir())
    assert 2 == len(directories)
    one, other = (
        {path.name: path.read_bytes() for path in directory.iterdir()}
        for directory in directories
    )
    assert one == other
    assert {"bundle.mlir", *(f"sdsc_{n}.json" for n in range(5))} == set(one)


def test_generated_code_is_deterministic(compiled):
    """Two compiles of one model describe the kernel in the same words."""
    x = torch.ones(2, 128, dtype=torch.float16).to(DEVICE)
    model = SimpleMLP().half().to(DEVICE)
    for _ in range(2):
        torch._dynamo.reset()
        with torch.no_grad():
            torch.compile(model)(x)
    one, other = compiled.sources
    assert one == other


def test_an_unimplemented_op_has_no_directory(inductor_cache):
    """Such a kernel is made, and fails where it is run."""
    compiler = SpyreAsyncCompile()
    runner = compiler.sdsc("kernel", [UnimplementedOp(op="sin")])
    assert not hasattr(runner, "code_dir")
    with pytest.raises(RuntimeError, match="kernel: the device has no op 'sin'"):
        runner.run()


def test_the_files_carry_the_handles(compiled, inductor_cache):
    """The JSON of an op has the handle of its spec."""
    directory = inductor_cache / "inductor-spyre"
    with torch.no_grad():
        x = torch.ones(4, 64, dtype=torch.float16).to(DEVICE)
        torch.compile(lambda a: a.relu())(x)
    (kernel,) = directory.iterdir()
    document = json.loads((kernel / "sdsc_0.json").read_text(encoding="utf-8"))
    handle = document["0_relufwd"]["debug_handle_"]
    assert str(compiled.specs[0].debug_handle.id) == handle["id"]
    assert __file__ == handle["source"]["file"]


def test_a_run_is_a_profiler_range(compiled):
    """A trace shows each kernel's run under its name."""
    function = torch.compile(torch.relu)
    x = torch.ones(4, 64, dtype=torch.float16).to(DEVICE)
    with torch.no_grad():
        function(x)
        with profile(activities=[ProfilerActivity.CPU], acc_events=True) as trace:
            function(x)
    names = {event.key for event in trace.key_averages()}
    assert "launch_jobplan:sdsc_fused_relu_0" in names


def train(model, x, steps=3):
    """Return the parameters after a few steps of gradient descent."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    return [parameter.detach().cpu() for parameter in model.parameters()]


def test_training_equals_eager(compiled):
    """Forward, backward and the update give the same weights."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.GELU(), nn.LayerNorm(32))
    other = copy.deepcopy(model).to(DEVICE)
    x = torch.randn(8, 64)
    expected = train(model, x)
    actual = train(torch.compile(other), x.to(DEVICE))
    assert ["batchmatmul", "add"] == compiled.ops[0]
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        functional.gelu,
        functional.silu,
        functional.softplus,
        lambda x: torch.clamp(x, -0.5, 0.5),
        lambda x: torch.softmax(x, -1),
        lambda x: functional.layer_norm(x, (64,)),
        lambda x: functional.rms_norm(x, (64,)),
    ],
    ids=["gelu", "silu", "softplus", "clamp", "softmax", "layer_norm", "rms_norm"],
)
def test_whole_operators_have_their_gradient(compiled, function):
    """What the device has whole is differentiated as the operator itself."""
    x = torch.randn(8, 64, generator=torch.Generator().manual_seed(0))
    host = x.clone().requires_grad_()
    device = x.to(DEVICE).requires_grad_()
    function(host).square().sum().backward()
    torch.compile(function)(device).square().sum().backward()
    torch.testing.assert_close(device.grad.cpu(), host.grad, rtol=1e-4, atol=1e-4)


def test_inputs_may_be_written(compiled):
    """An update of an input in place reaches the caller's tensor."""

    def step(x):
        x.add_(1)
        x[:, 3:7] = x[:, :4] * 2
        return x * 2

    x = torch.randn(8, 64)
    device = x.to(DEVICE)
    expected, actual = step(x), torch.compile(step)(device)
    torch.testing.assert_close(actual.cpu(), expected)
    torch.testing.assert_close(device.cpu(), x)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.t(),
        lambda x: x[1:, ::2],
        lambda x: x[:, :1].expand(64, 64),
        lambda x: x[3],
    ],
    ids=["transposed", "strided", "expanded", "row"],
)
def test_inputs_may_be_views(compiled, view):
    """A tensor that lies anyhow in memory is read where it lies."""
    x = torch.randn(64, 128)
    with torch.no_grad():
        actual = torch.compile(lambda a: a * 2 + 1)(view(x.to(DEVICE)))
    torch.testing.assert_close(actual.cpu(), view(x) * 2 + 1)


def test_a_graph_break_makes_two_graphs(compiled):
    """Each part has a kernel of its own, and the names may be equal."""

    def parts(x):
        x = torch.relu(x)
        torch._dynamo.graph_break()
        return torch.relu(x)

    with torch.no_grad():
        torch.compile(parts)(torch.ones(4, 64).to(DEVICE))
    assert ["sdsc_fused_relu_0"] * 2 == [name for name, _ in compiled.kernels]


def test_inference_mode(compiled):
    """Under inference mode too the result is eager's."""
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU()).eval()
    x = torch.randn(8, 64)
    with torch.inference_mode():
        expected = model(x)
        actual = torch.compile(model.to(DEVICE))(x.to(DEVICE))
    torch.testing.assert_close(actual.cpu(), expected, rtol=1e-4, atol=1e-4)


def test_a_host_graph_is_none_of_ours(compiled):
    """A graph without a tensor of the device is compiled as ever."""
    model = torch.compile(lambda x: x.relu() * 2, backend="aot_eager")
    x = torch.randn(4, 64)
    torch.testing.assert_close(model(x), torch.relu(x) * 2)
    assert [] == compiled.kernels


class Unaddressable(SpyreKernel):
    """A kernel whose operands are nowhere on the device."""

    def create_tensor_arg(self, *args, **kwargs):
        """Raise as for an index that fits no dimension."""
        raise NotOnDeviceError("c0")


def test_an_unaddressable_operand_is_an_error_with_a_line(compiled):
    """The error says which op, and where in the model."""
    x = torch.ones(4, 64, dtype=torch.float16).to(DEVICE)
    compiled.scheduling[0].kernel_class = Unaddressable
    with torch.no_grad(), pytest.raises(InductorError) as raised:
        torch.compile(lambda a: a.relu())(x)
    error = raised.value.__cause__ or raised.value.inner_exception
    assert isinstance(error, UnsupportedError)
    assert "relufwd" == error.operation
    assert __file__ == error.location.rpartition(":")[0]


def test_overlapping_inputs_run_on_the_host(compiled):
    """A window over windows has no layout of its own."""
    x = torch.randn(64)
    with torch.no_grad():
        actual = torch.compile(lambda a: a * 2)(x.to(DEVICE).unfold(0, 8, 1))
    torch.testing.assert_close(actual.cpu(), x.unfold(0, 8, 1) * 2)
    assert [] == compiled.kernels


@pytest.mark.parametrize("taken", [True, False])
def test_the_branches_of_a_condition_are_compiled(compiled, taken):
    """A branch goes through the same passes, and the taken one runs."""

    def branches(condition, x):
        return torch.cond(
            condition, lambda x: x + 1, lambda x: torch.relu(x) * 2 - 3, (x,)
        )

    x = torch.randn(8, 64)
    condition = torch.tensor(taken)
    with torch.no_grad():
        actual = torch.compile(branches)(condition.to(DEVICE), x.to(DEVICE))
    torch.testing.assert_close(actual.cpu(), branches(condition, x))
    assert [["add"], ["relufwd", "mul", "sub"]] == compiled.ops


def test_a_rolled_tensor(compiled):
    """Its look-up divides integers, which run on the host."""
    x = torch.randn(8, 64)
    with torch.no_grad():
        actual = torch.compile(lambda a: torch.roll(a, 3, 1) * 2)(x.to(DEVICE))
    torch.testing.assert_close(actual.cpu(), torch.roll(x, 3, 1) * 2)
    assert [["mul"]] == compiled.ops
