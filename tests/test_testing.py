"""The helper that people put into their own tests."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import torch_spyre_provenance
from torch_spyre_provenance import assert_attributed


class Small(nn.Module):
    """One layer."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 64)

    def forward(self, x):
        return torch.relu(self.layer(x))


def twice(x):
    """Return a function's value on the device."""
    return torch.sin(x) * 2


def test_a_model_whose_ops_have_lines_passes():
    """Its bundles come back, and it stays where it was."""
    model = Small()
    (bundle,) = assert_attributed(model, torch.randn(2, 64), no_loss=True)

    assert {op.op for _, op in bundle.ops} >= {"batchmatmul", "relufwd"}
    assert model.layer.weight.device.type == "cpu"


def test_it_compiles_again_each_time():
    """What the process has compiled before does not count."""
    first, second = (assert_attributed(Small(), torch.randn(2, 64)) for _ in range(2))

    assert len(first) == len(second) == 1


def test_a_function_will_do():
    """As long as it computes on the device."""
    assert assert_attributed(twice, torch.randn(2, 64))


def test_a_broken_limit_names_the_op():
    """The constant's padding is inferred, and none may be."""
    with pytest.raises(AssertionError, match="max-inferred"):
        assert_attributed(
            lambda x, y: x @ y.t(),
            torch.randn(64, 64),
            torch.randn(64, 64),
            max_inferred=0.0,
            min_attributed=1.0,
        )


def test_nothing_on_the_device_is_a_failure():
    """A test that looks at nothing must not pass."""
    with pytest.raises(AssertionError, match="nothing was compiled for the device"):
        assert_attributed(lambda x: x, torch.randn(2, 64))


def test_it_is_one_of_few_public_names():
    """Twelve at most, each imported when it is used."""
    assert "assert_attributed" in torch_spyre_provenance.__all__
    assert len(torch_spyre_provenance.__all__) <= 12
