"""From loop nests to the specs of one kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy
from torch._inductor import ir
from torch._inductor.virtualized import V

from torch_spyre_provenance.errors import UnsupportedError

from . import op_table
from .coordinates import NotOnDeviceError
from .layouts import coordinates_of, layout_of
from .loop_info import CoarseTileInfo, loop_info_of, one_tile
from .op_spec import (
    LoopSpec,
    OpSpec,
    Spec,
    TensorArg,
    UnimplementedOp,
    size_symbols,
    sympify,
)
from .provenance import build_debug_handle, place_of
from .symbolic import GRANULARITY, planned
from .tracing import Apply, Body, Load, trace
from .work_division import SPLITS, divide

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class SpyreKernel:
    """One device kernel while it is being made.

    Attributes:
        op_specs: The tree of specs, in execution order.
        spyre_kernel_args: Each runtime argument's buffer name with one of its uses, in
            the order of the call.
    """

    def __init__(self) -> None:
        self.op_specs: list[Spec] = []
        self.spyre_kernel_args: list[tuple[str, TensorArg]] = []
        self._arguments: dict[str, int] = {}
        self._group: int | None = None

    def add(self, buffer: ir.ComputedBuffer) -> None:
        """Append the op of one buffer, inside its counted loop if it has one.

        Raises:
            UnsupportedError: The device cannot address what the op reads or writes.
        """
        body = trace(buffer)
        op, op_info = _operation(body, buffer)
        if op is None:
            self._append(UnimplementedOp(op=op_info["handler"]), None)
            return
        info = loop_info_of(buffer)
        tiled = [] if info is None else info.tiled_symbols(body)
        try:
            args = [
                self.create_tensor_arg(True, load.buffer, load.index, body, tiled)
                for load in body.loads
            ]
            name = _target_name(buffer)
            args.append(self.create_tensor_arg(False, name, body.output, body, tiled))
        except NotOnDeviceError as error:
            raise _unsupported(buffer, op, error) from error
        op = _movement(args) if op == op_table.IDENTITY else op
        is_reduction = body.reduction is not None
        spec = self.create_op_spec(op, is_reduction, args, op_info, source=buffer)
        self._append(spec, info)

    def _append(self, node: Spec, info: CoarseTileInfo | None) -> None:
        """Append an op to the kernel, or to the counted loops that it is in."""
        group = None if info is None else info.group
        place: list[Spec] = self.op_specs
        if info is not None and group == self._group:
            while isinstance(last := place[-1], LoopSpec):
                place = last.body
        elif info is not None:
            for each in reversed(info.tilings):
                node = LoopSpec(count=sympy.Integer(each.count), body=[node])
        place.append(node)
        self._group = group

    def create_tensor_arg(
        self,
        is_input: bool,
        name: str,
        index: sympy.Expr,
        body: Body,
        tiled: Sequence[sympy.Symbol] = (),
    ) -> TensorArg:
        """Return the argument for one access of a buffer.

        The coordinates are those of the whole buffer, so that they hold in every tile.

        Raises:
            NotOnDeviceError: The coordinates do not lead back to the index.
        """
        layout = layout_of(name)
        number = self._arguments.setdefault(name, len(self._arguments))
        argument = TensorArg(
            is_input=is_input,
            arg_index=number,
            device_dtype=layout.device_layout.device_dtype,
            device_size=list(layout.device_layout.device_size),
            device_coordinates=coordinates_of(layout, index, body.extents),
            allocation={"hbm": number},
            stride_map=list(layout.device_layout.stride_map),
            per_tile_fixed=bool(tiled) and index.free_symbols.isdisjoint(tiled),
        )
        if number == len(self.spyre_kernel_args):
            self.spyre_kernel_args.append((name, argument))
        return argument

    def create_op_spec(
        self,
        op: str,
        is_reduction: bool,
        args: list[TensorArg],
        op_info: dict[str, Any],
        *,
        source: ir.ComputedBuffer,
    ) -> OpSpec:
        """Return the spec of one op, with the handle of the buffer it comes from."""
        body, info = one_tile(source), loop_info_of(source)
        outer, inner = getattr(source, SPLITS, None) or divide(body, 1)
        loops = (*body.loops, *body.reduced)
        sizes = [sympify(str(loop.size)) for loop in loops]
        return OpSpec(
            op=op,
            is_reduction=is_reduction,
            iteration_space={
                sympy.Symbol(loop.symbol.name): (size, cores)
                for loop, size, cores in zip(
                    loops, sizes, (*outer, *inner), strict=True
                )
            },
            args=args,
            op_info=op_info,
            tiled_symbols=[
                [sympy.Symbol(symbol.name)]
                for symbol in (() if info is None else info.tiled_symbols(body))
            ],
            symbolic_dim_bounds={
                str(size): (planned(loop.size), GRANULARITY)
                for loop, size in zip(loops, sizes, strict=True)
                if loop.is_symbolic
            },
            debug_handle=build_debug_handle(source),
        )

    def codegen_kernel(self) -> str:
        """Return the specs as the source text of a Python list."""
        lines = ["["]
        for spec in self.op_specs:
            lines += _spec_lines(spec)
        return "\n".join([*lines, "]"])

    def call_kernel(self, name: str, node: Any = None) -> None:
        """Write the line that runs the kernel on its buffers."""
        arguments = ", ".join(buffer for buffer, _ in self.spyre_kernel_args)
        symbols = size_symbols(self.op_specs)
        if symbols:
            sizes = ", ".join(f"{symbol!r}: {symbol}" for symbol in symbols)
            arguments += f", symbolic_args={{{sizes}}}"
        V.graph.wrapper_code.writeline(f"{name}.run({arguments})")


def _operation(
    body: Body, buffer: ir.ComputedBuffer
) -> tuple[str | None, dict[str, Any]]:
    """Return the device op of a body and its parameters; no op where it lacks one."""
    if body.unknown is not None:
        return None, {"handler": body.unknown}
    if body.reduction is not None:
        return body.reduction, body.op_info
    (value,) = body.values
    if isinstance(value, Load):
        return op_table.IDENTITY, {}
    if not isinstance(value, Apply):
        return None, {"handler": "constant"}
    if value.op == "to_dtype":
        op = op_table.cast_op(value.args[0].dtype, buffer.get_dtype())
        return (op, {}) if op else (None, {"handler": "to_dtype"})
    row = op_table.POINTWISE.get(value.op)
    return (row.spyre, dict(value.info)) if row else (None, {"handler": value.op})


def _target_name(buffer: ir.ComputedBuffer) -> str:
    """Return the name of the buffer whose memory is written."""
    name = buffer.get_name()
    scheduler = V.graph.scheduler
    real: str = scheduler.mutation_real_name.get(name, name)
    return real


def _movement(args: list[TensorArg]) -> str:
    """Return the op that copies the first argument to the second."""
    source, target = args[0].device_coordinates, args[1].device_coordinates
    if all(coordinate == 0 for coordinate in source):
        return op_table.IDENTITY
    same = source[-1].free_symbols == target[-1].free_symbols
    return op_table.IDENTITY if same else op_table.RESTICKIFY


def _unsupported(
    buffer: ir.ComputedBuffer, op: str, error: NotOnDeviceError
) -> UnsupportedError:
    where = place_of(buffer)
    suffix = f" (from {where})" if where else ""
    return UnsupportedError(
        f"the device cannot address an operand of {op}: {error}{suffix}",
        operation=op,
        location=where,
    )


def _spec_lines(spec: Spec) -> Iterable[str]:
    if isinstance(spec, UnimplementedOp):
        return [f"    UnimplementedOp(op={spec.op!r}),"]
    if isinstance(spec, LoopSpec):
        inner = [f"    {line}" for part in spec.body for line in _spec_lines(part)]
        head = f"    LoopSpec(count=sympify({str(spec.count)!r}), body=["
        return [head, *inner, "    ]),"]
    space = ", ".join(
        f"sympify({str(symbol)!r}): (sympify({str(extent)!r}), {cores})"
        for symbol, (extent, cores) in spec.iteration_space.items()
    )
    lines = [
        "    OpSpec(",
        f"        op={spec.op!r},",
        f"        is_reduction={spec.is_reduction},",
        f"        iteration_space={{{space}}},",
        f"        op_info={spec.op_info!r},",
    ]
    if spec.tiled_symbols:
        levels = ", ".join(f"[{_sympified(level)}]" for level in spec.tiled_symbols)
        lines.append(f"        tiled_symbols=[{levels}],")
    lines.append(f"        symbolic_dim_bounds={spec.symbolic_dim_bounds!r},")
    if spec.debug_handle is not None:
        lines.append(f"        debug_handle={spec.debug_handle!r},")
    lines.append("        args=[")
    for argument in spec.args:
        lines += _argument_lines(argument)
    return [*lines, "        ],", "    ),"]


def _argument_lines(argument: TensorArg) -> list[str]:
    coordinates = _sympified(argument.device_coordinates)
    pad = " " * 16
    lines = [
        f"{pad}is_input={argument.is_input},",
        f"{pad}arg_index={argument.arg_index},",
        f"{pad}device_dtype={argument.device_dtype},",
        f"{pad}device_size={argument.device_size},",
        f"{pad}device_coordinates=[{coordinates}],",
        f"{pad}allocation={argument.allocation},",
        f"{pad}stride_map={argument.stride_map},",
    ]
    if argument.per_tile_fixed:
        lines.append(f"{pad}per_tile_fixed=True,")
    if argument.name is not None:
        lines.append(f"{pad}name={argument.name!r},")
    return ["            TensorArg(", *lines, "            ),"]


def _sympified(expressions: Iterable[sympy.Expr]) -> str:
    return ", ".join(f"sympify({str(expression)!r})" for expression in expressions)
