"""Numbers as the device encodes them."""

from __future__ import annotations

import math
import struct

from ..host.layout import DataFormats

_FRACTION_BITS = 9
_BIAS = 31
_MAX_EXPONENT = 63
_MAX_FRACTION = 511
_NOT_A_NUMBER = 0x7FFF
_SIGN = 0x8000


def encode_constant(value: float, data_format: DataFormats) -> int:
    """Return the bits of a constant, as ``constantInfo_`` of an SDSC file holds them.

    Args:
        value: The constant.
        data_format: `DataFormats.IEEE_FP32`; a constant of any other format is written
            as DLFloat16, as torch-spyre does.

    Returns:
        An unsigned integer of 32 or 16 bits.
    """
    if data_format == DataFormats.IEEE_FP32:
        bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
        return bits
    return _dlfloat16(value)


def _dlfloat16(value: float) -> int:
    """Encode IBM's DLFloat16, by its published definition.

    One sign bit, six of exponent (bias 31), nine of fraction; no subnormal numbers, one
    symbol for infinity and not-a-number, ties rounded away from zero.
    """
    sign = _SIGN if math.copysign(1, value) < 0 else 0
    if not math.isfinite(value):
        return sign | _NOT_A_NUMBER
    if value == 0:
        return sign
    significand, exponent = math.frexp(abs(value))
    fraction: int = math.floor((2 * significand - 1) * 2**_FRACTION_BITS + 0.5)
    carry, fraction = divmod(fraction, 1 << _FRACTION_BITS)
    exponent += carry - 1 + _BIAS
    if (exponent, fraction) >= (_MAX_EXPONENT, _MAX_FRACTION):
        return sign | _NOT_A_NUMBER
    if (exponent, fraction) <= (0, 0):
        return sign
    return sign | exponent << _FRACTION_BITS | fraction
