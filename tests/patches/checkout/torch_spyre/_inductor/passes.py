"""The device's passes. Each says in `ran` that it ran."""

from collections.abc import Callable
from typing import Any

from torch._inductor import custom_graph_pass
from torch._inductor.custom_graph_pass import CustomGraphPass
from torch._inductor.graph import GraphLowering

_NodePass = getattr(custom_graph_pass, "CustomSchedulerPass", CustomGraphPass)

ran: list[str] = []


class _GraphPipeline(CustomGraphPass):
    def __call__(self, graph):
        ran.append(type(self).__name__)

    def uuid(self) -> Any:
        return type(self).__name__


class _NodePipeline(_NodePass):
    def __call__(self, nodes):
        ran.append(type(self).__name__)
        return nodes

    def uuid(self) -> Any:
        return type(self).__name__


class CustomPreGradPasses(_GraphPipeline):
    """Passes over the pre-grad graph."""


class CustomPrePasses(_GraphPipeline):
    """The first passes over the post-grad graph."""


class CustomPostPasses(_GraphPipeline):
    """The last passes over the post-grad graph."""


class CustomPreFusionPasses(_NodePipeline):
    """Passes before fusion."""


class CustomPostFusionPasses(_NodePipeline):
    """Passes after fusion."""


def insert_copies(graph):
    """Stand for a plain pass."""
    ran.append("insert_copies")


def find_groups(graph):
    """Stand for a pass with a result."""
    ran.append("find_groups")
    return ["a group"] if graph.has_groups else []


def check_groups(groups):
    """Stand for what a wrapper runs without the graph."""
    ran.append("check_groups")


def tile(graph, *, groups):
    """Stand for a pass that takes more than the graph."""
    ran.append(f"tile {groups}")


# Wrappers make a pass of several, or of one with arguments.


def _runs(*passes: Callable) -> Callable[[Callable], Callable]:
    """Tag a wrapper with what it runs."""

    def annotate(wrapper):
        vars(wrapper)["_pass_sources"] = passes
        return wrapper

    return annotate


@_runs(find_groups, check_groups, tile)
def _maybe_tile(graph: GraphLowering) -> None:
    groups = find_groups(graph)
    if groups:
        check_groups(groups)
        tile(
            graph,  # as it is now
            groups=groups,
        )


class CustomPreSchedulingPasses:
    """Passes over the whole graph before it is scheduled."""

    def __init__(self):
        self.passes = [insert_copies, _maybe_tile]

    def __call__(self, graph: GraphLowering) -> None:
        """Run them in order."""
        for pass_fn in self.passes:
            pass_fn(graph)
