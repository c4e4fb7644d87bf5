"""``sdsc_N.json``: one op as the backend compiler reads it.

The key names and their order are torch-spyre's. `debug_handle_` comes first.
"""

from __future__ import annotations

import json

import orjson
from attrs import field, frozen

from torch_spyre_provenance.model import DebugHandle, ProvenanceTransform, SourceLoc

from . import op_table
from .dimensions import Geometry, Tensor, geometry
from .dsc import ONE_CORELET, ONE_TIME, Json, affine, dsc
from .op_spec import OpSpec, tile_steps


@frozen(kw_only=True)
class Start:
    """The address of one core's part of a tensor.

    Attributes:
        symbol: The negative number that stands for it in the op's file.
        argument: Position of the tensor among the kernel's arguments.
        offset: Bytes from the start of the tensor, in the first trip of every loop.
        advances: Bytes that one trip of each counted loop adds, innermost loop first.
    """

    symbol: int
    argument: int
    offset: int
    advances: tuple[int, ...] = ()


@frozen(kw_only=True)
class SuperDsc:
    """One op's file.

    Its content is text: as values, that of a long kernel would fill the memory.

    Attributes:
        content: Its content.
        starts: The addresses that it leaves open.
        sizes: The number that stands for each symbolic size.
    """

    content: bytes
    starts: tuple[Start, ...]
    sizes: dict[str, int] = field(factory=dict)

    @property
    def n_symbols(self) -> int:
        """Return how many numbers stand for something that the file leaves open."""
        return len(self.sizes) + len(self.starts)

    @property
    def document(self) -> Json:
        """Return the content as a value."""
        document: Json = json.loads(self.content)
        return document


def superdsc(number: int, spec: OpSpec, first_symbol: int) -> SuperDsc:
    """Return the file of one op.

    Args:
        number: Position of the op in the kernel.
        spec: The op.
        first_symbol: The negative number of the first thing that it leaves open: the
            symbolic sizes come first, then the addresses.
    """
    shape = geometry(spec)
    function = _function_name(spec, shape)
    texts = [dim.symbol_of_size for dim in shape.dims]
    names = dict.fromkeys(text for text in texts if text is not None)
    sizes = {name: first_symbol - position for position, name in enumerate(names)}
    starts, by_tensor = _starts(spec, shape, first_symbol - len(sizes))
    cores = shape.cores
    slices = {str(core): point for core, point in enumerate(shape.slices())}
    ids = [str(core) for core in range(cores)]
    body = {
        "debug_handle_": handle_json(spec.debug_handle),
        "sdscFoldProps_": [ONE_TIME],
        "sdscFolds_": {
            "dim_prop_func": [affine(1)],
            "dim_prop_attr": [ONE_TIME],
            "data_": {"[0]": "0"},
        },
        "coreFoldProp_": {"factor_": cores, "label_": "core"},
        "coreletFoldProp_": ONE_CORELET,
        "numCoresUsed_": cores,
        "coreIdToDsc_": dict.fromkeys(ids, 0),
        "numWkSlicesPerDim_": {dim.label: dim.cores for dim in shape.dims},
        "coreIdToWkSlice_": slices,
        "coreIdToDscSchedule": {core: [[-1, 0, 0, 0]] for core in ids},
        "dscs_": [{function: dsc(spec, shape, function, by_tensor, sizes)}],
        **_symbolic_keys(sizes),
    }
    content = _encoded({f"{number}_{function}": body})
    return SuperDsc(content=content, starts=starts, sizes=sizes)


def _symbolic_keys(sizes: dict[str, int]) -> Json:
    if not sizes:
        return {}
    return {
        "datadscs_": [],
        "dimToSymbolMappingOpcodeCorrection_": {},
        "inputSymbolsAndTags_": {str(number): name for name, number in sizes.items()},
        "symbolDefinitions_": {},
    }


def _encoded(document: Json) -> bytes:
    try:
        return orjson.dumps(document, option=orjson.OPT_INDENT_2)
    except orjson.JSONEncodeError:
        # It refuses lone surrogates, which the path of a source file can hold.
        return json.dumps(document, indent=2).encode()


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
    spec: OpSpec, shape: Geometry, first_symbol: int
) -> tuple[tuple[Start, ...], list[list[int]]]:
    """Number the distinct addresses of each tensor; return them, and each core's."""
    starts: list[Start] = []
    by_tensor: list[list[int]] = []
    for tensor in shape.tensors:
        known: dict[int, int] = {}
        numbers = []
        advances = _advances(spec, tensor)
        for offset in shape.core_offsets(tensor):
            if offset not in known:
                known[offset] = first_symbol - len(starts)
                starts.append(
                    Start(
                        symbol=known[offset],
                        argument=tensor.argument.arg_index,
                        offset=offset,
                        advances=advances,
                    )
                )
            numbers.append(known[offset])
        by_tensor.append(numbers)
    return tuple(starts), by_tensor


def _advances(spec: OpSpec, tensor: Tensor) -> tuple[int, ...]:
    """Return the bytes that one trip of each counted loop moves a tensor."""
    if not spec.tiled_symbols:
        return ()
    first = dict.fromkeys(spec.iteration_space, 0)
    steps = tile_steps(spec, tensor.argument)
    start, *moved = tensor.offsets([first, *(first | step for step in steps)])
    return tuple(offset - start for offset in moved)
