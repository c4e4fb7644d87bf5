"""The stand-in for torch-spyre's C extension, on the host device."""

from __future__ import annotations

import pytest
import torch

from torch_spyre_provenance.errors import FrontEndError
from torch_spyre_provenance.frontends.cardless import extension
from torch_spyre_provenance.frontends.host.device import activate
from torch_spyre_provenance.frontends.host.layout import (
    DataFormats,
    SpyreTensorLayout,
)

activate()

COLUMNS = SpyreTensorLayout([4, 6], [6, 1], torch.float16, [1, 0])


def make():
    """A tensor with sticks along its columns, filled with 0 to 23."""
    tensor = extension.spyre_empty_with_layout((4, 6), (6, 1), torch.float16, COLUMNS)
    extension.copy_tensor(torch.arange(24.0).view(4, 6), tensor)
    return tensor


def test_every_name_is_there():
    """Each exported name exists, and none twice."""
    assert len(set(extension.__all__)) == len(extension.__all__)
    assert [] == [n for n in extension.__all__ if not hasattr(extension, n)]


def test_tensors_have_the_layout_they_are_made_with():
    """Both ways of making a tensor keep the layout given, and the dtype."""
    other = extension.empty_with_layout((4, 6), COLUMNS, torch.float16)
    layouts = [extension.get_spyre_tensor_layout(t) for t in (make(), other)]
    assert [COLUMNS, COLUMNS] == layouts
    assert torch.float16 == other.dtype


def test_layouts_can_be_replaced():
    """What is set is what is found."""
    tensor = make()
    rows = SpyreTensorLayout([4, 6], torch.float16)
    extension.set_spyre_tensor_layout(tensor, rows)
    assert rows == extension.get_spyre_tensor_layout(tensor)


def test_reinterpreting_counts_from_the_tensors_offset():
    """An alias of other geometry shows the tensor's memory, and keeps its layout."""
    part = make()[1:]
    alias = extension.reinterpret_tensor(part, (2, 2), (1, 6), 2)
    assert [[8.0, 14.0], [9.0, 15.0]] == alias.tolist()
    assert COLUMNS == extension.get_spyre_tensor_layout(alias)


@pytest.mark.parametrize(
    "function",
    [extension.reinterpret_tensor_with_layout, extension.as_strided_with_layout],
)
def test_an_alias_may_have_a_layout_of_its_own(function):
    """The alias has the new layout, the tensor keeps the old, the memory is shared."""
    tensor, flat = make(), SpyreTensorLayout([24], torch.float16)
    alias = function(tensor, (24,), (1,), 0, flat)
    alias[0] = 99
    layouts = [extension.get_spyre_tensor_layout(t) for t in (alias, tensor)]
    assert [flat, COLUMNS] == layouts
    assert 99.0 == tensor[0, 0].item()


def test_host_tensors_are_reinterpreted_as_usual():
    """What an extern kernel leaves on the host is reinterpreted there."""
    host = torch.arange(6.0)
    alias = extension.reinterpret_tensor_with_layout(host, (2,), (1,), 3, COLUMNS)
    assert ("cpu", [3.0, 4.0]) == (alias.device.type, alias.tolist())


def test_filling():
    """A tensor is filled where it lies."""
    tensor = make()
    assert tensor is extension.fill_tensor(tensor, 2.0)
    assert 48.0 == tensor.sum().item()


def test_formats():
    """Formats and stick sizes are found under the extension's names."""
    assert DataFormats.SEN169_FP16 == extension.get_device_dtype(torch.float16)
    assert 64 == extension.get_elem_in_stick(torch.float16)


def test_kernels_are_not_launched():
    """A plan can be made; launching it says that nothing ran, why, and what to do."""
    plan = extension.prepare_kernel("/cache/kernel_x/spyreCodeDir")
    expected = (
        r"the kernel in /cache/kernel_x did not run: .* without a card, .* "
        r"use a machine with a card and a built torch-spyre \[no-launch\]"
    )
    with pytest.raises(FrontEndError, match=expected):
        extension.launch_jobplan(plan, ())
    with pytest.raises(FrontEndError, match=expected):
        extension.launch_kernel("/cache/kernel_x", ())
    with pytest.raises(FrontEndError, match="no communication between cards"):
        extension.createSpyreCCLBackend()


def test_random_state_is_the_hosts():
    """Seeding and restoring act on the generator that tensors are drawn from."""
    extension.manual_seed(3)
    state = extension.get_rng_state()
    expected = torch.rand(2).tolist()
    extension.set_rng_state(state)
    assert expected == torch.rand(2).tolist()
    assert 3 == extension.initial_seed()


def test_streams_are_always_done():
    """The one stream is current, and nothing waits on it."""
    stream = extension.get_stream_from_pool("spyre:0")
    assert stream is extension.current_stream() is extension.default_stream()
    assert (True, torch.device("spyre:0")) == (stream.query(), stream.device())
