"""Stick layouts: how a tensor's elements lie in Spyre memory.

A *stick* is 128 bytes in a row, and always the last device dimension. One host
dimension, the *stick dimension*, is cut into sticks and so appears twice on the device:
as the number of sticks and as the position within one. `SpyreTensorLayout` gives the
sizes of the device dimensions, outermost first, and for each how many host elements one
step along it moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, overload

import torch

from .tiling import integers, row_major_strides, tile

STICK_BYTES = 128
"""Bytes of one stick."""

_STATE_VERSION = 3


class _PrintedByName(IntEnum):
    """An integer enumeration that prints as the Python expression that names it."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


class DataFormats(_PrintedByName):
    """How one element is encoded on the device; numbered as torch-spyre numbers it."""

    SEN169_FP16 = 0
    IEEE_FP32 = 1
    INVALID = 2
    SEN143_FP8 = 3
    SEN152_FP8 = 4
    SEN153_FP9 = 5
    SENINT2 = 6
    SENINT4 = 7
    SENINT8 = 8
    SENINT16 = 9
    SENINT24 = 10
    IEEE_INT64 = 11
    IEEE_INT32 = 12
    SENUINT32 = 13
    SENUINT2 = 14
    IEEE_FP16 = 15
    BOOL = 16
    BFLOAT16 = 17
    SEN18F_FP24 = 18

    def elems_per_stick(self) -> int:
        """Return how many elements of this format one stick holds.

        Raises:
            ValueError: The format has no size (`INVALID`).
        """
        if self is DataFormats.INVALID:
            message = f"{self} has no size: no device format holds the dtype"
            raise ValueError(message)
        return _ELEMS_PER_STICK[self]


_ELEMS_PER_STICK = {
    DataFormats.SEN169_FP16: 64,
    DataFormats.IEEE_FP32: 32,
    DataFormats.SEN143_FP8: 128,
    DataFormats.SEN152_FP8: 128,
    DataFormats.SEN153_FP9: 64,
    DataFormats.SENINT2: 512,
    DataFormats.SENINT4: 256,
    DataFormats.SENINT8: 128,
    DataFormats.SENINT16: 64,
    DataFormats.SENINT24: 32,
    DataFormats.IEEE_INT64: 16,
    DataFormats.IEEE_INT32: 32,
    DataFormats.SENUINT32: 32,
    DataFormats.SENUINT2: 512,
    DataFormats.IEEE_FP16: 64,
    DataFormats.BOOL: 128,
    DataFormats.BFLOAT16: 64,
    DataFormats.SEN18F_FP24: 32,
}
"""Elements per stick. Public for fp16, fp32, int32, int8 and fp8; the rest follow from
the word size, rounded up to a power of two."""


class ElementArrangement(_PrintedByName):
    """In which order the elements lie within a stick."""

    STANDARD = 0
    DL16_TO_FP32 = 1
    QFP8CH = 2
    EXX2 = 3
    FP32_TO_DL16 = 4


_FORMAT_OF_DTYPE = {
    torch.float16: DataFormats.SEN169_FP16,
    torch.bfloat16: DataFormats.SEN169_FP16,
    torch.bool: DataFormats.SEN169_FP16,
    torch.float32: DataFormats.IEEE_FP32,
    torch.int32: DataFormats.IEEE_INT32,
    torch.int64: DataFormats.IEEE_INT32,
    torch.int16: DataFormats.SENINT16,
    torch.int8: DataFormats.SENINT8,
    torch.uint8: DataFormats.SENUINT32,
    torch.float8_e4m3fn: DataFormats.SEN143_FP8,
    torch.float8_e5m2fnuz: DataFormats.SEN152_FP8,
}


def data_format(dtype: torch.dtype) -> DataFormats:
    """Return the device format of a dtype, or `DataFormats.INVALID`."""
    return _FORMAT_OF_DTYPE.get(dtype, DataFormats.INVALID)


def elems_per_stick(dtype: torch.dtype) -> int:
    """Return how many elements of a dtype one stick holds.

    Raises:
        ValueError: No device format holds the dtype.
    """
    return data_format(dtype).elems_per_stick()


_Fields = tuple[tuple[int, ...], tuple[int, ...], DataFormats, ElementArrangement]


class SpyreTensorLayout:
    """Where the elements of a tensor lie in device memory. Immutable.

    There are three ways to make one: row-major from a shape and a dtype; from a shape,
    its host strides, a dtype and the order of the dimensions, the stick dimension last
    (a trailing -1 makes it *sparse*: one element per stick); and from the device sizes
    and strides themselves.

    The offset of a host element is the sum over the device dimensions of coordinate
    times `stride_map`; -1 there marks a dimension that the host does not have.

    Raises:
        ValueError: The rank is above 6, the order does not match the shape, or no
            device format holds the dtype.
    """

    __slots__ = ("_arrangement", "_device_size", "_format", "_stride_map")

    _device_size: tuple[int, ...]
    _stride_map: tuple[int, ...]
    _format: DataFormats
    _arrangement: ElementArrangement

    @overload
    def __init__(self, host_size: Sequence[int], dtype: torch.dtype) -> None: ...

    @overload
    def __init__(
        self,
        host_size: Sequence[int],
        host_strides: Sequence[int],
        dtype: torch.dtype,
        dim_order: Sequence[int],
        element_arrangement: ElementArrangement = ...,
    ) -> None: ...

    @overload
    def __init__(
        self,
        device_size: Sequence[int],
        stride_map: Sequence[int],
        device_dtype: DataFormats,
        element_arrangement: ElementArrangement = ...,
    ) -> None: ...

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        third = args[2] if len(args) > 2 else kwargs.get("device_dtype")
        if isinstance(third, DataFormats):
            fields = _explicit(*args, **kwargs)
        elif len(args) > 2 or "host_strides" in kwargs:
            fields = _tiled(*args, **kwargs)
        else:
            fields = _row_major(*args, **kwargs)
        self._set(fields)

    def _set(self, fields: _Fields) -> None:
        self._device_size, self._stride_map, self._format, self._arrangement = fields

    @property
    def device_size(self) -> list[int]:
        """Sizes of the device dimensions, outermost first; the last is the stick."""
        return list(self._device_size)

    @property
    def stride_map(self) -> list[int]:
        """Host elements that one step along each device dimension moves, or -1."""
        return list(self._stride_map)

    @property
    def device_dtype(self) -> DataFormats:
        """Format of the elements."""
        return self._format

    @property
    def element_arrangement(self) -> ElementArrangement:
        """Order of the elements within a stick."""
        return self._arrangement

    def elems_per_stick(self) -> int:
        """Return how many elements one stick holds."""
        return self._format.elems_per_stick()

    def with_element_arrangement(
        self, element_arrangement: ElementArrangement
    ) -> SpyreTensorLayout:
        """Return the same layout with another order within the stick."""
        return SpyreTensorLayout(
            self._device_size, self._stride_map, self._format, element_arrangement
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SpyreTensorLayout):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> _Fields:
        return self._device_size, self._stride_map, self._format, self._arrangement

    def __repr__(self) -> str:
        # The space before the second "=" is torch-spyre's: generated code is compared.
        text = (
            f"SpyreTensorLayout(device_size={self.device_size}, "
            f"stride_map ={self.stride_map}, device_dtype={self._format}"
        )
        if self._arrangement is not ElementArrangement.STANDARD:
            text += f", element_arrangement={self._arrangement}"
        return text + ")"

    def __getstate__(self) -> tuple[Any, ...]:
        return (
            _STATE_VERSION,
            self.device_size,
            self.stride_map,
            int(self._format),
            int(self._arrangement),
        )

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._set(_from_state(state))


def _explicit(
    device_size: Sequence[int],
    stride_map: Sequence[int],
    device_dtype: DataFormats,
    element_arrangement: ElementArrangement = ElementArrangement.STANDARD,
) -> _Fields:
    size, strides = integers(device_size), integers(stride_map)
    if len(size) != len(strides):
        message = f"device_size {size} and stride_map {strides} differ in length"
        raise ValueError(message)
    return size, strides, device_dtype, ElementArrangement(element_arrangement)


def _row_major(host_size: Sequence[int], dtype: torch.dtype) -> _Fields:
    strides = row_major_strides(host_size)
    return _tiled(host_size, strides, dtype, range(len(host_size)))


def _tiled(
    host_size: Sequence[int],
    host_strides: Sequence[int],
    dtype: torch.dtype,
    dim_order: Sequence[int],
    element_arrangement: ElementArrangement = ElementArrangement.STANDARD,
) -> _Fields:
    size, strides = tile(
        integers(host_size),
        integers(host_strides),
        integers(dim_order),
        elems_per_stick(dtype),
    )
    return size, strides, data_format(dtype), ElementArrangement(element_arrangement)


def _from_state(state: tuple[Any, ...]) -> _Fields:
    version = state[0]
    if version == 1:  # it also held the dimension map, which the strides replace
        _, size, _, strides, code = state
        arrangement = 0
    elif version == 2:
        _, size, strides, code = state
        arrangement = 0
    elif version == _STATE_VERSION:
        _, size, strides, code, arrangement = state
    else:
        message = f"a pickled layout has the unknown version {version!r}"
        raise ValueError(message)
    return _explicit(size, strides, DataFormats(code), ElementArrangement(arrangement))
