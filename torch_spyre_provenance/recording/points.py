"""The observation points: where the compile is observed, and for which stage."""

from __future__ import annotations

from enum import StrEnum

from ..model import Stage


class Point(StrEnum):
    """One place at which the recorder is called during a compile.

    The value is the point's name in bundles and reports.
    """

    PRE_GRAD = "pre_grad_graph"
    POST_GRAD = "post_grad_graph"
    REWRITES = "node_hooks"
    LOOP_IR_PRE = "wrapper_create"
    PASSES = "pass_observer"
    LOOP_IR_POST = "scheduling_init"
    KERNEL = "define_kernel"
    SDSC = "async_compile_sdsc"
    FILES = "kernel_files"
    EMBED = "wrapper_generate"
    LOAD = "module_load"
    PUBLISH = "publish"
    RENDER = "render"
    TRACE_LOG = "structured_trace"
    FAILURE = "compile_failure"

    @property
    def stage(self) -> Stage | None:
        """Return the stage that the point records, or None."""
        return _STAGES.get(self)


_STAGES = {
    Point.PRE_GRAD: Stage.FX_PRE_GRAD,
    Point.POST_GRAD: Stage.FX_POST_GRAD,
    Point.REWRITES: Stage.FX_POST_GRAD,
    Point.LOOP_IR_PRE: Stage.LOOP_IR_PRE,
    Point.PASSES: Stage.LOOP_IR_POST,
    Point.LOOP_IR_POST: Stage.LOOP_IR_POST,
    Point.KERNEL: Stage.OP_SPEC,
    Point.SDSC: Stage.SUPER_DSC,
    Point.FILES: Stage.SUPER_DSC,
}

COMPILE_POINTS = (
    Point.PRE_GRAD,
    Point.POST_GRAD,
    Point.REWRITES,
    Point.LOOP_IR_PRE,
    Point.PASSES,
    Point.LOOP_IR_POST,
    Point.KERNEL,
)
"""Points that run while code is generated; a cache hit carries their counts along."""

RUN_POINTS = (Point.SDSC, Point.FILES)
"""Points that run when the generated module is loaded, on a cache hit too."""

OWN_POINTS = (
    Point.EMBED,
    Point.LOAD,
    Point.PUBLISH,
    Point.RENDER,
    Point.TRACE_LOG,
    Point.FAILURE,
)
"""The recorder's own steps. A bundle cannot hold the count of its own writing, so
these are kept with the recording and not with a compile."""
