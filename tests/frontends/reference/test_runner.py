"""Running specs on host memory."""

from __future__ import annotations

import sympy
import torch

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


def test_a_reduction_counts_what_is_repeated():
    """A loop that the input does not follow adds each element once per iteration."""
    source = torch.arange(2.0)
    actual = run(
        "sum",
        {c0: 2, c1: 3},
        [([c0], [1]), ([c0], [1])],
        source=source,
        target=torch.zeros(2),
    )
    assert torch.equal(source * 3, actual)


def test_a_kernel_runs_at_every_size():
    """Symbolic extents get their value with the arguments; what lies behind stays."""
    reference.load()
    spec = OpSpec(
        op="neg",
        is_reduction=False,
        iteration_space={c0: (2 * sympy.Symbol("s0"), 1)},
        args=[argument(n, [c0], [1], is_input=n == 0) for n in range(2)],
    )
    kernel = SpyreSDSCKernelRunner("k", "", [spec])
    source = torch.arange(8.0)
    for size in (2, 0, 4, 2):
        target = torch.zeros(8)
        arguments = to_spyre(source), to_spyre(target)
        kernel.run(*arguments, symbolic_args={"s0": size})
        assert torch.equal(torch.where(source < 2 * size, -source, 0), target)


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


def tile(op, *accesses, fixed=()):
    """Return an op on tiles of two elements along c0.

    Args:
        op: The op.
        accesses: For each argument its number, coordinates and strides; output last.
        fixed: The numbers of those that stay where they are.
    """
    arguments = []
    for access in accesses:
        arguments.append(argument(*access, is_input=access is not accesses[-1]))
        arguments[-1].per_tile_fixed = access[0] in fixed
    return OpSpec(
        op=op,
        is_reduction=False,
        iteration_space={c0: (sympy.Integer(2), 1)},
        args=arguments,
        tiled_symbols=[[c0]],
    )


def run_loop(specs, *tensors, count=3):
    """Run specs in a loop; return the last tensor."""
    reference.load()
    loop = LoopSpec(count=sympy.Integer(count), body=specs)
    SpyreSDSCKernelRunner("k", "", [loop]).run(*map(to_spyre, tensors))
    return tensors[-1]


def test_each_trip_goes_on_where_the_last_one_ended():
    """Three tiles of two elements; the second op reads what the first has written."""
    body = [
        tile("neg", (0, [c0], [1]), (1, [c0], [1])),
        tile("exp", (1, [c0], [1]), (2, [c0], [1])),
    ]
    source = torch.arange(6.0)
    actual = run_loop(body, source, torch.zeros(6), torch.zeros(6))
    assert torch.equal((-source).exp(), actual)


def test_a_fixed_argument_is_read_again_in_every_trip():
    """It lies along the tiled symbol, and starts where it started."""
    accesses = [(number, [c0], [1]) for number in range(3)]
    body = [tile("add", *accesses, fixed=[1])]
    fixed = torch.tensor([10.0, 20.0])
    actual = run_loop(body, torch.arange(6.0), fixed, torch.zeros(6))
    assert [10.0, 21.0, 12.0, 23.0, 14.0, 25.0] == actual.tolist()


def test_other_accesses_move_too():
    """A tile of two rows of a matrix that lies transposed, element by element."""
    coordinates = [sympy.floor(c0 / 2), sympy.Mod(c0, 2)]
    body = [tile("abs", (0, [c0], [1]), (1, coordinates, [1, 3]))]
    actual = run_loop(body, -torch.arange(6.0), torch.zeros(2, 3))
    assert torch.equal(torch.arange(6.0).reshape(3, 2).t(), actual)


def test_loops_inside_loops():
    """The innermost symbols come first."""
    spec = OpSpec(
        op="neg",
        is_reduction=False,
        iteration_space={c0: (sympy.Integer(1), 1), c1: (sympy.Integer(2), 1)},
        args=[
            argument(0, [c0, c1], [4, 1], is_input=True),
            argument(1, [c1, c0], [3, 1], is_input=False),
        ],
        tiled_symbols=[[c1], [c0]],
    )
    source = torch.arange(12.0).reshape(3, 4)
    inner = LoopSpec(count=sympy.Integer(2), body=[spec])
    actual = run_loop([inner], source, torch.zeros(4, 3))
    assert torch.equal(-source.t(), actual)
