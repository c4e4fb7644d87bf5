"""Running specs on host memory."""

from __future__ import annotations

import pytest
import sympy
import torch

from torch_spyre_provenance.errors import UnsupportedError
from torch_spyre_provenance.frontends import reference
from torch_spyre_provenance.frontends.host.layout import DataFormats
from torch_spyre_provenance.frontends.host.memory import to_spyre
from torch_spyre_provenance.frontends.reference.op_spec import (
    LoopSpec,
    OpSpec,
    TensorArg,
)
from torch_spyre_provenance.frontends.reference.runner import SpyreSDSCKernelRunner

c0, c1 = sympy.symbols("c0 c1")


def argument(index, coordinates, strides, *, is_input):
    """Return an fp32 argument; the host looks at coordinates and strides only."""
    return TensorArg(
        is_input=is_input,
        arg_index=index,
        device_dtype=DataFormats.IEEE_FP32,
        device_size=[1] * len(strides),
        device_coordinates=[sympy.sympify(c) for c in coordinates],
        stride_map=strides,
    )


def run(op, space, accesses, *, source, target, **info):
    """Run one op of one input, given both accesses; return what it wrote."""
    reference.load()
    spec = OpSpec(
        op=op,
        is_reduction=False,
        iteration_space={s: (sympy.Integer(n), 1) for s, n in space.items()},
        args=[
            argument(index, *access, is_input=index == 0)
            for index, access in enumerate(accesses)
        ],
        op_info=info,
    )
    SpyreSDSCKernelRunner("k", "", [spec]).run(to_spyre(source), to_spyre(target))
    return target


def test_an_affine_access_is_a_view():
    """Rows are read as columns by their strides alone."""
    source = torch.arange(6.0).reshape(2, 3)
    actual = run(
        "identity",
        {c0: 3, c1: 2},
        [([c0, c1], [1, 3]), ([c0, c1], [2, 1])],
        source=source,
        target=torch.zeros(3, 2),
    )
    assert torch.equal(source.t(), actual)


def test_any_other_access_goes_element_by_element():
    """One loop over a transposed matrix needs a quotient and a remainder."""
    source = torch.arange(6.0).reshape(2, 3)
    actual = run(
        "neg",
        {c0: 6},
        [([sympy.floor(c0 / 2), sympy.Mod(c0, 2)], [1, 3]), ([c0], [1])],
        source=source,
        target=torch.zeros(6),
    )
    assert torch.equal(-source.t().reshape(-1), actual)


def test_elements_may_be_written_one_by_one():
    """The output's access need not be affine either."""
    source = torch.arange(6.0)
    actual = run(
        "abs",
        {c0: 6},
        [([c0], [1]), ([sympy.floor(c0 / 2), sympy.Mod(c0, 2)], [1, 3])],
        source=-source,
        target=torch.zeros(2, 3),
    )
    assert torch.equal(source.reshape(3, 2).t(), actual)


def test_a_missing_stride_counts_for_nothing():
    """A device dimension without a host one has the stride -1 and the coordinate 0."""
    source = torch.arange(4.0)
    actual = run(
        "exp",
        {c0: 4},
        [([0, c0], [-1, 1]), ([c0], [1])],
        source=source,
        target=torch.zeros(4),
    )
    assert torch.equal(source.exp(), actual)


def test_a_reduction_finds_its_loops():
    """The loops that the output does not follow are the reduced ones."""
    source = torch.arange(6.0).reshape(2, 3)
    actual = run(
        "max",
        {c0: 2, c1: 3},
        [([c0, c1], [3, 1]), ([c0], [1])],
        source=source,
        target=torch.zeros(2),
    )
    assert torch.equal(source.amax(1), actual)


def test_parameters_reach_the_op():
    """The constants of an op are those of its spec."""
    source = torch.arange(4.0)
    actual = run(
        "clip",
        {c0: 4},
        [([c0], [1]), ([c0], [1])],
        source=source,
        target=torch.zeros(4),
        constants={"clipMin": 1.0, "clipMax": 2.0},
    )
    assert [1.0, 1.0, 2.0, 2.0] == actual.tolist()


def test_a_counted_loop_is_refused():
    """Nothing here makes one; running its body once would be a wrong result."""
    loop = LoopSpec(count=sympy.Integer(2), body=[])
    with pytest.raises(UnsupportedError, match="no counted loop"):
        SpyreSDSCKernelRunner("k", "", [loop])
