# SPDX-License-Identifier: Apache-2.0
"""Composes the compiler passes of a device with those that are configured already.

Each of Inductor's pass options, such as ``pre_grad_custom_pass``, has one value. A
device that sets them for the time of its own compiles should not silence a pass that a
user or a tool has put there: it runs that one first, so that it sees the graph as it
would without the device, and the device's own after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch._inductor import config, custom_graph_pass
from torch._inductor.custom_graph_pass import CustomGraphPass

# torch ≥ 2.13 has a base class for passes over scheduler nodes, and one for passes over
# graphs that are told whether it is for inference. Earlier there is this one alone.
_NodePass: Any = getattr(custom_graph_pass, "CustomSchedulerPass", CustomGraphPass)
_GraphPass: Any = getattr(
    custom_graph_pass, "CustomInferenceAwareGraphPass", CustomGraphPass
)

_NODE_OPTIONS = ("_pre_fusion_custom_pass", "_post_fusion_custom_pass")


def compose_passes(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options for ``config.patch``, the passes among them composed.

    An option that has no value yet keeps the object that it is given here, and so do
    options that are no passes: nothing changes where nobody configured a pass.

    Args:
        options: Values by the name of the option.
    """
    return {
        name: _composed(name, value) if _is_pass(value) else value
        for name, value in options.items()
    }


class _Composed:
    """Passes that run in order.

    Attributes:
        passes: The passes.
    """

    def __init__(self, passes: tuple[Any, ...]) -> None:
        self.passes = passes


class ComposedGraphPass(_Composed, _GraphPass):  # type: ignore[misc]
    """Several passes over an FX graph as one.

    Its uuid is theirs, in order, or None, which keeps the compile out of the caches, if
    one of them has none.
    """

    def __call__(self, graph: Any, **facts: Any) -> None:
        """Run the passes in order; `facts` only reach those that ask for them."""
        for each in self.passes:
            each(graph, **(facts if isinstance(each, _GraphPass) else {}))

    def uuid(self) -> Any | None:
        """Return the uuids of all passes, or None."""
        return _uuids(self.passes)


class UncachedNodePass(_Composed):
    """Several passes over the scheduler's nodes as one, some without a uuid.

    It is a plain callable on purpose. Inductor leaves compiles with such a pass out of
    its caches; a pass object whose uuid is None it would take for one without a key.
    """

    def __call__(self, nodes: list[Any]) -> list[Any]:
        """Run the passes in order, each over what the one before it returned."""
        for each in self.passes:
            nodes = each(nodes)
        return nodes


class ComposedNodePass(UncachedNodePass, _NodePass):  # type: ignore[misc]
    """Several passes over the scheduler's nodes as one; its uuid is theirs in order."""

    def uuid(self) -> Any | None:
        """Return the uuids of all passes."""
        return _uuids(self.passes)


def _composed(option: str, own: Any) -> Any:
    configured = getattr(config, option)
    earlier = _parts(configured)
    if not earlier:
        return own
    # A compile within a compile, or one that enters the device's context twice, finds
    # the device's passes in place.
    if any(type(each) is type(own) for each in earlier):
        return configured
    passes = (*earlier, own)
    if option not in _NODE_OPTIONS:
        return ComposedGraphPass(passes)
    return (ComposedNodePass if _uuids(passes) else UncachedNodePass)(passes)


def _parts(configured: Any) -> tuple[Any, ...]:
    """Return the passes of an option's value, whichever form it has."""
    if configured is None:
        return ()
    if isinstance(configured, _Composed):
        return configured.passes
    if isinstance(configured, list | tuple):  # torch ≥ 2.13
        return tuple(part for each in configured for part in _parts(each))
    return (configured,)


def _is_pass(value: Any) -> bool:
    return isinstance(value, CustomGraphPass | _NodePass)


def _uuids(passes: tuple[Any, ...]) -> tuple[Any, ...] | None:
    uuids = tuple(each.uuid() if _is_pass(each) else None for each in passes)
    return uuids if all(uuids) else None
