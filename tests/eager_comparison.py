"""Comparing what was compiled for the device with eager on the host."""

from __future__ import annotations

import torch

from torch_spyre_provenance.frontends.contract import DEVICE

TOLERANCE = {torch.float16: 2e-2, torch.bfloat16: 4e-2, torch.float32: 1e-4}
"""Largest relative and absolute difference from eager on the host. Half precision is
rounded after every op, and eager rounds elsewhere."""


def on_device(value):
    """Move tensors to the device, and leave the rest."""
    return value.to(DEVICE) if isinstance(value, torch.Tensor) else value


def assert_equals_eager(function, *args):
    """Compile a function for the device, and compare with eager on the host."""
    with torch.no_grad():
        expected = function(*args)
        actual = torch.compile(function)(*map(on_device, args))
    pairs = zip(_tuple(expected), _tuple(actual), strict=True)
    for want, got in pairs:
        assert (want.dtype, want.shape, want.stride()) == (
            got.dtype,
            got.shape,
            got.stride(),
        )
        tolerance = TOLERANCE.get(want.dtype, 0)
        torch.testing.assert_close(
            got.cpu(), want, rtol=tolerance, atol=tolerance, equal_nan=True
        )


def _tuple(value):
    return value if isinstance(value, tuple) else (value,)
