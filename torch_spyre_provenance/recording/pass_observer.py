"""What stands in a front end's list of pass observers."""

from __future__ import annotations

from typing import Any

from .current import current_session
from .pass_record import PassRecorder
from .points import Point


def observe_pass(pass_name: str, graph: Any, after: bool) -> None:
    """See a graph right before or right after a pre-scheduling pass.

    Args:
        pass_name: The pass's own name.
        graph: The `GraphLowering`.
        after: Whether the pass has run.
    """
    session = current_session()
    builder = None if session is None else session.lowering()
    if builder is None:
        return
    with builder.guard.watch(Point.PASSES):
        if builder.passes is None:
            builder.passes = PassRecorder()
        if after:
            builder.passes.end(pass_name, graph.operations)
        else:
            builder.passes.begin(graph.operations)
