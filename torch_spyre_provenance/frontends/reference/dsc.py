"""The compute part of an op's file: sizes, layouts, addresses and the operation."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from ..host.layout import DataFormats
from . import op_table
from .dimensions import ABSENT, ABSENT_STICK, PRESENT, Dimension, Geometry, Tensor
from .op_spec import OpSpec

Json = dict[str, Any]

ONE_TIME: Json = {"factor_": 1, "label_": "time"}
ONE_CORELET: Json = {"factor_": 1, "label_": "corelet"}

_MASK_VALUE = "samv-maskvalue"
_MASKS = {"max": float("-inf"), "min": float("inf")}
_EMPTY_MAPS = ("maxSymbolicVolume_", "coreletSplit_", "rowSplit_", "peSfpSplit_")
_FOLDS = ("core_fold", "corelet_fold", "row_fold")


def dsc(
    spec: OpSpec,
    shape: Geometry,
    function: str,
    by_tensor: Sequence[Sequence[int]],
    by_size: Mapping[str, int],
) -> Json:
    """Return the compute part of an op's file.

    Args:
        spec: The op.
        shape: Its dimensions and tensors.
        function: Its name in the file.
        by_tensor: For each tensor, the number of each core's address.
        by_size: The number of each symbolic size.
    """
    cores = shape.cores
    labels = _layout_labels(spec.op, shape.tensors)
    orders: dict[str, Tensor] = {}
    for tensor, label in zip(shape.tensors, labels, strict=True):
        orders.setdefault(label, tensor)
    masked = _masking(spec, shape)
    constants = dict(op_table.constants_of(spec.op_info))
    if masked:
        constants = {_MASK_VALUE: _MASKS.get(spec.op, 0.0), **constants}
    sizes = {f"{dim.label}_": dim.size for dim in shape.dims}
    stage = _stage(shape.dims)
    schedule = [
        _allocate(number, shape, tensor, orders[label], numbers)
        for number, (tensor, label, numbers) in enumerate(
            zip(shape.tensors, labels, by_tensor, strict=True)
        )
    ]
    return {
        "numCoresUsed_": cores,
        "numCoreletsUsed_": 1,
        "coreIdsUsed_": list(range(cores)),
        "N_": {"name_": "n", **sizes},
        "coordinateMasking_": masked,
        "maskingConstId_": 0 if masked else -1,
        **_symbolic_sizes(shape, by_size),
        "dataStageParam_": {"0": {"ss_": stage, "el_": stage}},
        "primaryDsInfo_": {
            label: _primary(tensor, shape) for label, tensor in orders.items()
        },
        "scheduleTree_": schedule,
        "labeledDs_": [
            _labeled(number, tensor, label, orders[label])
            for number, (tensor, label) in enumerate(
                zip(shape.tensors, labels, strict=True)
            )
        ],
        "constantInfo_": _constants(constants, spec, cores),
        "computeOp_": [_compute(spec, shape, function)],
    }


def _symbolic_sizes(shape: Geometry, by_size: Mapping[str, int]) -> Json:
    numbers = {
        dim.label: [by_size[dim.symbol_of_size]]
        for dim in shape.dims
        if dim.symbol_of_size is not None
    }
    return {"dimToSymbolMapping_": numbers} if numbers else {}


def _stage(dims: Sequence[Dimension]) -> Json:
    return {
        "name_": "core",
        **{f"{dim.label}_": dim.per_core for dim in dims},
        "symbolicDimInfo_": {
            dim.label: {"maxSize_": dim.per_core, "granularity_": dim.granularity}
            for dim in dims
            if dim.symbol_of_size is not None
        },
        **{key: {} for key in _EMPTY_MAPS},
        "paddingSizes_": {},
    }


def _layout_labels(op: str, tensors: Sequence[Tensor]) -> list[str]:
    """Name the layout of each tensor; tensors that lie alike share a name."""
    if op == op_table.MATMUL:
        return ["INPUT", "KERNEL", "OUTPUT"]
    names = iter(("OUTPUT", "KERNEL", "INPUT", "KERNEL_IDX", *map(str, range(99))))
    known: dict[Any, str] = {}
    labels = []
    for tensor in tensors:
        # A tensor without a stick of its own lies like those that it is read with.
        key = (tensor.stick, frozenset(tensor.order), tensor.elems_per_stick)
        if tensor.stick is None and known:
            key = next(iter(known))
        if key not in known:
            known[key] = next(names)
        labels.append(known[key])
    return labels


def _primary(tensor: Tensor, shape: Geometry) -> Json:
    return {
        "layoutDimOrder_": list(tensor.order),
        "stickDimOrder_": [tensor.stick or shape.stick],
        "stickSize_": [tensor.elems_per_stick],
    }


def _allocate(
    number: int, shape: Geometry, tensor: Tensor, first: Tensor, numbers: Sequence[int]
) -> Json:
    scales = dict(zip(tensor.order, tensor.scales, strict=True))
    info = {
        label: _fold(shape, tensor, label, scales.get(label, ABSENT))
        for label in first.order
    }
    return {
        "nodeType_": "allocate",
        "name_": f"allocate-Tensor{number}_hbm",
        "prev_": "",
        "ldsIdx_": number,
        "component_": "hbm",
        "isStartAddrSymbolic_": 1,
        "layoutDimOrder_": list(tensor.order),
        "maxDimSizes_": [-1] * len(tensor.order),
        "indirectAllocType_": "no_indirection",
        "startAddressCoreCorelet_": {
            "dim_prop_func": [{"Map": {}}, {"Const": {}}, {"Const": {}}],
            "dim_prop_attr": [
                {"factor_": len(numbers), "label_": "core"},
                ONE_CORELET,
                ONE_TIME,
            ],
            "data_": {
                f"[{core}, 0, 0]": str(symbol) for core, symbol in enumerate(numbers)
            },
        },
        "coordinates_": {"coordInfo": info, "coreIdToWkSlice_": {}},
    }


def _fold(shape: Geometry, tensor: Tensor, label: str, scale: int) -> Json:
    """Return how one dimension of a tensor is laid out over cores and sticks."""
    dim = shape.dim(label)
    stick = tensor.elems_per_stick
    is_stick = label == (tensor.stick or shape.stick)
    alphas: tuple[int, ...]
    factors: tuple[int, ...]
    if scale == ABSENT_STICK:
        alphas, factors = (stick, 0, 0, stick, 0), (1, 1, 1, 1, stick)
    elif scale == PRESENT and is_stick:
        alphas = (dim.per_core, 0, 0, stick, 1)
        factors = (dim.cores, 1, 1, dim.per_core // stick, stick)
    elif scale == PRESENT:
        alphas, factors = (dim.per_core, 0, 0, 1), (dim.cores, 1, 1, dim.per_core)
    else:
        alphas, factors = (1, 0, 0, 1), (1, 1, 1, 1)
    inner = (
        ("elem_arr_1", "elem_arr_0")
        if len(alphas) > len(_FOLDS) + 1
        else ("elem_arr_0",)
    )
    return {
        "spatial": 3,
        "temporal": 0,
        "elemArr": len(inner),
        "padding": "nopad",
        "folds": {
            "dim_prop_func": [affine(alpha) for alpha in alphas],
            "dim_prop_attr": [
                {"factor_": factor, "label_": name}
                for factor, name in zip(factors, (*_FOLDS, *inner), strict=True)
            ],
        },
    }


def affine(alpha: int) -> Json:
    """Return how a position grows along one fold."""
    return {"Affine": {"alpha_": alpha, "beta_": 0}}


def _labeled(number: int, tensor: Tensor, label: str, first: Tensor) -> Json:
    scales = dict(zip(tensor.order, tensor.scales, strict=True))
    return {
        "ldsIdx_": number,
        "dsName_": f"Tensor{number}",
        "dsType_": label,
        "scale_": [scales.get(dim, ABSENT) for dim in first.order],
        "wordLength": tensor.word_bytes,
        "dataFormat_": tensor.argument.device_dtype.name,
        "memOrg_": {"hbm": {"isPresent": 1}, "lx": {"isPresent": 1}},
    }


def _masking(spec: OpSpec, shape: Geometry) -> Json:
    """Return what a reduction along a padded stick must leave out."""
    output = set(shape.tensors[-1].argument.device_coordinates[-1].free_symbols)
    if not spec.is_reduction or spec.op == op_table.MATMUL or output:
        return {}
    dim = shape.dim(shape.stick)
    padding = dim.size - dim.valid
    return {dim.label: [[dim.valid, padding]]} if padding else {}


def _constants(constants: Mapping[str, float], spec: OpSpec, cores: int) -> Json | str:
    if not constants:
        return "{}"
    data_format = spec.args[-1].device_dtype
    return {
        str(number): {
            "dataFormat_": data_format.name,
            "name_": name,
            "data_": {
                "dim_prop_func": [{"Const": {}}, {"Const": {}}, {"Map": {}}],
                "dim_prop_attr": [
                    {"factor_": cores, "label_": "core"},
                    ONE_CORELET,
                    ONE_TIME,
                ],
                "data_": {"[0, 0, 0]": [encode_constant(value, data_format)]},
            },
        }
        for number, (name, value) in enumerate(constants.items())
    }


def encode_constant(value: float, data_format: DataFormats) -> int:
    """Return the bits of a number: of fp32 in that format, else of fp16."""
    if data_format is DataFormats.IEEE_FP32:
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    limit = 65504.0
    bounded = value if abs(value) == float("inf") else max(-limit, min(limit, value))
    return int(struct.unpack("<H", struct.pack("<e", bounded))[0])


def _compute(spec: OpSpec, shape: Geometry, function: str) -> Json:
    names = [f"Tensor{n}-idx{n}" for n in range(len(shape.tensors))]
    reduces = spec.is_reduction and spec.op != op_table.MATMUL
    return {
        "exUnit": "pt" if spec.op == op_table.MATMUL else "sfp",
        "opFuncName": function,
        "attributes_": {
            "dataFormat_": spec.args[0].device_dtype.name,
            "fidelity_": "regular",
        },
        "location": "Inner",
        # A reduction accumulates into its output, so it reads that too.
        "inputLabeledDs": names if reduces else names[:-1],
        "outputLabeledDs": names[-1:],
    }
