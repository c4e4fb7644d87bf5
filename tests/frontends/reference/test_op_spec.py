"""The values that generated modules build."""

from __future__ import annotations

import dataclasses

import sympy

from torch_spyre_provenance.frontends.reference.op_spec import (
    LoopSpec,
    OpSpec,
    TensorArg,
    UnimplementedOp,
    find_unimplemented,
    walk,
)


def names(cls):
    """Return the fields of a dataclass, in order."""
    return [field.name for field in dataclasses.fields(cls)]


def spec(op):
    """Return an op without loops or arguments."""
    return OpSpec(op=op, is_reduction=False, iteration_space={}, args=[])


def test_op_spec_has_torch_spyres_fields():
    """The names and their order are what other tools read."""
    expected = [
        "op",
        "is_reduction",
        "iteration_space",
        "args",
        "op_info",
        "tiled_symbols",
        "symbolic_dim_bounds",
        "debug_handle",
    ]
    assert expected == names(OpSpec)


def test_tensor_arg_has_torch_spyres_fields():
    """`stride_map` stands where torch-spyre of June 2026 had it."""
    expected = [
        "is_input",
        "arg_index",
        "device_dtype",
        "device_size",
        "device_coordinates",
        "allocation",
        "stride_map",
        "per_tile_fixed",
        "name",
    ]
    assert expected == names(TensorArg)


def test_walk_enters_loops():
    """The leaves come depth first."""
    lacking = UnimplementedOp(op="sin")
    tree = [
        spec("add"),
        LoopSpec(count=sympy.Integer(2), body=[spec("mul"), lacking]),
        spec("exp"),
    ]
    assert ["add", "mul", "sin", "exp"] == [leaf.op for leaf in walk(tree)]


def test_find_unimplemented_looks_into_loops():
    """The first op that the device lacks is found wherever it is."""
    lacking = UnimplementedOp(op="sin")
    loop = LoopSpec(count=sympy.Integer(2), body=[spec("mul"), lacking])
    assert lacking is find_unimplemented([spec("add"), loop])
    assert find_unimplemented([spec("add")]) is None
