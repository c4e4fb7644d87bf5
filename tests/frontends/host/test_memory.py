"""Two names for one memory: tensors of the host and of the device."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from torch_spyre_provenance.frontends.host.device import activate
from torch_spyre_provenance.frontends.host.memory import to_host, to_spyre

activate()

DTYPES = [
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint16,
    torch.uint32,
    torch.complex64,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
]

TENSORS = {
    "contiguous": lambda: torch.arange(12.0).reshape(3, 4),
    "0-d": lambda: torch.tensor(3.0),
    "empty": lambda: torch.empty(0, 3),
    "size 1": lambda: torch.arange(4.0).reshape(1, 4, 1),
    "transposed": lambda: torch.arange(12.0).reshape(3, 4).t(),
    "offset": lambda: torch.arange(12.0)[5:],
    "strided": lambda: torch.arange(12.0)[1::3],
    "expanded": lambda: torch.arange(3.0).expand(4, 3),
    "channels last": lambda: torch.randn(2, 3, 4, 5).to(
        memory_format=torch.channels_last
    ),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_crosses_both_ways(dtype):
    """Bytes, dtype and address are the same on the other side."""
    host = torch.arange(6).to(dtype)
    spyre = to_spyre(host)
    back = to_host(spyre)
    assert ("spyre", dtype) == (spyre.device.type, spyre.dtype)
    assert host.data_ptr() == spyre.data_ptr() == back.data_ptr()
    assert torch.equal(host.view(torch.uint8), back.view(torch.uint8))


@pytest.mark.parametrize("name", TENSORS)
def test_geometry_survives(name):
    """Shape and strides are kept, those of dimensions of size 1 included."""
    host = TENSORS[name]()
    spyre = to_spyre(host)
    assert (host.shape, host.stride()) == (spyre.shape, spyre.stride())
    assert torch.equal(host, to_host(spyre))


def test_writes_show_on_both_sides():
    """Either name writes the same memory."""
    host = torch.zeros(4)
    spyre = to_spyre(host)
    spyre[1:3].fill_(2)
    host[0] = 5
    assert [5.0, 2.0, 2.0, 0.0] == host.tolist() == spyre.tolist()


def test_memory_lives_as_long_as_either_name():
    """The device's tensor keeps the host's memory, and nothing more."""
    host = torch.full((1000,), 7.0)
    alive = weakref.ref(host.untyped_storage())
    spyre = to_spyre(host)
    del host
    gc.collect()
    assert 7000.0 == spyre.sum().item()
    del spyre
    gc.collect()
    assert alive() is None


def test_autograd_stays_behind():
    """The result is detached, whether or not gradients are wanted."""
    host = torch.ones(2, requires_grad=True)
    assert not to_spyre(host).requires_grad


@pytest.mark.parametrize("flag", ["conj", "neg"])
def test_lazy_flags_cross(flag):
    """Conjugated and negated views are the same views on the other side."""
    host = torch.view_as_complex(torch.randn(3, 2)).conj()
    host = host if flag == "conj" else host.imag
    spyre = to_spyre(host)
    assert (host.is_conj(), host.is_neg()) == (spyre.is_conj(), spyre.is_neg())
    assert torch.equal(host.resolve_conj(), to_host(spyre).resolve_conj())


def test_a_tensor_without_memory_is_refused():
    """There is nothing to alias behind a meta tensor."""
    with pytest.raises((RuntimeError, BufferError)):
        to_spyre(torch.empty(2, device="meta"))
