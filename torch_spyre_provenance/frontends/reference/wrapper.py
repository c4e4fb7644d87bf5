"""The generated Python module."""

from __future__ import annotations

from typing import Any

from torch._inductor.codegen.wrapper import (
    PythonWrapperCodegen,
    SubgraphPythonWrapperCodegen,
)
from torch._inductor.virtualized import V

from ..contract import DEVICE
from .layouts import layout_of
from .passes import run_pre_scheduling
from .scheduling import forbid_fusion

_PACKAGE = "torch_spyre_provenance.frontends"

_IMPORTS = f"""
    from {_PACKAGE}.reference.op_spec import (
        DebugHandle, LoopSpec, OpSpec, ProvenanceTransform, SourceLoc, TensorArg,
        UnimplementedOp, sympify,
    )
    from {_PACKAGE}.reference.async_compile import SpyreAsyncCompile
    from {_PACKAGE}.reference.tensors import (
        spyre_constant_tensor, spyre_empty_with_layout,
    )
    from {_PACKAGE}.host.layout import (
        DataFormats, ElementArrangement, SpyreTensorLayout,
    )
"""


class _SpyreAllocation(PythonWrapperCodegen):
    """Writes the lines that allocate buffers."""

    def make_buffer_allocation(self, buffer: Any) -> str:
        """Return the line that allocates a buffer, with its stick layout."""
        device = buffer.get_device()
        if device is None or device.type != DEVICE:
            line: str = super().make_buffer_allocation(buffer)
            return line
        size = self.codegen_python_shape_tuple(tuple(buffer.get_size()))
        stride = self.codegen_python_shape_tuple(tuple(buffer.get_stride()))
        name = buffer.get_name()
        layout = layout_of(name).device_layout
        dtype = buffer.get_dtype()
        return f"{name} = spyre_empty_with_layout({size}, {stride}, {dtype}, {layout})"

    def make_buffer_reuse(self, old: Any, new: Any, delete_old: bool) -> str:
        """Return the line that makes a buffer of one that is no longer needed.

        The host could alias them, but the device's layouts may differ: a new buffer is
        allocated, as torch-spyre does.
        """
        if old.get_device_or_error().type != DEVICE:
            line: str = super().make_buffer_reuse(old, new, delete_old)
            return line
        line = self.make_buffer_allocation(new)
        if delete_old and old.get_name() not in V.graph.get_output_names():
            line += f"; {self.make_buffer_free(old)}"
        return line


class _SpyreSubgraphWrapperCodegen(_SpyreAllocation, SubgraphPythonWrapperCodegen):
    """Writes the function of a graph inside another one."""


class SpyrePythonWrapperCodegen(_SpyreAllocation, PythonWrapperCodegen):
    """Writes the module that allocates, runs the kernels and returns the outputs."""

    @classmethod
    def create(
        cls,
        is_subgraph: bool,
        subgraph_name: str | None,
        parent_wrapper: PythonWrapperCodegen | None,
        partition_signatures: Any = None,
    ) -> PythonWrapperCodegen:
        """Run the pre-scheduling passes over the graph and return its wrapper.

        Inductor calls this between lowering and scheduling. It makes an instance of
        the class that it is called on, so that a subclass can override it and call it.
        The branches of a condition and the like are graphs of their own, and functions
        of the same module.
        """
        # A partition is a part of a graph that the passes have been over.
        if partition_signatures is None:
            run_pre_scheduling(V.graph)
            forbid_fusion(V.graph)
        if not is_subgraph:
            return cls()
        assert subgraph_name is not None  # noqa: S101 - a subgraph has a name
        assert parent_wrapper is not None  # noqa: S101 - and a graph around it
        return _SpyreSubgraphWrapperCodegen(
            subgraph_name, parent_wrapper, partition_signatures
        )

    def write_header(self) -> None:
        """Write the imports, and rebind `async_compile` to the device's."""
        super().write_header()
        self.imports.splice(_IMPORTS, strip=True)
        self.header.writeline("del async_compile")
        self.header.writeline("async_compile = SpyreAsyncCompile()")
