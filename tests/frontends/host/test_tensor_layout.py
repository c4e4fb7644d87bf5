"""Which stick layout a tensor has: the one that was set, or the default."""

from __future__ import annotations

import gc

import pytest
import torch

from torch_spyre_provenance.errors import FrontEndError
from torch_spyre_provenance.frontends.host import tensor_layout
from torch_spyre_provenance.frontends.host.device import activate
from torch_spyre_provenance.frontends.host.layout import SpyreTensorLayout
from torch_spyre_provenance.frontends.host.tensor_layout import (
    layout_of,
    linear_weight_layout,
    set_layout,
)

activate()

COLUMNS = SpyreTensorLayout([256, 128], [128, 1], torch.float16, [1, 0])


def make():
    """A fresh row-major matrix on the device."""
    return torch.zeros(256, 128, dtype=torch.float16, device="spyre")


def test_default_is_row_major():
    """A fresh tensor has the layout of its shape."""
    assert SpyreTensorLayout([256, 128], torch.float16) == layout_of(make())


def test_default_of_a_view_is_its_bases():
    """A view lies where its base lies."""
    base = make()
    expected = layout_of(base)
    views = (base.t(), base[:, :64], base.view(-1), base[3])
    assert [expected] * 4 == [layout_of(view) for view in views]


def test_default_follows_the_strides():
    """Memory that is column-major has its sticks along the columns."""
    tensor = torch.empty_strided((256, 128), (1, 256), device="spyre")
    expected = SpyreTensorLayout([256, 128], [1, 256], torch.float32, [1, 0])
    assert expected == layout_of(tensor)


def test_a_set_layout_is_the_storages():
    """What is set for a tensor holds for its views, its data and its base."""
    base = make()
    set_layout(base.t(), COLUMNS)
    tensors = (base, base[1:], base.detach(), torch.nn.Parameter(base))
    assert [COLUMNS] * 4 == [layout_of(tensor) for tensor in tensors]


def test_other_tensors_are_not_concerned():
    """A copy has memory of its own, and the default layout."""
    base = make()
    set_layout(base, COLUMNS)
    assert SpyreTensorLayout([256, 128], torch.float16) == layout_of(base.clone())


def test_layouts_go_with_their_storages():
    """No note outlives its storage."""
    before = len(tensor_layout._notes)
    for _ in range(200):
        set_layout(make(), COLUMNS)
    gc.collect()
    assert before == len(tensor_layout._notes)


def test_a_host_tensor_has_no_layout():
    """Asking for a layout elsewhere is an error with a remedy."""
    with pytest.raises(FrontEndError, match=r"on cpu has no stick layout.*\.to\("):
        layout_of(torch.zeros(2))
    with pytest.raises(FrontEndError, match="on cpu has no stick layout"):
        set_layout(torch.zeros(2), COLUMNS)


def test_linear_weight():
    """A linear layer's weight has its sticks along the output features."""
    weight = torch.nn.Linear(128, 256, dtype=torch.float16).weight
    assert COLUMNS == linear_weight_layout(weight)
