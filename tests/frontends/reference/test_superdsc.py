"""The JSON files of the ops, and the module that calls them."""

from __future__ import annotations

import json

import pytest
import sympy

from torch_spyre_provenance.frontends.host.layout import DataFormats
from torch_spyre_provenance.frontends.reference.bundle import (
    generate_bundle,
    kernel_bundle,
    render_mlir,
)
from torch_spyre_provenance.frontends.reference.dsc import encode_constant
from torch_spyre_provenance.frontends.reference.op_spec import (
    DebugHandle,
    LoopSpec,
    OpSpec,
    SourceLoc,
    TensorArg,
)
from torch_spyre_provenance.frontends.reference.superdsc import handle_json, superdsc

FP16 = DataFormats.SEN169_FP16
c0, c1, c2 = sympy.symbols("c0 c1 c2")
ROW_MAJOR = [sympy.floor(c1 / 64), c0, sympy.Mod(c1, 64)]


def argument(index, size, coordinates, *, is_input=True):
    """Return an fp16 argument."""
    return TensorArg(
        is_input=is_input,
        arg_index=index,
        device_dtype=FP16,
        device_size=size,
        device_coordinates=[sympy.sympify(c) for c in coordinates],
        allocation={"hbm": index},
    )


def space(**loops):
    """Return an iteration space from ``symbol=(extent, cores)``."""
    return {
        sympy.Symbol(name): (sympy.Integer(extent), cores)
        for name, (extent, cores) in loops.items()
    }


def relu():
    """Return relu over [128, 256], its rows over all cores."""
    return OpSpec(
        op="relufwd",
        is_reduction=False,
        iteration_space=space(c0=(128, 32), c1=(256, 1)),
        args=[
            argument(0, [4, 128, 64], ROW_MAJOR),
            argument(1, [4, 128, 64], ROW_MAJOR, is_input=False),
        ],
    )


def product():
    """Return [2, 128] times [128, 256], its columns over four cores."""
    return OpSpec(
        op="batchmatmul",
        is_reduction=True,
        iteration_space=space(c0=(2, 1), c1=(256, 4), c2=(128, 1)),
        args=[
            argument(0, [2, 2, 64], [sympy.floor(c2 / 64), c0, sympy.Mod(c2, 64)]),
            argument(1, [4, 128, 64], [sympy.floor(c1 / 64), c2, sympy.Mod(c1, 64)]),
            argument(2, [4, 2, 64], ROW_MAJOR, is_input=False),
        ],
    )


def row_sum(extent=100):
    """Return the sum of rows of 100 elements, which end in the middle of a stick."""
    return OpSpec(
        op="sum",
        is_reduction=True,
        iteration_space=space(c0=(8, 1), c1=(extent, 1)),
        args=[
            argument(0, [2, 8, 64], ROW_MAJOR),
            argument(1, [1, 1, 8, 64], [0, 0, c0, 0], is_input=False),
        ],
    )


def parts(spec):
    """Return an op's file, its body and its compute part."""
    document = superdsc(0, spec, -1).document
    ((name, body),) = document.items()
    ((_, compute),) = body["dscs_"][0].items()
    return name, body, compute


def test_relu():
    """An elementwise op over 32 cores."""
    name, body, compute = parts(relu())
    assert "0_relufwd" == name
    assert {"mb": 32, "out": 1} == body["numWkSlicesPerDim_"]
    assert {"mb": 1, "out": 0} == body["coreIdToWkSlice_"]["1"]
    assert {"name_": "n", "mb_": 128, "out_": 256} == compute["N_"]
    expected = {
        "OUTPUT": {
            "layoutDimOrder_": ["mb", "out"],
            "stickDimOrder_": ["out"],
            "stickSize_": [64],
        }
    }
    assert expected == compute["primaryDsInfo_"]
    folds = compute["scheduleTree_"][0]["coordinates_"]["coordInfo"]
    assert [4, 0, 0, 1] == alphas(folds["mb"])
    assert [256, 0, 0, 64, 1] == alphas(folds["out"])
    assert [1, 1, 1, 4, 64] == factors(folds["out"])


def alphas(fold):
    """Return the slopes of a fold."""
    return [f["Affine"]["alpha_"] for f in fold["folds"]["dim_prop_func"]]


def factors(fold):
    """Return the extents of a fold."""
    return [f["factor_"] for f in fold["folds"]["dim_prop_attr"]]


def test_product():
    """Each operand of a product has its own layout, and part of it per core."""
    _, body, compute = parts(product())
    assert 4 == body["numCoresUsed_"]
    assert {"mb": 1, "out": 4, "in": 1} == body["numWkSlicesPerDim_"]
    orders = {
        label: (info["layoutDimOrder_"], info["stickDimOrder_"])
        for label, info in compute["primaryDsInfo_"].items()
    }
    assert {
        "INPUT": (["mb", "in"], ["in"]),
        "KERNEL": (["in", "out"], ["out"]),
        "OUTPUT": (["mb", "out"], ["out"]),
    } == orders
    addresses = [
        list(node["startAddressCoreCorelet_"]["data_"].values())
        for node in compute["scheduleTree_"]
    ]
    assert [["-1"] * 4, ["-2", "-3", "-4", "-5"], ["-6", "-7", "-8", "-9"]] == addresses
    assert "pt" == compute["computeOp_"][0]["exUnit"]


def test_product_offsets_in_bytes():
    """Every core finds its columns of both matrices."""
    starts = superdsc(0, product(), -1).starts
    assert [0, 0, 16384, 32768, 49152, 0, 256, 512, 768] == [s.offset for s in starts]


def test_a_padded_reduction_is_masked():
    """The 28 elements after the hundredth do not count."""
    _, _, compute = parts(row_sum())
    assert {"out": [[100, 28]]} == compute["coordinateMasking_"]
    assert 128 == compute["N_"]["out_"]
    assert 0 == compute["maskingConstId_"]
    assert "samv-maskvalue" == compute["constantInfo_"]["0"]["name_"]
    assert [1, -2] == compute["labeledDs_"][1]["scale_"]
    operation = compute["computeOp_"][0]
    assert ["Tensor0-idx0", "Tensor1-idx1"] == operation["inputLabeledDs"]


def test_a_whole_reduction_is_not_masked():
    """Full sticks need no mask."""
    _, _, compute = parts(row_sum(extent=128))
    assert ({}, -1, "{}") == (
        compute["coordinateMasking_"],
        compute["maskingConstId_"],
        compute["constantInfo_"],
    )


def test_a_reduction_that_keeps_its_stick_has_another_name():
    """The device has another function for it; the op's name stays."""
    spec = row_sum()
    spec.iteration_space = space(c0=(128, 1), c1=(8, 1))
    spec.args = [
        argument(0, [2, 8, 64], [sympy.floor(c0 / 64), c1, sympy.Mod(c0, 64)]),
        argument(1, [2, 64], [sympy.floor(c0 / 64), sympy.Mod(c0, 64)], is_input=False),
    ]
    assert "0_sumnonstick" == parts(spec)[0]
    assert "sum" == spec.op


def test_an_op_without_loops():
    """A scalar has one dimension all the same: its stick."""
    spec = OpSpec(
        op="add",
        is_reduction=False,
        iteration_space={},
        args=[argument(0, [1, 64], [0, 0]), argument(1, [1, 64], [0, 0])],
    )
    _, body, compute = parts(spec)
    assert {"out": 1} == body["numWkSlicesPerDim_"]
    assert {"name_": "n", "out_": 64} == compute["N_"]


@pytest.mark.parametrize(
    ("value", "data_format", "bits"),
    [
        (1 / 256, FP16, 7168),
        (1e-5, FP16, 168),
        (float("-inf"), FP16, 0xFC00),
        (1e9, FP16, 0x7BFF),
        (1.0, DataFormats.IEEE_FP32, 0x3F800000),
    ],
)
def test_constants_are_bits(value, data_format, bits):
    """A number is written as the device holds it; the largest stands for more."""
    assert bits == encode_constant(value, data_format)


def test_the_handle_comes_first_with_its_id_as_text():
    """A JavaScript number could not hold 63 bits."""
    spec = relu()
    spec.debug_handle = DebugHandle(
        id=2**62 + 1,
        source=SourceLoc(file="/m.py", start_line=3),
        aten_op="aten.relu.default",
        ir_chain=("relu", "buf0"),
    )
    _, body, _ = parts(spec)
    assert "debug_handle_" == next(iter(body))
    expected = {
        "id": "4611686018427387905",
        "source": {
            "file": "/m.py",
            "start_line": 3,
            "start_col": 0,
            "end_line": None,
            "end_col": None,
        },
        "aten_op": "aten.relu.default",
        "ir_chain": ["relu", "buf0"],
        "fused_from": [],
        "transform_history": [],
    }
    assert expected == body["debug_handle_"]
    assert handle_json(None) is None


def test_ops_are_numbered_through_loops():
    """A loop's body is written once, at its place."""
    tree = [relu(), LoopSpec(count=sympy.Integer(3), body=[row_sum()]), relu()]
    bundle = kernel_bundle(tree)
    assert ["0_relufwd", "1_sum", "2_relufwd"] == [
        next(iter(file.document)) for file in bundle.files
    ]
    symbols = [start.symbol for file in bundle.files for start in file.starts]
    assert list(range(-1, -len(symbols) - 1, -1)) == symbols


def test_the_module_computes_each_address_once():
    """Two ops that start at one place share its name."""
    text = render_mlir(kernel_bundle([product(), product()]))
    assert 1 == text.count("%arg_1_core_16384 = arith.addi %arg_1,")
    assert 2 == text.count("sdscbundle.sdsc_execute")
    assert '{sdsc_filename="sdsc_1.json", "symbol_ids"=[-10, -11,' in text


def tiled_relu():
    """Return relu over 8 of the rows and one of the four column tiles of [32, 256]."""
    spec = relu()
    spec.iteration_space = space(c0=(8, 2), c1=(64, 1))
    for arg in spec.args:
        arg.device_size = [4, 32, 64]
    spec.tiled_symbols = [[c1], [c0]]
    return spec


def test_a_loop_moves_addresses():
    """Both loops add their stride to every address, in bytes, outermost first."""
    inner = LoopSpec(count=sympy.Integer(4), body=[tiled_relu()])
    tree = [relu(), LoopSpec(count=sympy.Integer(3), body=[inner]), relu()]
    text = render_mlir(kernel_bundle(tree))
    assert text.startswith(
        "#map_0 = affine_map<(d0, d1)[s0] -> (s0 + 1024*d0 + 4096*d1)>\nmodule {\n"
    )
    body = text[text.index("%c0 =") :].replace("\t\t", "", 1).splitlines()
    assert [
        "%c0 = arith.constant 0 : index",
        "%c1 = arith.constant 1 : index",
        "%loop_bound_0 = arith.constant 3 : index",
        "%loop_bound_1 = arith.constant 4 : index",
    ] == [line.strip() for line in body[:4]]
    start = next(n for n, line in enumerate(body) if "scf.for" in line)
    call = '{sdsc_filename="sdsc_1.json", "symbol_ids"=[-65, -66, -67, -68]}'
    assert [
        "\t\tscf.for %i_0 = %c0 to %loop_bound_0 step %c1 {",
        "\t\t\tscf.for %i_1 = %c0 to %loop_bound_1 step %c1 {",
        "\t\t\t\t%addr_0 = affine.apply #map_0(%i_0, %i_1)[%arg_0]",
        "\t\t\t\t%addr_1 = affine.apply #map_0(%i_0, %i_1)[%arg_0_core_512]",
        "\t\t\t\t%addr_2 = affine.apply #map_0(%i_0, %i_1)[%arg_1]",
        "\t\t\t\t%addr_3 = affine.apply #map_0(%i_0, %i_1)[%arg_1_core_512]",
        "\t\t\t\tsdscbundle.sdsc_execute (%addr_0, %addr_1, %addr_2, %addr_3) " + call,
        "\t\t\t}",
        "\t\t}",
    ] == body[start : start + 9]
    assert 'sdsc_filename="sdsc_2.json", "symbol_ids"=[-69,' in text


def test_what_stays_has_no_map():
    """An argument that does not move is named by its address, in the loop too."""
    spec = tiled_relu()
    spec.args[0].per_tile_fixed = True
    inner = LoopSpec(count=sympy.Integer(4), body=[spec])
    text = render_mlir(kernel_bundle([LoopSpec(count=sympy.Integer(3), body=[inner])]))
    assert "sdsc_execute (%arg_0, %arg_0_core_512, %addr_0, %addr_1)" in text


def test_the_file_of_an_op_in_a_loop_is_that_of_one_tile():
    """Its sizes are the tile's, and the addresses those of the first trip."""
    _, body, compute = parts(tiled_relu())
    assert {"name_": "n", "mb_": 8, "out_": 64} == compute["N_"]
    assert {"mb": 2, "out": 1} == body["numWkSlicesPerDim_"]


def test_files_are_written(tmp_path):
    """One file per op, and the module."""
    generate_bundle("kernel", str(tmp_path), [relu(), row_sum()])
    names = sorted(path.name for path in tmp_path.iterdir())
    assert ["bundle.mlir", "sdsc_0.json", "sdsc_1.json"] == names
    text = (tmp_path / "sdsc_1.json").read_text(encoding="utf-8")
    assert ["1_sum"] == list(json.loads(text))
