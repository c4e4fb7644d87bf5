"""Constants as the device encodes them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_spyre_provenance.frontends.cardless.encoding import encode_constant
from torch_spyre_provenance.frontends.host.layout import DataFormats


def decode(bits):
    """The number that 16 bits of DLFloat16 stand for."""
    sign = -1.0 if bits & 0x8000 else 1.0
    exponent, fraction = (bits >> 9) & 0x3F, bits & 0x1FF
    if (exponent, fraction) == (0, 0):
        return sign * 0.0
    return sign * 2.0 ** (exponent - 31) * (1 + fraction / 512)


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (0.0, 0x0000),
        (-0.0, 0x8000),
        (1.0, 31 << 9),
        (-1.0, 0x8000 | 31 << 9),
        (0.5, 30 << 9),
        (1.5, 31 << 9 | 256),
        (1 + 1 / 1024, 31 << 9 | 1),
        (2 - 1 / 1024, 32 << 9),
        (math.inf, 0x7FFF),
        (-math.inf, 0xFFFF),
        (math.nan, 0x7FFF),
        (1e30, 0x7FFF),
        (1e-30, 0x0000),
        (2.0**-31, 0x0000),
        (2.0**-31 * (1 + 1 / 512), 0x0001),
        (2.0**32 * (1 + 510 / 512), 0x7FFE),
    ],
)
def test_half_precision(value, bits):
    """Fractions round away from zero; what does not fit is zero or not-a-number."""
    assert bits == encode_constant(value, DataFormats.SEN169_FP16)


@given(st.floats(2**-20, 2**20) | st.floats(-(2**20), -(2**-20)))
def test_half_precision_is_close(value):
    """An encoded number is within half a step of the fraction."""
    encoded = decode(encode_constant(value, DataFormats.SEN169_FP16))
    assert abs(encoded - value) <= abs(value) / 1024


@given(st.integers(1, 0x7FFE))
def test_half_precision_keeps_what_it_can_hold(bits):
    """A number that has an encoding gets that one."""
    assert bits == encode_constant(decode(bits), DataFormats.SEN169_FP16)


def test_single_precision():
    """A constant of a single-precision op is its IEEE bits."""
    assert 0x3F800000 == encode_constant(1.0, DataFormats.IEEE_FP32)
