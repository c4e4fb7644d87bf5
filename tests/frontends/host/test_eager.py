"""Eager operators on the device: they do what the host does, on the device's memory."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its name everywhere
from torch.utils.checkpoint import checkpoint

from torch_spyre_provenance.frontends.host.device import activate
from torch_spyre_provenance.frontends.host.eager import run_on_host

activate()


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def both(*shape, dtype=torch.float32):
    """A random host tensor and an equal one on the device."""
    host = torch.randn(*shape).to(dtype)
    return host, host.to("spyre")


def is_ours(value):
    """Whether all tensors in a value are on the device."""
    return all(t.device.type == "spyre" for t in flat(value))


def flat(value):
    """The tensors in a value."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in flat(item)]
    return []


def assert_same(expected, actual):
    """Assert that the tensors are equal, and the actual ones on the device."""
    assert len(flat(expected)) == len(flat(actual)) > 0
    assert is_ours(actual)
    for one, other in zip(flat(expected), flat(actual), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        # To rounding: in a process that has the reference front end, softmax and its
        # like are the front end's own, made of other steps.
        torch.testing.assert_close(other.cpu(), one, equal_nan=True)


OPERATORS = {
    "add": lambda x: x + x,
    "broadcast": lambda x: x * x[0],
    "scalar": lambda x: 2 / (x + 1),
    "host scalar": lambda x: x * torch.tensor(2.0),
    "compare": lambda x: x > 0,
    "where": lambda x: torch.where(x > 0, x, 0.0),
    "cast": lambda x: x.half(),
    "matmul": lambda x: x @ x.t(),
    "bmm": lambda x: torch.bmm(x.view(2, 2, 6), x.view(2, 6, 2)),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(1, keepdim=True),
    "std": lambda x: x.std(0),
    "max": lambda x: x.max(1),
    "argmax": lambda x: x.argmax(),
    "sort": lambda x: x.sort(descending=True),
    "topk": lambda x: x.topk(2),
    "cumsum": lambda x: x.cumsum(0),
    "softmax": lambda x: x.softmax(-1),
    "gelu": F.gelu,
    "layer_norm": lambda x: F.layer_norm(x, (6,)),
    "group_norm": lambda x: F.group_norm(x, 2),
    "addr": lambda x: torch.addr(x[:2, :2], x[0, :2], x[1, :2]),
    "cat": lambda x: torch.cat([x, x], 1),
    "stack": lambda x: torch.stack([x, x]),
    "split": lambda x: x.split(2),
    "unbind": lambda x: x.unbind(),
    "index": lambda x: x[[0, 2]],
    "mask": lambda x: x[x > 0],
    "nonzero": lambda x: (x > 0).nonzero(),
    "gather": lambda x: x.gather(0, x.argsort(0)),
    "pad": lambda x: F.pad(x, (1, 2)),
    "flip": lambda x: x.flip(0),
    "tril": lambda x: x.tril(),
    "clone": lambda x: x.t().contiguous(),
    "reshape": lambda x: x.t().reshape(2, 12),
    "view of bytes": lambda x: x.view(torch.int32),
    "windows": lambda x: x.unfold(1, 3, 2),
    "complex": lambda x: (torch.view_as_complex(x.view(-1, 2)).conj() * 2).imag,
    "fft": torch.fft.rfft,
    "qr": torch.linalg.qr,
    "zeros_like": torch.zeros_like,
    "new_full": lambda x: x.new_full((2, 3), 5),
    "vmap": torch.vmap(torch.sin),
    "0-d": lambda x: x.sum() * 2,
    "no elements": lambda x: x[:0] * 2,
    "foreach": lambda x: torch._foreach_mul([x, x], 2),
    "embedding": lambda x: F.embedding(x.argsort(1), x.t()),
    "one_hot": lambda x: F.one_hot(x.argmax(1), 6),
    "interpolate": lambda x: F.interpolate(x[None], 12),
    "pool": lambda x: F.max_pool1d(x, 2),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_give_the_hosts_results(name):
    """An operator gives the same tensors, on the device."""
    host, spyre = both(4, 6)
    assert_same(OPERATORS[name](host), OPERATORS[name](spyre))


IN_PLACE = {
    "add": lambda x: x.add_(1),
    "add self": lambda x: x.add_(x),
    "relu": F.relu_,
    "zero": lambda x: x.zero_(),
    "copy": lambda x: x.copy_(torch.ones(6)),
    "fill": lambda x: x.masked_fill_(x > 0, 3),
    "slice": lambda x: x[1:3].mul_(2),
    "assign": lambda x: x.__setitem__((slice(None), 1), 7.0),
    "index": lambda x: x.index_add_(0, x.argmax(0)[:1], x[:1].clone()),
    "put": lambda x: x.__setitem__(x > 0, 0.5),
    "column": lambda x: x.t()[2].sub_(4),
    "foreach": lambda x: torch._foreach_add_([x, x], 1),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_operators_change_the_tensors_memory(name):
    """The tensor, its memory and an older view of it all show the change."""
    host, spyre = both(4, 6)
    address, view = spyre.data_ptr(), spyre.view(-1)
    IN_PLACE[name](host)
    IN_PLACE[name](spyre)
    assert torch.equal(host, spyre.cpu())
    assert torch.equal(host.view(-1), view.cpu())
    assert address == spyre.data_ptr()


def test_in_place_returns_the_tensor_itself():
    """What comes back is the very object that was changed."""
    spyre = torch.ones(3, device="spyre")
    assert spyre is spyre.add_(1)
    assert spyre is spyre.normal_()


@pytest.mark.parametrize(
    ("method", "arguments"), [("t_", ()), ("unsqueeze_", (0,)), ("squeeze_", ())]
)
def test_in_place_views(method, arguments):
    """Operators that change a tensor's geometry change that of the tensor given."""
    host, spyre = both(1, 6)
    for tensor in (host, spyre):
        getattr(tensor, method)(*arguments)
    assert_same(host, spyre)


VIEWS = {
    "view": lambda x: x.view(-1),
    "transpose": lambda x: x.t(),
    "slice": lambda x: x[1:, ::2],
    "select": lambda x: x[2],
    "expand": lambda x: x[:, :1].expand(4, 3),
    "as_strided": lambda x: x.as_strided((2, 2), (1, 3), 2),
    "diagonal": lambda x: x.diagonal(),
    "chunk": lambda x: x.chunk(2)[1],
    "detach": lambda x: x.detach(),
    "bytes": lambda x: x.view(torch.int32),
    "windows": lambda x: x.unfold(0, 2, 1),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_their_bases_storage(name):
    """A view has its base's storage, the geometry of a host's view, and its values."""
    host, spyre = both(4, 6)
    expected, actual = VIEWS[name](host), VIEWS[name](spyre)
    assert spyre.untyped_storage()._cdata == actual.untyped_storage()._cdata
    assert expected.stride() == actual.stride()
    assert expected.storage_offset() == actual.storage_offset()
    assert_same(expected, actual)


@pytest.mark.parametrize("shape", [(0,), (4, 6), (2, 3), (9, 9)])
def test_out_takes_the_results_shape(shape):
    """An ``out=`` tensor of any shape holds the result in the end."""
    host, spyre = both(4, 6)
    out = torch.empty(shape, device="spyre")
    assert out is torch.add(spyre, spyre, out=out)
    assert_same(host + host, out)


def test_an_empty_out_lies_as_the_result_does():
    """`logical_not` makes an empty tensor, and asks for the result in it."""
    host = torch.ones(2, 3, dtype=torch.bool).t()
    assert (
        torch.logical_not(host).stride() == torch.logical_not(host.to("spyre")).stride()
    )


def test_out_keeps_its_strides():
    """An ``out=`` tensor of the right shape is written where it lies."""
    host, spyre = both(4, 6)
    base = torch.zeros(6, 4, device="spyre")
    torch.mul(spyre, 2, out=base.t())
    assert_same((host * 2).t(), base)


def test_several_outs():
    """All tensors of an ``out=`` tuple are written."""
    host, spyre = both(4, 6)
    values = torch.empty(0, device="spyre")
    indices = torch.empty(0, dtype=torch.int64, device="spyre")
    torch.sort(spyre, out=(values, indices))
    assert_same(tuple(torch.sort(host)), (values, indices))


@pytest.mark.parametrize("shape", [(2, 2), (3, 4), (30,), (0,)])
def test_resize_keeps_the_elements(shape):
    """A resized tensor keeps what fits, in order, as the host does."""
    tensors = (torch.arange(12.0), torch.arange(12.0).to("spyre"))
    host, spyre = (tensor.resize_(shape) for tensor in tensors)
    assert host.shape == spyre.shape
    n_kept = min(12, host.numel())
    assert torch.equal(host.view(-1)[:n_kept], spyre.cpu().view(-1)[:n_kept])


def test_set_makes_views():
    """``set_`` makes a tensor a view of another's storage, a storage, or nothing."""
    base = torch.arange(12.0).to("spyre")
    storage = base.untyped_storage()
    part = torch.empty(0, device="spyre").set_(base[4:6])
    whole = torch.empty(0, device="spyre").set_(storage)
    matrix = torch.empty(0, device="spyre").set_(storage, 2, (2, 2), (4, 1))
    base.mul_(2)
    assert [8.0, 10.0] == part.tolist()
    assert base.tolist() == whole.tolist()
    assert [[4.0, 6.0], [12.0, 14.0]] == matrix.tolist()
    assert (0,) == part.set_().shape


def test_factories():
    """Tensors can be made on the device, with any dtype and geometry."""
    assert_same(torch.arange(5), torch.arange(5, device="spyre"))
    assert_same(torch.eye(3), torch.eye(3, device="spyre"))
    assert_same(
        torch.full((2,), 3, dtype=torch.bfloat16),
        torch.full((2,), 3, dtype=torch.bfloat16, device="spyre"),
    )
    images = torch.empty(2, 3, 4, 5, memory_format=torch.channels_last, device="spyre")
    assert images.is_contiguous(memory_format=torch.channels_last)


def test_copies_between_devices_cast_and_broadcast():
    """A copy takes its target's dtype and shape, whichever side it is on."""
    spyre = torch.arange(3).to("spyre", torch.float16)
    host = torch.zeros(2, 3)
    host.copy_(spyre)
    assert [[0.0, 1.0, 2.0]] * 2 == host.tolist()
    assert torch.bfloat16 == spyre.to("cpu", torch.bfloat16).dtype


def test_text():
    """A tensor prints as elsewhere, with its device."""
    tensor = torch.ones(2, device="spyre", dtype=torch.float16)
    expected = "tensor([1., 1.], device='spyre:0', dtype=torch.float16)"
    assert expected == repr(tensor)


def test_item():
    """One element comes out as a Python number."""
    assert (3.0, True) == (
        torch.tensor(3.0, device="spyre").item(),
        bool(torch.tensor(1, device="spyre")),
    )


def test_devices_do_not_mix():
    """Tensors of two devices in one operator are refused, as on any device."""
    with pytest.raises(RuntimeError, match="spyre:0 and cpu"):
        torch.ones(2, device="spyre") + torch.ones(2)


def test_a_failing_operator_says_what_the_host_says():
    """The host's message reaches the user."""
    with pytest.raises(RuntimeError, match="must match the size"):
        torch.ones(2, device="spyre") + torch.ones(3, device="spyre")


def test_random_numbers_are_the_hosts():
    """One seed gives the same numbers on both devices, also from a generator."""
    torch.manual_seed(7)
    expected = torch.randn(3)
    torch.manual_seed(7)
    assert_same(expected, torch.randn(3, device="spyre"))
    generator = torch.Generator().manual_seed(7)
    assert_same(expected, torch.randn(3, generator=generator, device="spyre"))


def test_random_state_can_be_kept():
    """Forking restores the generator of the device."""
    with torch.random.fork_rng([0], device_type="spyre"):
        inside = torch.rand(3, device="spyre")
    assert inside.tolist() == torch.rand(3, device="spyre").tolist()


MODULES = {
    "linear": (lambda: nn.Linear(8, 4), (3, 8)),
    "linear without bias": (lambda: nn.Linear(8, 4, bias=False), (2, 3, 8)),
    "layer norm": (lambda: nn.LayerNorm(8), (3, 8)),
    "batch norm": (lambda: nn.BatchNorm1d(8), (3, 8)),
    "conv1d": (lambda: nn.Conv1d(4, 6, 3, groups=2, padding=1), (2, 4, 9)),
    "conv2d": (lambda: nn.Conv2d(3, 4, 3, stride=2, bias=False), (1, 3, 8, 8)),
    "transposed": (lambda: nn.ConvTranspose2d(4, 6, 3, groups=2), (1, 4, 5, 5)),
    "lstm": (lambda: nn.LSTM(8, 5, 2, bidirectional=True), (4, 2, 8)),
    "lstm without bias": (lambda: nn.LSTM(8, 5, bias=False), (4, 2, 8)),
    "gru": (lambda: nn.GRU(8, 5), (4, 2, 8)),
    "gru without bias": (lambda: nn.GRU(8, 5, bias=False), (4, 2, 8)),
    "transformer": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0),
        (4, 2, 8),
    ),
    "mlp": (
        lambda: nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)),
        (3, 8),
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_run_forward_and_backward(name):
    """Outputs and all gradients are the host's."""
    make, shape = MODULES[name]
    host = make()
    spyre = copy.deepcopy(host).to("spyre")
    x, y = both(*shape)
    for module, tensor in ((host, x), (spyre, y)):
        tensor.requires_grad_()
        output = flat(module(tensor))[0]
        (
            output * torch.arange(output.numel()).view_as(output).to(output)
        ).sum().backward()
    pairs = [(x, y), *zip(host.parameters(), spyre.parameters(), strict=True)]
    for one, other in pairs:
        assert "spyre" == other.grad.device.type
        torch.testing.assert_close(one.grad, other.grad.cpu(), rtol=1e-4, atol=1e-4)
    expected, actual = flat(host(x))[0], flat(spyre(y))[0]
    torch.testing.assert_close(expected, actual.cpu(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "make_optimizer",
    [
        lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
        torch.optim.AdamW,
        lambda parameters: torch.optim.Adam(parameters, foreach=True),
    ],
)
def test_optimizers_step(make_optimizer):
    """Three training steps leave the host's weights."""
    host = nn.Linear(8, 4)
    spyre = copy.deepcopy(host).to("spyre")
    x, y = both(3, 8)
    for module, tensor in ((host, x), (spyre, y)):
        optimizer = make_optimizer(module.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            module(tensor).square().mean().backward()
            optimizer.step()
    torch.testing.assert_close(host.weight, spyre.weight.cpu())


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_checkpointed_backward(use_reentrant):
    """Activations that are computed again give the same gradients."""
    module = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).to("spyre")
    x = torch.randn(2, 8, device="spyre", requires_grad=True)
    module(x).sum().backward()
    expected, x.grad = x.grad, None
    checkpoint(module, x, use_reentrant=use_reentrant).sum().backward()
    assert torch.equal(expected.cpu(), x.grad.cpu())


def test_deep_copies():
    """A copied module is on the device, equal, and shares what its original shares."""
    original = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)).to("spyre")
    original[1].weight = original[0].weight
    copied = copy.deepcopy(original)
    assert_same(original[0].weight.cpu(), copied[0].weight)
    assert copied[0].weight is copied[1].weight
    with torch.no_grad():
        copied[0].weight.zero_()
    assert original[0].weight.abs().sum().item() > 0


def test_saved_weights_load_on_the_host():
    """A state dictionary saved from the device loads anywhere."""
    module = nn.Linear(4, 4).to("spyre")
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    loaded = torch.load(file, map_location="cpu")
    assert torch.equal(module.weight.cpu(), loaded["weight"])


@pytest.mark.parametrize(
    ("operator", "dtype"),
    [
        (torch.fmod, torch.int64),
        (torch.fmod, torch.float64),
        (torch.remainder, torch.float16),
        (torch.atan2, torch.float32),
    ],
)
def test_numbers_are_tensors_where_the_schema_says_so(operator, dtype):
    """A number that torch unwrapped becomes a tensor again, of the same type."""
    host = torch.arange(1, 7).to(dtype)
    expected = operator(host, torch.tensor(2.7).to(dtype))
    actual = torch.empty(0, dtype=dtype, device="spyre")
    number = torch.tensor(2.7).to(dtype).item()
    overload = getattr(torch.ops.aten, operator.__name__)
    name = "Tensor_out" if operator is not torch.atan2 else "out"
    run_on_host(getattr(overload, name), host.to("spyre"), number, out=actual)
    assert_same(expected, actual)


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_histograms_of_integers(dtype):
    """Integers can be counted, which models do on every device but the host."""
    values = torch.tensor([0, 1, 1, 3])
    actual = torch.histc(values.to(dtype).to("spyre"), bins=4, min=0, max=3)
    assert_same(torch.tensor([1, 2, 0, 1]).to(dtype), actual)
