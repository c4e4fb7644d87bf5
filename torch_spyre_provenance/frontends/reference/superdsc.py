"""``sdsc_N.json``: one op as the backend compiler reads it.

The key names and their order are torch-spyre's. `debug_handle_` comes first.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from torch_spyre_provenance.model import DebugHandle, ProvenanceTransform, SourceLoc

from ..host.layout import DataFormats
from . import op_table
from .dimensions import (
    ABSENT,
    ABSENT_STICK,
    PRESENT,
    Dimension,
    Geometry,
    Tensor,
    geometry,
)
from .op_spec import OpSpec

Json = dict[str, Any]

_ONE_TIME = {"factor_": 1, "label_": "time"}
_ONE_CORELET = {"factor_": 1, "label_": "corelet"}
_MASK_VALUE = "samv-maskvalue"
_MASKS = {"max": float("-inf"), "min": float("inf")}
_EMPTY_MAPS = ("maxSymbolicVolume_", "coreletSplit_", "rowSplit_", "peSfpSplit_")


@frozen(kw_only=True)
class Start:
    """The address of one core's part of a tensor.

    Attributes:
        symbol: The negative number that stands for it in the op's file.
        argument: Position of the tensor among the kernel's arguments.
        offset: Bytes from the start of the tensor.
    """

    symbol: int
    argument: int
    offset: int


@frozen(kw_only=True)
class SuperDsc:
    """One op's file: its content, and the addresses that it leaves open."""

    document: Json
    starts: tuple[Start, ...]


def superdsc(number: int, spec: OpSpec, first_symbol: int) -> SuperDsc:
    """Return the file of one op.

    Args:
        number: Position of the op in the kernel.
        spec: The op.
        first_symbol: The negative number of its first address.
    """
    shape = geometry(spec)
    function = _function_name(spec, shape)
    starts, by_tensor = _starts(shape, first_symbol)
    cores = shape.cores
    slices = {str(core): point for core, point in enumerate(shape.slices())}
    ids = [str(core) for core in range(cores)]
    body = {
        "debug_handle_": handle_json(spec.debug_handle),
        "sdscFoldProps_": [_ONE_TIME],
        "sdscFolds_": {
            "dim_prop_func": [_affine(1)],
            "dim_prop_attr": [_ONE_TIME],
            "data_": {"[0]": "0"},
        },
        "coreFoldProp_": {"factor_": cores, "label_": "core"},
        "coreletFoldProp_": _ONE_CORELET,
        "numCoresUsed_": cores,
        "coreIdToDsc_": dict.fromkeys(ids, 0),
        "numWkSlicesPerDim_": {dim.label: dim.cores for dim in shape.dims},
        "coreIdToWkSlice_": slices,
        "coreIdToDscSchedule": {core: [[-1, 0, 0, 0]] for core in ids},
        "dscs_": [{function: _dsc(spec, shape, function, by_tensor)}],
    }
    return SuperDsc(document={f"{number}_{function}": body}, starts=starts)


def handle_json(handle: DebugHandle | None) -> Json | None:
    """Return a handle in torch-spyre's JSON form; the id is a decimal string."""
    if handle is None:
        return None
    return {
        "id": str(handle.id),
        "source": _source_json(handle.source),
        "aten_op": handle.aten_op,
        "ir_chain": list(handle.ir_chain),
        "fused_from": [handle_json(part) for part in handle.fused_from],
        "transform_history": [_step_json(step) for step in handle.transform_history],
    }


def _source_json(source: SourceLoc | None) -> Json | None:
    if source is None:
        return None
    return {
        "file": source.file,
        "start_line": source.start_line,
        "start_col": source.start_col,
        "end_line": source.end_line,
        "end_col": source.end_col,
    }


def _step_json(step: ProvenanceTransform) -> Json:
    return {"kind": step.kind, "pass_name": step.pass_name, "reason": step.reason}


def _function_name(spec: OpSpec, shape: Geometry) -> str:
    """Return the op's name; a reduction that keeps its stick has another one."""
    keeps = shape.tensors[-1].stick is not None
    plain = not spec.is_reduction or spec.op == op_table.MATMUL
    return spec.op if plain or not keeps else f"{spec.op}nonstick"


def _starts(
    shape: Geometry, first_symbol: int
) -> tuple[tuple[Start, ...], list[list[int]]]:
    """Number the distinct addresses of each tensor; return them, and each core's."""
    starts: list[Start] = []
    by_tensor: list[list[int]] = []
    for tensor in shape.tensors:
        known: dict[int, int] = {}
        numbers = []
        for offset in shape.core_offsets(tensor):
            if offset not in known:
                known[offset] = first_symbol - len(starts)
                starts.append(
                    Start(
                        symbol=known[offset],
                        argument=tensor.argument.arg_index,
                        offset=offset,
                    )
                )
            numbers.append(known[offset])
        by_tensor.append(numbers)
    return tuple(starts), by_tensor


def _dsc(
    spec: OpSpec, shape: Geometry, function: str, by_tensor: list[list[int]]
) -> Json:
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


def _stage(dims: Sequence[Dimension]) -> Json:
    return {
        "name_": "core",
        **{f"{dim.label}_": dim.per_core for dim in dims},
        "symbolicDimInfo_": {},
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
    number: int, shape: Geometry, tensor: Tensor, first: Tensor, numbers: list[int]
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
                _ONE_CORELET,
                _ONE_TIME,
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
    if scale == ABSENT_STICK:
        alphas, factors = (stick, 0, 0, stick, 0), (1, 1, 1, 1, stick)
    elif scale == PRESENT and is_stick:
        alphas = (dim.per_core, 0, 0, stick, 1)
        factors = (dim.cores, 1, 1, dim.per_core // stick, stick)
    elif scale == PRESENT:
        alphas, factors = (dim.per_core, 0, 0, 1), (dim.cores, 1, 1, dim.per_core)
    else:
        alphas, factors = (1, 0, 0, 1), (1, 1, 1, 1)
    inner = ("elem_arr_1", "elem_arr_0") if len(alphas) > len(_FOLDS) + 1 else (
        "elem_arr_0",
    )
    return {
        "spatial": 3,
        "temporal": 0,
        "elemArr": len(inner),
        "padding": "nopad",
        "folds": {
            "dim_prop_func": [_affine(alpha) for alpha in alphas],
            "dim_prop_attr": [
                {"factor_": factor, "label_": name}
                for factor, name in zip(factors, (*_FOLDS, *inner), strict=True)
            ],
        },
    }


_FOLDS = ("core_fold", "corelet_fold", "row_fold")


def _affine(alpha: int) -> Json:
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


def _constants(
    constants: Mapping[str, float], spec: OpSpec, cores: int
) -> Json | str:
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
                    _ONE_CORELET,
                    _ONE_TIME,
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
