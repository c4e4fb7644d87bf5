"""What a recording adds to PyTorch's trace log (``TORCH_TRACE``).

The log is for tlparse. Where Inductor does not track provenance itself, its artifacts
are written from the bundle, so that tlparse's provenance page maps device kernels too.
Without a trace log nothing is computed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

from attrs import field, frozen
from torch._guards import CompileContext, compile_context
from torch._logging import trace_structured

from ..analysis.attribution import Attribution, Attributor
from ..analysis.node_mappings import map_nodes
from ..model import spec_path_text
from ..model.mappings import NodeMappings
from ..store.record import BundleText
from . import compat
from .guard import Guard
from .points import Point

NODE_MAPPINGS = "inductor_provenance_tracking_node_mappings"
STACK_TRACES = "inductor_provenance_tracking_kernel_stack_traces"
OPS = "spyre_source_to_kernel"
"""Our own artifact: the lines, module and evidence of every device op."""


@frozen(kw_only=True)
class _Waiting:
    """A bundle that is to be logged when its compile ends."""

    text: BundleText
    compile: CompileContext | None


@frozen
class TraceLog:
    """Writes the artifacts of bundles into the trace log, if there is one.

    On a cache hit Inductor writes its own artifacts after the module was loaded, empty
    ones where the entry was made without its tracking, and of two tlparse shows the
    last. So the bundle of a hit waits for the end of the compile.
    """

    _local: threading.local = field(factory=threading.local, init=False)

    def add(self, text: BundleText, guard: Guard, *, is_hit: bool) -> None:
        """Log the bundle of the compile that this thread is in, now or at its end."""
        if is_hit:
            compile_ = CompileContext.try_get()
            self._waiting().append(_Waiting(text=text, compile=compile_))
        else:
            _log(text, guard)

    def compile_ended(self, guard: Guard) -> None:
        """Log the bundles of this thread that wait, each for its own compile."""
        waiting = self._waiting()
        while waiting:
            each = waiting.pop(0)
            with compile_context(each.compile):
                _log(each.text, guard)

    def _waiting(self) -> list[_Waiting]:
        found: list[_Waiting] = self._local.__dict__.setdefault("waiting", [])
        return found


def _log(text: BundleText, guard: Guard) -> None:
    with guard.watch(Point.TRACE_LOG) as watch:
        artifacts = _Artifacts(text)
        if not compat.inductor_tracks_provenance():
            artifacts.write(NODE_MAPPINGS, lambda it: it.mappings.node_json())
            artifacts.write(STACK_TRACES, lambda it: it.mappings.stack_json())
        artifacts.write(OPS, lambda it: it.ops())
        if not artifacts.written:
            watch.found_nothing()


@frozen(slots=False)
class _Artifacts:
    """The artifacts of one bundle, made when the log asks for them.

    Attributes:
        text: The bundle.
        written: Names of those that the log asked for.
    """

    text: BundleText
    written: list[str] = field(factory=list, init=False)

    @cached_property
    def facts(self) -> Attributor:
        """Return the attribution."""
        return Attributor(self.text.bundle)

    @cached_property
    def mappings(self) -> NodeMappings:
        """Return what Inductor's artifacts hold."""
        return map_nodes(self.facts)

    def ops(self) -> dict[str, list[dict[str, Any]]]:
        """Return what is known of each op, by kernel."""
        kernels = self.text.bundle.kernels or ()
        found: dict[str, list[dict[str, Any]]] = {each.name: [] for each in kernels}
        for op in self.facts.attributions:
            found[op.kernel].append(_op(op))
        return found

    def write(self, name: str, content: Callable[[_Artifacts], Any]) -> None:
        """Write one artifact as JSON."""

        def payload() -> str:
            self.written.append(name)
            return json.dumps(content(self))

        trace_structured(
            "artifact",
            metadata_fn=lambda: {"name": name, "encoding": "json"},
            payload_fn=payload,
        )


def _op(op: Attribution) -> dict[str, Any]:
    return {
        "op": op.op,
        "path": spec_path_text(op.path),
        "lines": [place.where for place in op.locations],
        "module": op.module_path,
        "evidence": op.evidence.value,
        "rule": op.rule.value,
        "reason": op.reason,
    }
