"""Cutting a host tensor into sticks: the arithmetic of a stick layout."""

from __future__ import annotations

from collections.abc import Sequence

_MAX_RANK = 6

Integers = tuple[int, ...]


def integers(values: Sequence[int]) -> Integers:
    """Return numbers of any integer type as plain ones."""
    return tuple(int(value) for value in values)


def row_major_strides(size: Sequence[int]) -> Integers:
    """Return the strides of a dense tensor whose last dimension is innermost."""
    strides: list[int] = []
    step = 1
    for extent in reversed(size):
        strides.append(step)
        step *= int(extent)
    return tuple(reversed(strides))


def tile(
    size: Integers, strides: Integers, order: Integers, stick: int
) -> tuple[Integers, Integers]:
    """Return the device's sizes and strides of a host tensor.

    The device has every dimension but the first in order, then the first, then the
    stick dimension once more.

    Args:
        size: The host's shape.
        strides: Its strides, in elements.
        order: Its dimensions, the stick dimension last; a trailing -1 puts one element
            into each stick.
        stick: Elements per stick.

    Raises:
        ValueError: The rank is above 6, or the order does not match the shape.
    """
    _check(size, strides, order)
    if not size:
        return (1, stick), (-1, -1)
    dims = (*order[1:], order[0], order[-1]) if len(order) > 1 else order * 2
    device_size = tuple(_extent(size, dim, dims[-1], stick) for dim in dims[:-1])
    device_size = (*device_size, stick)
    return device_size, _strides(dims, device_size, size, strides)


def _check(size: Integers, strides: Integers, order: Integers) -> None:
    dims = order[:-1] if order[-1:] == (-1,) else order
    if len(size) > _MAX_RANK:
        message = f"a layout has at most {_MAX_RANK} host dimensions, not {len(size)}"
        raise ValueError(message)
    if len(strides) != len(size) or sorted(dims) != list(range(len(size))):
        message = (
            f"strides {strides} and dim_order {order} do not fit a tensor of shape "
            f"{size}"
        )
        raise ValueError(message)


def _extent(size: Integers, dim: int, stick_dim: int, stick: int) -> int:
    if dim == -1:
        return 1
    return -(-size[dim] // stick) if dim == stick_dim else size[dim]


def _strides(
    dims: Integers, device_size: Integers, size: Integers, strides: Integers
) -> Integers:
    # Right to left: the position within a stick is met first, the sticks after it.
    result: list[int] = []
    following: dict[int, int] = {}
    for dim, extent in zip(reversed(dims), reversed(device_size), strict=True):
        if dim == -1 or size[dim] == 1:
            result.append(-1)
            continue
        step = following.get(dim, strides[dim])
        result.append(step)
        following[dim] = step * extent
    return tuple(reversed(result))
