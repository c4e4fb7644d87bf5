"""What recording needs from a Spyre front end, whichever it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch
from attrs import field, frozen
from torch._inductor.custom_graph_pass import CustomGraphModulePass

DEVICE = "spyre"
"""The device type of every front end."""


class PassObserver(Protocol):
    """Called around each pre-scheduling pass of a front end that offers it.

    The smallest one: ``lambda name, graph, after: print(name, after)``.
    """

    def __call__(self, pass_name: str, graph: Any, after: bool) -> None:
        """See a graph (a `GraphLowering`) right before or right after a pass."""


class PassSequence(CustomGraphModulePass):
    """Several passes over one graph as one pass; the Nones among them are left out.

    Its uuid is theirs, in order.
    """

    def __init__(self, *passes: CustomGraphModulePass | None) -> None:
        self.passes = tuple(each for each in passes if each is not None)

    def __call__(self, gm: torch.fx.GraphModule) -> None:
        """Run the passes in order."""
        for each in self.passes:
            each(gm)

    def uuid(self) -> Any:
        """Return the uuids of all passes."""
        return tuple(each.uuid() for each in self.passes)


@frozen(kw_only=True)
class FrontEnd:
    """A Spyre front end: the classes that recording builds on.

    Recording registers *subclasses* of `scheduling` and `wrapper` for the device, and
    makes the generated module use a subclass of the class that `async_compile` names.
    It relies on these methods and on nothing else:

    - ``scheduling(scheduler)``; ``define_kernel(src_code, node_schedule, kernel)``
      returns the kernel's name, and ``kernel.op_specs`` is the final tree of specs;
    - ``wrapper.create(is_subgraph, subgraph_name, parent_wrapper,
      partition_signatures=None)``, ``write_header()``, ``generate(is_inference)``;
    - ``async_compile.sdsc(name, specs, **options)`` returns a runner with ``code_dir``
      (or a future of one), and ``wait(scope)`` ends the module's definitions.

    Attributes:
        name: ``reference``, ``torch-spyre`` or ``torch-spyre-cardless``.
        scheduling: The front end's `SuperDSCScheduling`.
        wrapper: Its `SpyrePythonWrapperCodegen`.
        async_compile: Where its `SpyreAsyncCompile` is, as ``module:class``.
        config: Its Inductor-style config module, which is part of every cache key.
        fx_pass: A pass over the post-grad graph that runs before it is recorded.
        lowering_pass: A pass that runs after it is recorded, next to the lowering.
        pass_observers: The front end's list of observers of its pre-scheduling passes,
            to which one may be appended; None where it has no such list.
        unavailable: Observation points that it has no seam for, by name, with the
            reason and the remedy.
        versions: Pairs of package name and version or commit, for the record.
    """

    name: str
    scheduling: type[Any]
    wrapper: type[Any]
    async_compile: str
    config: Any | None = None
    fx_pass: CustomGraphModulePass | None = None
    lowering_pass: CustomGraphModulePass | None = None
    pass_observers: list[PassObserver] | None = None
    unavailable: Mapping[str, str] = field(factory=dict)
    versions: tuple[tuple[str, str], ...] = ()

    def plain_pass(self) -> PassSequence | None:
        """Return the device's own post-grad pass for a compile without a recording."""
        sequence = PassSequence(self.fx_pass, self.lowering_pass)
        return sequence if sequence.passes else None


Loader = Callable[[], FrontEnd]
"""Makes the device known to torch, once, and returns the front end.

Raises:
    FrontEndError: It cannot be used in this process.
"""
