"""Device coordinates: they are what the hardware documents say, and lead back."""

from __future__ import annotations

import math

import pytest
import sympy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from torch_spyre_provenance.frontends.host.layout import SpyreTensorLayout
from torch_spyre_provenance.frontends.reference.coordinates import (
    HostShape,
    NotOnDeviceError,
    device_coordinates,
    host_coordinates,
    offset_of,
)
from torch_spyre_provenance.frontends.reference.tracing import loop_symbol

c0, c1, c2 = (loop_symbol(n) for n in range(3))


def contiguous(size):
    """Return the strides of a row-major tensor."""
    strides = []
    step = 1
    for n in reversed(size):
        strides.insert(0, step)
        step *= n
    return tuple(strides)


def coordinates(index, size, extents, order=None):
    """Return the device coordinates of an fp16 tensor's element, as text."""
    shape = HostShape(size=size, stride=contiguous(size))
    host = host_coordinates(index, shape, extents)
    result = device_coordinates(host, order or range(len(size)), 64, extents)
    return [str(coordinate) for coordinate in result]


def test_a_row_major_matrix():
    """A row, and along it the stick and the place in it."""
    expected = ["floor(c1/64)", "c0", "Mod(c1, 64)"]
    assert expected == coordinates(256 * c0 + c1, (128, 256), {c0: 128, c1: 256})


def test_sticks_along_the_first_dimension():
    """As a linear layer's weight lies."""
    expected = ["floor(c0/64)", "c1", "Mod(c0, 64)"]
    assert expected == coordinates(
        256 * c0 + c1, (128, 256), {c0: 128, c1: 256}, order=(1, 0)
    )


def test_a_slice_that_starts_in_a_later_stick():
    """The way back is the same whether or not sympy takes whole sticks out of it."""
    index = 132 * c0 + c1 + 65
    shape = HostShape(size=(7, 132), stride=(132, 1))
    extents = {c0: 7, c1: 67}
    host = host_coordinates(index, shape, extents)
    device = device_coordinates(host, (0, 1), 64, extents)
    assert index == offset_of(device, [64, 132, 1])


def test_one_element_per_stick():
    """A sparse tensor has no coordinate in its sticks."""
    assert ["0", "0", "c0", "0"] == coordinates(c0, (64, 1), {c0: 64}, (0, 1, -1))


def test_a_dimension_shorter_than_a_stick():
    """It needs neither division nor remainder."""
    assert ["0", "c0", "c1"] == coordinates(8 * c0 + c1, (4, 8), {c0: 4, c1: 8})


def test_merged_loops_are_taken_apart():
    """One loop over two dimensions is a row and a column again."""
    expected = ["floor((Mod(c0, 256))/64)", "floor(c0/256)", "Mod(c0, 64)"]
    assert expected == coordinates(c0, (128, 256), {c0: 128 * 256})


def test_split_loops_are_put_together():
    """Two loops over one dimension are one coordinate."""
    expected = ["0", "c0", "8*c1 + c2"]
    extents = {c0: 4, c1: 4, c2: 8}
    assert expected == coordinates(32 * c0 + 8 * c1 + c2, (4, 32), extents)


def test_an_offset_moves_the_coordinate():
    """A slice starts further along its dimension."""
    extents = {c0: 4, c1: 8}
    assert ["0", "c0", "c1 + 8"] == coordinates(32 * c0 + c1 + 8, (4, 32), extents)


def test_a_scalar():
    """No dimension, two coordinates, both zero."""
    assert ["0", "0"] == coordinates(sympy.S.Zero, (), {})


@pytest.mark.parametrize("index", [c0 + c1 / 2, -c0, 3 * c0])
def test_what_falls_between_elements_is_refused(index):
    """A tensor with a stride of two has no odd elements, and none before the first."""
    shape = HostShape(size=(8, 8), stride=(16, 2))
    with pytest.raises(NotOnDeviceError):
        host_coordinates(index, shape, {c0: 8, c1: 8})


def test_what_runs_over_a_gap_is_refused():
    """A row that is longer than its part of the tensor leads nowhere."""
    shape = HostShape(size=(8, 8), stride=(16, 1))
    with pytest.raises(NotOnDeviceError):
        host_coordinates(c0, shape, {c0: 9})


@st.composite
def accesses(draw):
    """Draw a tensor, a layout of it, and a way of walking over it."""
    size = tuple(draw(st.lists(st.integers(1, 130), min_size=1, max_size=4)))
    order = draw(st.permutations(range(len(size))))
    if draw(st.booleans()):
        order = [*order, -1]
    merged = draw(st.integers(0, len(size) - 1))
    return size, tuple(order), merged


@settings(max_examples=60, deadline=None)
@given(accesses(), st.data())
def test_coordinates_lead_back_to_the_index(access, data):
    """Over any layout, the coordinates times the stride map are the host offset."""
    size, order, merged = access
    stride = contiguous(size)
    # The dimensions from `merged` on are walked by one loop; a loop of one iteration
    # has no symbol.
    trips = [*size[:merged], math.prod(size[merged:])]
    symbols = [loop_symbol(n) for n in range(len(trips))]
    extents = {s: n for s, n in zip(symbols, trips, strict=True) if n > 1}
    steps = dict(zip(symbols, [*stride[:merged], 1], strict=True))
    index = sympy.Add(*(steps[symbol] * symbol for symbol in extents))
    layout = SpyreTensorLayout(size, stride, torch.float16, order)
    host = host_coordinates(index, HostShape(size=size, stride=stride), extents)
    device = device_coordinates(host, order, 64, extents)
    back = offset_of(device, layout.stride_map)
    point = {s: data.draw(st.integers(0, n - 1)) for s, n in extents.items()}
    assert index.subs(point) == back.subs(point)
    for coordinate, bound in zip(device, layout.device_size, strict=True):
        assert 0 <= coordinate.subs(point) < bound
