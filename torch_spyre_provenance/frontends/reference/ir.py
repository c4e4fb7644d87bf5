"""The IR nodes that the reference front end adds to Inductor's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeGuard

from torch._inductor import ir
from torch._inductor.utils import ir_dataclass

from ..contract import DEVICE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch._inductor.codegen.wrapper import PythonWrapperCodegen
    from torch._inductor.graph import GraphLowering


@ir_dataclass
class SpyreReduction(ir.Reduction):
    """A reduction that the device does in one op, with the op's parameters.

    The `reduction_type` is the device op. A matrix product reads two values at each
    point: its `inner_fn` returns both.
    """

    op_info: dict[str, Any]


@ir_dataclass
class SpyrePointwise(ir.Pointwise):
    """A pointwise operation that the device does in one op, of any number of tensors.

    Inductor's ops handlers have no name for such an op. `inner_fn` therefore only shows
    what is read; `loaders` and `op` say what is computed. It must be realized at once,
    so that `inner_fn` is never part of another node's.
    """

    op: str
    loaders: Sequence[Callable[..., Any]]
    op_info: dict[str, Any]


class SpyreConstantFallback(ir.ExternKernel):
    """A scalar on the device, made by a line of the generated module."""

    def __init__(self, value: float, layout: ir.Layout) -> None:
        super().__init__(None, layout, [], (value,))
        self.name = ir.V.graph.register_buffer(self)
        ir.V.graph.register_operation(self)

    @property
    def value(self) -> float:
        """Return the scalar."""
        value: float = self.constant_args[0]
        return value

    def should_allocate(self) -> bool:
        """Return False: the generated line makes the tensor."""
        return False

    def codegen(self, wrapper: PythonWrapperCodegen) -> None:
        """Write the line that makes the tensor."""
        dtype, device = self.get_dtype(), self.get_device_or_error()
        finite = math.isfinite(self.value)
        number = repr(self.value) if finite else f"float({str(self.value)!r})"
        wrapper.writeline(
            f"{self.get_name()} = spyre_constant_tensor("
            f"{number}, torch.device({str(device)!r}), {dtype})"
        )


class SpyreEmptyFallback(ir.ExternKernel):
    """A bare allocation, which the loop nests after it fill part by part."""

    def __init__(self, layout: ir.Layout) -> None:
        super().__init__(None, layout, [])
        self.name = ir.V.graph.register_buffer(self)
        ir.V.graph.register_operation(self)

    def is_no_op(self) -> bool:
        """Return True, so that it cuts no kernel in two."""
        return True

    def should_allocate(self) -> bool:
        """Return True: the wrapper's own allocation is all there is to it."""
        return True

    def codegen(self, wrapper: PythonWrapperCodegen) -> None:
        """Write nothing."""


def realized(data: ir.Loops) -> ir.TensorBox:
    """Wrap a loop body into a tensor that has a buffer of its own."""
    box: ir.TensorBox = ir.TensorBox.create(data)
    box.realize()
    return box


def computed(box: ir.TensorBox) -> ir.ComputedBuffer:
    """Return the buffer inside a realized tensor."""
    storage = box.data
    assert isinstance(storage, ir.StorageBox)  # noqa: S101 - a realized tensor has one
    buffer = storage.data
    assert isinstance(buffer, ir.ComputedBuffer)  # noqa: S101 - and it is computed
    return buffer


def spyre_loops(graph: GraphLowering) -> tuple[ir.ComputedBuffer, ...]:
    """Return the loop nests of the `spyre` device, in order."""
    return tuple(op for op in graph.operations if is_spyre_loops(op))


def is_spyre_loops(operation: object) -> TypeGuard[ir.ComputedBuffer]:
    """Return whether an operation is a loop nest of the `spyre` device."""
    if not isinstance(operation, ir.ComputedBuffer):
        return False
    device = operation.get_device()
    return device is not None and device.type == DEVICE
