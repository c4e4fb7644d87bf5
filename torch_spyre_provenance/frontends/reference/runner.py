"""Running a kernel on host memory.

The runner does what the specs say, and nothing that they do not say: it finds every
element through the op's device coordinates and the layout's stride map. So a result
that agrees with eager shows that the compiler described the computation rightly.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import sympy
import torch
from attrs import evolve, frozen

from torch_spyre_provenance.errors import UnsupportedError

from ..host.memory import to_host
from . import op_table
from .coordinates import evaluate, offset_of
from .op_spec import (
    LoopSpec,
    OpSpec,
    Spec,
    TensorArg,
    size_symbols,
    tile_steps,
    walk,
)

_SHAPES = 16
"""For how many sizes a kernel stays ready to run."""


class SpyreUnimplementedRunner:
    """Stands for a kernel that holds an op which the device lacks.

    Attributes:
        kernel_name: The kernel's name.
        op: The op.
    """

    def __init__(self, kernel_name: str, op: str) -> None:
        self.kernel_name = kernel_name
        self.op = op

    def run(self, *args: Any) -> None:
        """Raise.

        Raises:
            RuntimeError: Always.
        """
        raise RuntimeError(f"{self.kernel_name}: the device has no op {self.op!r}")


class SpyreSDSCKernelRunner:
    """Runs the ops of one kernel, one after the other.

    Attributes:
        kernel_name: The kernel's name.
        code_dir: Its directory.

    Raises:
        UnsupportedError: There is an op that the host lacks.
    """

    def __init__(self, name: str, code_dir: str, specs: Sequence[Spec]) -> None:
        self.kernel_name = name
        self.code_dir = code_dir
        ops = [spec for spec in walk(specs) if isinstance(spec, OpSpec)]
        for spec in ops:
            _check(spec)
        self._steps = functools.lru_cache(_SHAPES)(functools.partial(_steps, specs))
        if not size_symbols(ops):
            self._steps()

    def run(
        self, *args: torch.Tensor, symbolic_args: Mapping[str, int] | None = None
    ) -> None:
        """Run the kernel.

        Args:
            *args: The `spyre` tensors; the outputs are among them.
            symbolic_args: The value of every symbol in the extents.
        """
        with torch.profiler.record_function(f"launch_jobplan:{self.kernel_name}"):
            tensors = [to_host(argument) for argument in args]
            for step in self._steps(*(symbolic_args or {}).items()):
                step.run(tensors)


@frozen(kw_only=True)
class Access:
    """How an op reads or writes one argument.

    Attributes:
        argument: Position among the kernel's arguments.
        offset: Host offset of the first element.
        strides: Host elements that one step of each loop moves, where the access is
            affine; None where it is not.
        indices: The host offset of every element otherwise, one axis per loop.
        loops: Whether each loop moves at all.
        advances: Host elements that one trip of each counted loop around the op moves,
            innermost first.
    """

    argument: int
    offset: int
    strides: tuple[int, ...] | None
    indices: torch.Tensor | None
    loops: tuple[bool, ...]
    advances: tuple[int, ...] = ()

    def at(self, trips: Sequence[int]) -> Access:
        """Return the access in one trip of each counted loop, innermost first."""
        pairs = zip(self.advances, trips, strict=True)
        return _behind(self, sum(advance * trip for advance, trip in pairs))

    def view(self, tensor: torch.Tensor, extents: Sequence[int]) -> torch.Tensor:
        """Return the elements, one axis per loop; size 1 where the loop does not move.

        An affine access is a view, so that writing to it writes the argument.
        """
        size = [n if moves else 1 for n, moves in zip(extents, self.loops, strict=True)]
        if self.strides is not None:
            start = tensor.storage_offset() + self.offset
            return tensor.as_strided(size, self.strides, start)
        assert self.indices is not None  # noqa: S101 - one of the two is always there
        flat = _flat(tensor)
        return flat[self.indices]


@frozen(kw_only=True)
class Step:
    """One op, ready to run."""

    op: str
    extents: tuple[int, ...]
    inputs: tuple[Access, ...]
    output: Access
    parameters: dict[str, Any]

    def run(self, tensors: Sequence[torch.Tensor], trips: tuple[int, ...] = ()) -> None:
        """Read the inputs, compute, write the output, in one trip of each loop."""
        if trips:
            inputs = tuple(access.at(trips) for access in self.inputs)
            step = evolve(self, inputs=inputs, output=self.output.at(trips))
            step.run(tensors)
            return
        values = [
            access.view(tensors[access.argument], self.extents)
            for access in self.inputs
        ]
        target = tensors[self.output.argument]
        if self.op == op_table.EXX2:
            self._write_moments(values[0], target)
        else:
            self._write(self.output, target, self._compute(values))

    def _write(
        self, output: Access, target: torch.Tensor, result: torch.Tensor
    ) -> None:
        if output.strides is not None:
            place = output.view(target, self.extents)
            place.copy_(result.reshape(place.shape) if result.dim() == 0 else result)
        else:
            assert output.indices is not None  # noqa: S101 - see Access
            flat = _flat(target)
            flat[output.indices] = result.to(flat.dtype).expand(output.indices.shape)

    def _write_moments(self, x: torch.Tensor, target: torch.Tensor) -> None:
        wide, reduced = x.float(), self._reduced()
        mean, variance = wide, torch.zeros_like(wide)
        if reduced:  # else a row is one element
            mean = wide.mean(reduced, keepdim=True)
            variance = wide.var(reduced, correction=0, keepdim=True)
        self._write(self.output, target, mean)
        self._write(_behind(self.output, 1), target, variance)

    def _reduced(self) -> list[int]:
        return [
            axis
            for axis, (moves, n) in enumerate(
                zip(self.output.loops, self.extents, strict=True)
            )
            if not moves and n != 1
        ]

    def _compute(self, values: list[torch.Tensor]) -> torch.Tensor:
        if self.op in op_table.MOVES:
            return values[0]
        reduced = self._reduced()
        if reduced:
            values[0] = self._repeated(values[0], reduced)
        if self.op == op_table.MATMUL:
            return _matmul(values[0], values[1], reduced)
        if self.op in op_table.TOPK:
            return self._largest(values[0], reduced)
        if self.op in op_table.REDUCTIONS:
            # The device accumulates in fp32, as eager does.
            wide = values[0].float() if values[0].is_floating_point() else values[0]
            result = op_table.REDUCTIONS[self.op](wide, reduced) if reduced else wide
            for axis in reduced:
                result = result.unsqueeze(axis)
            return result
        return op_table.COMPUTE[self.op](*values, **self.parameters)

    def _repeated(self, x: torch.Tensor, reduced: list[int]) -> torch.Tensor:
        """Return what is reduced with every iteration, even where it does not move."""
        return x.expand(
            [self.extents[axis] if axis in reduced else -1 for axis in range(x.dim())]
        )

    def _largest(self, x: torch.Tensor, reduced: list[int]) -> torch.Tensor:
        """Find the largest elements, which the output has along a loop of its own."""
        if not reduced:  # one element is the largest, and the first
            return x if self.op == "topkvalue" else torch.zeros_like(x)
        (axis,) = reduced
        result = op_table.TOPK[self.op](x, self.parameters["k"], axis)
        pairs = zip(self.output.loops, self.inputs[0].loops, strict=True)
        own = [n for n, (writes, reads) in enumerate(pairs) if writes and not reads]
        return result.transpose(axis, own[0]) if own else result


@frozen(kw_only=True)
class CountedLoop:
    """Steps that run again and again, each time with other addresses."""

    count: int
    body: tuple[Step | CountedLoop, ...]

    def run(self, tensors: Sequence[torch.Tensor], trips: tuple[int, ...] = ()) -> None:
        """Run the body once for each trip."""
        for trip in range(self.count):
            for part in self.body:
                part.run(tensors, (trip, *trips))


def _matmul(x: torch.Tensor, y: torch.Tensor, reduced: list[int]) -> torch.Tensor:
    axes = list(range(x.dim()))
    kept = [axis for axis in axes if axis not in reduced]
    wide = torch.einsum(x.float(), axes, y.float(), axes, kept)
    for axis in reduced:
        wide = wide.unsqueeze(axis)
    return wide


def _check(spec: OpSpec) -> None:
    if not (
        spec.op in op_table.MOVES
        or spec.op in op_table.COMPUTE
        or spec.op in op_table.REDUCTIONS
        or spec.op in (op_table.MATMUL, op_table.EXX2, *op_table.TOPK)
    ):
        raise UnsupportedError(f"the host has no {spec.op!r}", operation=spec.op)


def _steps(
    specs: Sequence[Spec], *sizes: tuple[str, int]
) -> tuple[Step | CountedLoop, ...]:
    """Return the ops ready to run, given the value of each symbol in their extents."""
    steps: list[Step | CountedLoop] = []
    for spec in specs:
        if isinstance(spec, LoopSpec):
            body = _steps(spec.body, *sizes)
            steps.append(CountedLoop(count=int(spec.count), body=body))
        elif isinstance(spec, OpSpec):
            steps.append(_step(spec, dict(sizes)))
    return tuple(steps)


def _step(spec: OpSpec, sizes: Mapping[str, int]) -> Step:
    symbols = list(spec.iteration_space)
    extents = tuple(
        int(extent.subs(sizes)) for extent, _ in spec.iteration_space.values()
    )
    accesses = [
        evolve(
            _access(argument, symbols, extents),
            advances=_advances(argument, spec),
        )
        for argument in spec.args
    ]
    if spec.op in op_table.MOMENTS:
        position, moment = op_table.MOMENTS[spec.op]
        accesses[position] = _behind(accesses[position], moment)
    *inputs, output = accesses
    return Step(
        op=spec.op,
        extents=extents,
        inputs=tuple(inputs),
        output=output,
        parameters=op_table.parameters_of(spec.op_info),
    )


def _behind(access: Access, distance: int) -> Access:
    """Return the access some host elements further on."""
    indices = None if access.indices is None else access.indices + distance
    return evolve(access, offset=access.offset + distance, indices=indices)


def _access(
    argument: TensorArg, symbols: list[sympy.Symbol], extents: tuple[int, ...]
) -> Access:
    offset = offset_of(argument.device_coordinates, argument.stride_map)
    start, strides = _affine(offset, tuple(symbols))
    return Access(
        argument=argument.arg_index,
        offset=start,
        strides=strides,
        indices=None if strides is not None else _indices(offset, symbols, extents),
        loops=tuple(symbol in offset.free_symbols for symbol in symbols),
    )


def _advances(argument: TensorArg, spec: OpSpec) -> tuple[int, ...]:
    """Return the host elements that one trip of each counted loop moves."""
    if not spec.tiled_symbols:
        return ()
    offset = offset_of(argument.device_coordinates, argument.stride_map)
    first = dict.fromkeys(spec.iteration_space, 0)
    return tuple(
        int(evaluate(offset, first | step) - evaluate(offset, first))
        for step in tile_steps(spec, argument)
    )


# The layers of a model have the same accesses, so most of them have been seen before.
@functools.lru_cache(maxsize=4096)
def _affine(
    offset: sympy.Expr, symbols: tuple[sympy.Symbol, ...]
) -> tuple[int, tuple[int, ...] | None]:
    """Return the start and the strides of an offset; no strides if it is not affine."""
    coefficients = [offset.coeff(symbol) for symbol in symbols]
    rest = sympy.expand(
        offset - sum(c * s for c, s in zip(coefficients, symbols, strict=True))
    )
    if rest.free_symbols or not all(c.is_Integer for c in coefficients):
        return 0, None
    return int(rest), tuple(int(c) for c in coefficients)


def _indices(
    offset: sympy.Expr, symbols: list[sympy.Symbol], extents: tuple[int, ...]
) -> torch.Tensor:
    axes = []
    for axis, (symbol, n) in enumerate(zip(symbols, extents, strict=True)):
        shape = [1] * len(extents)
        shape[axis] = n if symbol in offset.free_symbols else 1
        axes.append(torch.arange(shape[axis]).reshape(shape))
    indices: torch.Tensor = evaluate(offset, dict(zip(symbols, axes, strict=True)))
    return indices


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    """Return the whole memory of a tensor from its first element on, as one axis."""
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    start = tensor.storage_offset()
    return tensor.as_strided((count - start,), (1,), start)
