"""torch-spyre's own ``spyre_provenance.json``, schema version 1, read as a bundle.

That file holds the handles of all ops of all compiles of a run, which kernel has which
handle at which place, and Inductor's map between pre-grad and post-grad nodes. What it
does not hold (LoopLevelIR, modules, files, the device's names of the ops) is not
recorded in the bundle either. A name that means two things in two compiles gets the
beginning of the compile's id behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from attrs import define, evolve, field, frozen

from ..errors import BundleFormatError, BundleVersionError
from ..model import (
    FX_FIELDS,
    Bundle,
    CacheState,
    CompileInfo,
    CompileKind,
    DebugHandle,
    Field,
    Frame,
    FromNode,
    FxGraph,
    FxNode,
    Kernel,
    Observation,
    Op,
    Presence,
    RunFacts,
    SourceLoc,
    Stack,
    Stage,
)
from .bundle_dir import SIDECAR_FILE, is_sidecar
from .exact import exact_int, exact_list, exact_object, exact_str, handle_number
from .handles import parse_handle
from .limits import MAX_BYTES

FRONT_END = "torch-spyre"

_VERSION = 1
_JOINED = "ok"
_REPLAYED = "unavailable-cache-replay"
_ABSENT = (
    f"{SIDECAR_FILE} does not hold it: record the compile with this package to see it"
)


@frozen(kw_only=True)
class Sidecar:
    """What a sidecar says.

    Attributes:
        bundle: Its content as a bundle.
        keys: torch-spyre's key of each kernel's content, by the kernel's name in the
            bundle; profiler events carry the key.
    """

    bundle: Bundle
    keys: Mapping[str, str]


def read_sidecar(path: Path) -> Sidecar | None:
    """Read a file, or the one in a directory; None where it is no sidecar.

    Raises:
        BundleFormatError: It is one and cannot be read.
    """
    file = path / SIDECAR_FILE if path.is_dir() else path
    try:
        if not file.is_file() or file.stat().st_size > MAX_BYTES:
            return None
        data = file.read_bytes()
    except OSError as error:
        raise BundleFormatError(f"cannot read {file}: {error.strerror}") from error
    return parse_sidecar(data, str(file)) if is_sidecar(data) else None


def parse_sidecar(data: bytes, source: str = SIDECAR_FILE) -> Sidecar:
    """Read a sidecar.

    Args:
        data: The file's content.
        source: What to call it in messages.

    Raises:
        BundleVersionError: Its schema version is none that this release knows.
        BundleFormatError: It is no sidecar, or not a whole one.
    """
    try:
        plain = exact_object(orjson.loads(data))
        version = plain["schemaVersion"]
        if version != _VERSION:
            raise BundleVersionError(
                f"{source} has schema version {version}; this release reads version "
                f"{_VERSION} of torch-spyre's file"
            )
        return _Reader(plain).read()
    except (TypeError, ValueError, KeyError, RecursionError) as error:
        reason = f"missing key {error}" if isinstance(error, KeyError) else str(error)
        raise BundleFormatError(
            f"{source} is not a whole {SIDECAR_FILE}: {reason}", (f"{reason} @ $",)
        ) from error


@define
class _Reader:
    """One sidecar while it is read."""

    plain: Mapping[str, Any]
    stacks: dict[Stack, int] = field(factory=dict, init=False)
    handles: dict[str, DebugHandle] = field(factory=dict, init=False)
    kernels: list[Kernel] = field(factory=list, init=False)
    keys: dict[str, str] = field(factory=dict, init=False)
    nodes: dict[str, DebugHandle] = field(factory=dict, init=False)
    joins: dict[str, str] = field(factory=dict, init=False)
    calls: dict[str, list[str]] = field(factory=dict, init=False)

    def read(self) -> Sidecar:
        """Return what the sidecar says."""
        self._read_handles()
        self._read_kernels()
        self._read_projections()
        post = tuple(self._post_node(name) for name in self.nodes)
        pre = dict.fromkeys(call for calls in self.calls.values() for call in calls)
        bundle = Bundle(
            compile=CompileInfo(
                graph=SIDECAR_FILE,
                kind=CompileKind.INFERENCE,
                front_end=FRONT_END,
                devices=("spyre",),
            ),
            fx_pre_grad=FxGraph(nodes=tuple(map(_pre_node, pre))) if pre else None,
            fx_post_grad=FxGraph(nodes=post),
            stacks=tuple(self.stacks),
            kernels=tuple(self.kernels),
            op_spec_fields=("debug_handle",),
            observations=tuple(self._observations()),
            run=self._run(),
        )
        return Sidecar(bundle=bundle, keys=self.keys)

    def _read_handles(self) -> None:
        plain = {
            exact_str(key): exact_object(value)
            for key, value in exact_object(self.plain["handles"]).items()
        }
        flat = {
            key: parse_handle({**each, "fused_from": []}) for key, each in plain.items()
        }
        for key, each in plain.items():
            parts = (
                flat[str(handle_number(n))] for n in exact_list(each["fused_from"])
            )
            self.handles[key] = evolve(flat[key], fused_from=tuple(parts))

    def _read_kernels(self) -> None:
        identities = exact_object(self.plain["kernelIdentities"])
        occurrences = exact_object(self.plain["kernelOccurrences"]).values()
        for each in map(exact_object, occurrences):
            key = exact_str(each["identityKey"])
            compile_id = exact_str(each["compileId"])
            name = exact_str(each["compilerKernelName"])
            if name in self.keys:
                name = _suffixed(name, compile_id)
            self.keys[name] = key
            bindings = exact_list(exact_object(identities[key])["specHandleBindings"])
            self.kernels.append(self._kernel(name, bindings, compile_id))

    def _kernel(self, name: str, bindings: list[Any], compile_id: str) -> Kernel:
        ops = []
        for binding in map(exact_object, bindings):
            path = tuple(exact_int(n) for n in exact_list(binding["specPath"]))
            handle = self.handles[exact_str(binding["handleId"])]
            ops.append(_op(path, self._named(handle, compile_id)))
        origins = {n for op in ops if op.handle for n in op.handle.ir_chain[:-1]}
        return Kernel(
            name=name,
            ops=tuple(sorted(ops, key=lambda op: op.path)),
            ir_ops=(),
            origins=tuple(sorted(origins)),
        )

    def _named(self, handle: DebugHandle, compile_id: str) -> DebugHandle:
        """Return a handle whose nodes have names of their own, and keep those nodes."""
        parts = handle.fused_from or (evolve(handle, ir_chain=handle.ir_chain[:1]),)
        by_name = {part.ir_chain[0]: part for part in parts if part.ir_chain}
        names: dict[str, str] = {}
        for name in handle.ir_chain[:-1]:
            part = by_name.get(name) or evolve(handle, source=None, ir_chain=(name,))
            own = name
            if self.nodes.setdefault(name, part).source != part.source:
                own = _suffixed(name, compile_id)
                self.nodes.setdefault(own, part)
            names[name] = own
        chain = tuple(names.get(name, name) for name in handle.ir_chain[:-1])
        return evolve(handle, ir_chain=(*chain, *handle.ir_chain[-1:]))

    def _read_projections(self) -> None:
        for compile_id, value in exact_object(
            self.plain["upstreamProjections"]
        ).items():
            projection = exact_object(value)
            self.joins[exact_str(compile_id)] = exact_str(projection["upstreamJoin"])
            for name, calls in exact_object(projection["postToPre"]).items():
                own = _suffixed(name, compile_id)
                known = own if own in self.nodes else name
                self.calls.setdefault(known, []).extend(
                    map(exact_str, exact_list(calls))
                )

    def _post_node(self, name: str) -> FxNode:
        handle = self.nodes[name]
        calls = tuple(dict.fromkeys(self.calls.get(name, ())))
        stack = self._stack(handle.source)
        populated = {"stack_trace": stack is not None, "from_node": bool(calls)}
        populated["original_aten"] = handle.aten_op is not None
        return FxNode(
            name=name,
            op="call_function",
            target=handle.aten_op or "",
            inputs=(),
            fields=_findings(populated),
            meta_keys=(),
            stack=stack,
            original_aten=handle.aten_op,
            from_nodes=tuple(_step(call, depth) for depth, call in enumerate(calls)),
        )

    def _stack(self, source: SourceLoc | None) -> int | None:
        if source is None:
            return None
        stack = (Frame(file=source.file, line=source.start_line),)
        return self.stacks.setdefault(stack, len(self.stacks))

    def _observations(self) -> Iterator[Observation]:
        counters = exact_object(self.plain["diagnostics"])
        failed = {name: exact_int(n) for name, n in counters.items()}
        for stage in Stage:
            n = failed.get(_COUNTERS.get(stage, ""), 0)
            is_held = stage in _COUNTERS
            yield Observation(
                point=f"{SIDECAR_FILE}: {stage.value}",
                stage=stage,
                fired=len(self.joins if stage in _FX else self.kernels)
                if is_held
                else 0,
                failed=n,
                error=f"{_COUNTERS[stage]} in torch-spyre" if n else None,
                unavailable=self._why_not(stage),
            )

    def _why_not(self, stage: Stage) -> str | None:
        if stage not in _COUNTERS:
            return _ABSENT
        joins = sorted({join for join in self.joins.values() if join != _JOINED})
        if stage is Stage.FX_PRE_GRAD and joins and not self.calls:
            return f"torch-spyre joined no pre-grad node: {', '.join(joins)}"
        return None

    def _run(self) -> RunFacts:
        replayed = _REPLAYED in self.joins.values()
        return RunFacts(
            name=SIDECAR_FILE,
            compile_id=None,
            cache=CacheState.HIT if replayed else CacheState.MISS,
            time="",
            host="",
            pid=0,
            versions=tuple(sorted(set(self._versions()))),
        )

    def _versions(self) -> Iterator[tuple[str, str]]:
        for value in exact_object(self.plain["upstreamProjections"]).values():
            producer = exact_object(exact_object(value)["producer"])
            yield "torch", exact_str(producer["torchVersion"])
            yield "torch_spyre", exact_str(producer["torchSpyreVersion"])


_FX = frozenset({Stage.FX_PRE_GRAD, Stage.FX_POST_GRAD})
_COUNTERS = {
    Stage.FX_PRE_GRAD: "upstream-projection-failure",
    Stage.FX_POST_GRAD: "upstream-projection-failure",
    Stage.OP_SPEC: "collection-failure",
}
"""The stages that the file speaks of, each with the counter of its failures."""


def _op(path: tuple[int, ...], handle: DebugHandle) -> Op:
    return Op(
        path=path,
        op=handle.aten_op or "fused",
        is_reduction=False,
        iteration_space=(),
        args=(),
        handle=handle,
        fields=(Field(name="debug_handle", presence=Presence.POPULATED),),
    )


def _pre_node(name: str) -> FxNode:
    return FxNode(
        name=name,
        op="call_function",
        target="",
        inputs=(),
        fields=_findings({}),
        meta_keys=(),
    )


def _step(name: str, depth: int) -> FromNode:
    return FromNode(name=name, target="", pass_name="", action="", depth=depth)


def _findings(populated: Mapping[str, bool]) -> tuple[Field, ...]:
    """Return a finding for each tracked field; nobody looked for the others."""
    found = ((name, _presence(populated.get(name))) for name in FX_FIELDS)
    return tuple(Field(name=name, presence=presence) for name, presence in found)


def _presence(is_there: bool | None) -> Presence:  # noqa: FBT001  the finding itself
    if is_there is None:
        return Presence.FAILED
    return Presence.POPULATED if is_there else Presence.EMPTY


def _suffixed(name: str, compile_id: str) -> str:
    return f"{name}@{compile_id[:8]}"
