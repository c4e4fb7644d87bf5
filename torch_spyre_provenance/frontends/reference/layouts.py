"""Buffers with a stick layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch._inductor import ir
from torch._inductor.virtualized import V

from ..host.layout import ElementArrangement, SpyreTensorLayout
from .coordinates import (
    HostShape,
    NotOnDeviceError,
    device_coordinates,
    host_coordinates,
    offset_of,
    without_remainders,
)
from .symbolic import ENDLESS, is_symbolic, planned, planned_sizes

if TYPE_CHECKING:
    import sympy
    import torch

    from .coordinates import Extents

SPARSE = -1
"""The stick dimension of a layout in which every stick holds one element."""


class FixedTiledLayout(ir.FixedLayout):
    """A fixed layout that also says how the buffer lies on the device.

    Size and stride stay the host's.

    Attributes:
        device_layout: The stick layout.
        dim_order: The host dimensions in the layout's order; the last one is the stick
            dimension, or `SPARSE`.
        allocation: Where the buffer lives; empty for device memory of its own.
    """

    def __init__(
        self,
        device: torch.device,
        dtype: torch.dtype,
        size: Sequence[Any],
        stride: Sequence[Any],
        *,
        device_layout: SpyreTensorLayout,
        dim_order: Sequence[int] = (),
        offset: Any = 0,
    ) -> None:
        super().__init__(device, dtype, list(size), list(stride), offset)
        self.device_layout = device_layout
        self.dim_order = tuple(dim_order)
        self.allocation: dict[str, int] = {}


def strides_of(layout: ir.Layout) -> tuple[int, ...]:
    """Return the strides as integers, any number for a dimension of one element.

    Raises:
        TypeError: One of the others is symbolic.
    """
    return tuple(
        planned(s) if n == 1 else int(s)
        for n, s in zip(layout.size, layout.stride, strict=True)
    )


def row_major_order(stride: Sequence[int]) -> tuple[int, ...]:
    """Return the dimensions by falling stride: the stick is the densest one."""
    return tuple(sorted(range(len(stride)), key=lambda d: -stride[d]))


def order_with_stick(stride: Sequence[int], stick_dim: int) -> tuple[int, ...]:
    """Return the dimensions by falling stride, with another one as the stick."""
    order = row_major_order(stride)
    if stick_dim == SPARSE:
        return (*order, SPARSE)
    return (*(d for d in order if d != stick_dim), stick_dim)


def tiled(
    layout: ir.Layout, dim_order: Sequence[int] | None = None
) -> FixedTiledLayout:
    """Return a layout with a stick layout added, row-major unless an order is given.

    Raises:
        ValueError: The device has no format for the dtype, or the rank is too high.
        TypeError: A stride is symbolic.
    """
    size, stride = planned_sizes(layout.size), strides_of(layout)
    order = tuple(dim_order) if dim_order is not None else row_major_order(stride)
    device_layout = SpyreTensorLayout(size, stride, layout.dtype, order)
    return FixedTiledLayout(
        layout.device,
        layout.dtype,
        layout.size,
        layout.stride,
        device_layout=device_layout,
        dim_order=order,
        offset=layout.offset,
    )


def moments(layout: ir.Layout) -> FixedTiledLayout:
    """Return the stick layout of what `exx2` writes: two numbers in one place.

    On the host the last dimension holds both; on the device it has one element.
    """
    size, stride = planned_sizes(layout.size), strides_of(layout)
    order = (*range(len(size)), SPARSE)
    device_layout = SpyreTensorLayout(
        (*size[:-1], 1), stride, layout.dtype, order, ElementArrangement.EXX2
    )
    return FixedTiledLayout(
        layout.device,
        layout.dtype,
        layout.size,
        layout.stride,
        device_layout=device_layout,
        dim_order=order,
    )


def buffer_of(name: str) -> ir.Buffer:
    """Return a buffer or a graph input without the boxes around it."""
    node: Any = V.graph.get_buffer(name)
    while isinstance(node, ir.MutableBox):
        node = node.data
    assert isinstance(node, ir.Buffer)  # noqa: S101 - there is nothing else in a box
    return node


def layout_of(name: str) -> FixedTiledLayout:
    """Return the stick layout of a buffer, row-major where none was chosen."""
    layout = buffer_of(name).get_layout()
    if isinstance(layout, ir.MutationLayoutSHOULDREMOVE):
        layout = layout.real_layout()
    if isinstance(layout, FixedTiledLayout):
        return layout
    return tiled(layout.as_fixed())


def host_shape(layout: FixedTiledLayout) -> HostShape:
    """Return the host's view of a buffer with this layout."""
    return HostShape(
        size=tuple(ENDLESS if is_symbolic(n) else int(n) for n in layout.size),
        stride=strides_of(layout),
        offset=int(layout.offset),
    )


def stick_coordinate(
    layout: FixedTiledLayout, index: sympy.Expr, extents: Extents
) -> sympy.Expr | None:
    """Return the position within a stick, or None in a sparse layout."""
    if not layout.dim_order or layout.dim_order[-1] == SPARSE:
        return None
    dims = host_coordinates(index, host_shape(layout), extents)
    return dims[layout.dim_order[-1]] % layout.device_layout.elems_per_stick()


def coordinates_of(
    layout: FixedTiledLayout, index: sympy.Expr, extents: Extents
) -> list[sympy.Expr]:
    """Return the device coordinates of an element.

    Raises:
        NotOnDeviceError: The coordinates do not lead back to the index.
    """
    shape = host_shape(layout)
    host = host_coordinates(index, shape, extents)
    stick = layout.device_layout.elems_per_stick()
    result = device_coordinates(host, layout.dim_order, stick, extents)
    back = offset_of(result, layout.device_layout.stride_map) + shape.offset
    if (back - without_remainders(index)).expand() != 0:
        raise NotOnDeviceError(f"{index} in {shape}: {result} leads to {back}")
    return result
