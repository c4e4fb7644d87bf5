"""The backend that Inductor's scheduler hands the device's loop nests to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy
from torch._inductor import ir
from torch._inductor.scheduler import BaseScheduling, SchedulerNode
from torch._inductor.utils import get_fused_kernel_name, get_kernel_metadata
from torch._inductor.virtualized import V

from .ir import spyre_loops
from .kernel import SpyreKernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch._inductor.graph import GraphLowering
    from torch._inductor.scheduler import (
        BaseSchedulerNode,
        FusedSchedulerNode,
        Scheduler,
    )

DEVICE_PREFIX = "sdsc"


def forbid_fusion(graph: GraphLowering) -> None:
    """Exclude the loop nests from fusion, before there is a scheduler.

    The backend below refuses every pair, but the scheduler only asks it after it has
    scored the pair and tried other loop orders.
    """
    names = (buffer.get_name() for buffer in spyre_loops(graph))
    graph.no_fuse_buffer_names.update(names)


class SuperDSCScheduling(BaseScheduling):
    """Makes one kernel of every unbroken run of loop nests, and fuses nothing.

    The scheduler passes the loop nests one by one and flushes the backend before it
    emits anything else, a library call for example. What came in between is one run.

    Attributes:
        kernel_class: The class of a kernel in the making.
    """

    kernel_class: type[SpyreKernel] = SpyreKernel

    def __init__(self, scheduler: Scheduler | None) -> None:
        super().__init__(scheduler)
        self._pending: list[SchedulerNode] = []

    def group_fn(self, sizes: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
        """Return the product of each group of sizes."""
        return tuple(V.graph.sizevars.simplify(sympy.prod(group)) for group in sizes)

    def can_buffer_be_removed_through_fusion(
        self,
        name: str,
        fused_node_names: Any,
    ) -> bool:
        """Return False: every buffer of a kernel exists."""
        return False

    def can_fuse_vertical(
        self,
        node1: BaseSchedulerNode,
        node2: BaseSchedulerNode,
    ) -> bool:
        """Return False: one op, one loop nest."""
        return False

    can_fuse_horizontal = can_fuse_vertical

    def codegen_node(self, node: FusedSchedulerNode | SchedulerNode) -> None:
        """Take the next loop nest of the run."""
        for part in node.get_nodes():
            assert isinstance(part, SchedulerNode)  # noqa: S101 - nothing is fused
            self._pending.append(part)

    def flush(self) -> None:
        """Emit the run that has come in, if any."""
        nodes, self._pending = self._pending, []
        if nodes:
            self._codegen_run(nodes)

    def _codegen_run(self, nodes: list[SchedulerNode]) -> None:
        kernel = self.kernel_class()
        self._codegen_into_kernel(nodes, kernel, nodes)
        name = self.define_kernel(kernel.codegen_kernel(), nodes, kernel)
        for node in nodes:
            node.mark_run()
        self.codegen_comment(nodes, name)
        kernel.call_kernel(name)

    def _codegen_into_kernel(
        self,
        nodes: Sequence[SchedulerNode],
        kernel: SpyreKernel,
        all_schedule_nodes: Sequence[SchedulerNode],
    ) -> None:
        for node in nodes:
            assert isinstance(node.node, ir.ComputedBuffer)  # noqa: S101 - as lowered
            kernel.add(node.node)

    def define_kernel(
        self,
        src_code: str,
        node_schedule: Sequence[SchedulerNode],
        kernel: SpyreKernel,
    ) -> str:
        """Write a kernel's definition into the generated module.

        Args:
            src_code: The specs, as the text of a Python list.
            node_schedule: The loop nests, in order.
            kernel: The finished kernel; `kernel.op_specs` is its tree of specs.

        Returns:
            The kernel's name. Equal specs share one definition.
        """
        wrapper = V.graph.wrapper_code
        known: str | None = wrapper.src_to_kernel.get(src_code)
        if known is not None:
            return known
        name = "_".join(
            (
                DEVICE_PREFIX,
                get_fused_kernel_name(_one_of_each(node_schedule), "original_aten"),
                wrapper.next_kernel_suffix(),
            )
        )
        wrapper.src_to_kernel[src_code] = name
        comment = "\n".join(get_kernel_metadata(node_schedule, wrapper))
        body = f"async_compile.sdsc({name!r},\n{src_code}\n)"
        wrapper.define_kernel(name, body, comment, gpu=False)
        return name


def _one_of_each(nodes: Sequence[SchedulerNode]) -> list[SchedulerNode]:
    """Return the first loop nest of each set of operators; their name is that of all.

    Naming unites the origins one nest after the other, so its time grows with the
    square of their number.
    """
    found: dict[Any, SchedulerNode] = {}
    for node in nodes:
        assert isinstance(node.node, ir.ComputedBuffer)  # noqa: S101 - as lowered
        operators = frozenset(
            (origin.op, origin.meta.get("original_aten"))
            for origin in node.node.origins
        )
        found.setdefault(operators, node)
    return list(found.values())
