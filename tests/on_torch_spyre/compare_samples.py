"""Compare a bundle with what the seed's audit tool captured of the same compile.

    python tests/on_torch_spyre/compare_samples.py CAPTURE BUNDLE [--moved FROM=TO]

CAPTURE is a ``capture_raw.json``, BUNDLE a bundle or its directory. Every field of the
capture that a bundle holds too is compared; each difference is printed, with the reason
where it is a known one. The exit code is 3 if one is not.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from torch_spyre_provenance.model import (
    Bundle,
    DebugHandle,
    FxGraph,
    FxNode,
    IrGraph,
    IrOp,
    Op,
    Presence,
    Stack,
    parse_stack_trace,
)
from torch_spyre_provenance.store import read_bundle
from torch_spyre_provenance.store.handles import handle_json

Json = Any
LONGEST_REPR = 200
"""The seed cuts texts off there."""

CARETS = "the seed takes the row of carets below a source line for the line itself"
HASHED_PATH = "the id hashes the path of the model's file, which is another one here"
CUT = "the seed cuts the text off"
NUMBERED = (
    "Inductor's pattern matcher numbers nodes as it goes over a graph: bundles hold "
    "the pre-grad graph before that, and the post-grad graph after the last time"
)


@frozen(kw_only=True)
class Difference:
    """A field with another value in the bundle than in the capture.

    Attributes:
        where: Stage, object and field.
        theirs: The capture's value.
        ours: The bundle's.
        reason: Why that is to be expected, or None.
    """

    where: str
    theirs: object
    ours: object
    reason: str | None = None

    def __str__(self) -> str:
        """Return one line."""
        reason = f"  ({self.reason})" if self.reason else "  UNEXPLAINED"
        return f"{self.where}: {self.theirs!r} / {self.ours!r}{reason}"


@define
class Comparison:
    """The comparison of one capture with one bundle.

    Attributes:
        bundle: The bundle.
        moved: The model's path in the bundle, by its path in the capture.
        n_compared: Number of fields that were compared.
        differences: Those that differ.
    """

    bundle: Bundle
    moved: Mapping[str, str] = field(factory=dict)
    n_compared: int = 0
    differences: list[Difference] = field(factory=list)

    def check(
        self, where: str, theirs: object, ours: object, reason: str | None = None
    ) -> None:
        """Compare two values of one field."""
        self.n_compared += 1
        if theirs != ours:
            self.differences.append(
                Difference(where=where, theirs=theirs, ours=ours, reason=reason)
            )

    def run(self, capture: Json) -> None:
        """Compare every stage."""
        bundle = self.bundle
        self.fx("pre-grad", capture["stage2_pre_grad"], bundle.fx_pre_grad)
        self.fx("post-grad", capture["stage2_post_grad"], bundle.fx_post_grad)
        before, after = "stage3_looplevel_prepass", "stage4_looplevel_postpass"
        self.ir("pre-pass", capture[before], bundle.loop_ir_pre)
        self.ir("post-pass", capture[after], bundle.loop_ir_post)
        self.op_specs(capture["stage5_opspec"])
        self.kernels(capture["stage6_kernels"])

    def fx(self, stage: str, theirs: Json, graph: FxGraph | None) -> None:
        """Compare an FX graph."""
        nodes = graph.nodes if graph else ()
        self.check(f"{stage}: fired", theirs["fired"], graph is not None)
        names = [node["name"] for node in theirs["nodes"]]
        self.check(f"{stage}: nodes", names, [node.name for node in nodes])
        known = {node.name: node for node in nodes}
        for record in theirs["nodes"]:
            if record["name"] in known:
                self.node(f"{stage} {record['name']}", record, known[record["name"]])

    def node(self, where: str, theirs: Json, node: FxNode) -> None:
        """Compare an FX node."""
        self.check(f"{where}: op", theirs["op"], node.op)
        target = _last_name(theirs["target"])
        self.check(f"{where}: target", target, _last_name(node.target))
        self.check(f"{where}: inputs", theirs["input_nodes"], list(node.inputs))
        keys, ours = theirs["all_meta_keys"], list(node.meta_keys)
        reason = NUMBERED if {*keys} ^ {*ours} == {"mutation_region_id"} else None
        self.check(f"{where}: meta keys", keys, ours, reason)
        for found in node.fields:
            value = theirs["fields"][found.name]
            self.check(
                f"{where}: {found.name}",
                value and (value["type"], value["nonempty"]),
                _population(found),
            )
        self.values(where, theirs["fields"], node)

    def values(self, where: str, theirs: Json, node: FxNode) -> None:
        """Compare what the tracked fields of an FX node hold."""
        if theirs["stack_trace"] is not None and node.stack is not None:
            stack = self.bundle.stacks[node.stack]
            text = theirs["stack_trace"]["repr"]
            self.check(
                f"{where}: frames", self.frames(text), _frames(stack), _cut(text)
            )
            quoted = theirs["stack_trace"]["source_line"]
            reason = CARETS if not quoted.strip("~^ ") else None
            self.check(f"{where}: source line", quoted, stack[-1].text, reason)
        if theirs["original_aten"] is not None:
            text = theirs["original_aten"]["repr"]
            self.check(f"{where}: ATen", text, node.original_aten)
        for name, pattern, ours in (
            ("nn_module_stack", r"<class '([^']+)'>", [m.type for m in node.modules]),
            ("source_fn_stack", r"\('([^']+)', ", [s.name for s in node.source_fns]),
            (
                "from_node",
                r"\(name=([^,]+), pass_name=([^,]+), action=([^,]+)",
                [(s.name, s.pass_name, s.action) for s in node.from_nodes],
            ),
        ):
            if theirs[name] is not None:
                text = theirs[name]["repr"]
                found = re.findall(pattern, text)
                self.check(f"{where}: {name} holds", found, ours, _cut(text))

    def frames(self, text: str) -> list[str]:
        """Return the frames of a captured trace, its paths as they are here."""
        return _frames(parse_stack_trace(self.here(text)))

    def here(self, text: str) -> str:
        """Return a captured text with its paths as they are here."""
        for path, now in self.moved.items():
            text = text.replace(path, now)
        return text

    def ir(self, stage: str, theirs: Json, graph: IrGraph | None) -> None:
        """Compare LoopLevelIR."""
        ops = graph.ops if graph else ()
        self.check(f"{stage}: fired", theirs["fired"], graph is not None)
        names = [record["name"] for record in theirs["operations"]]
        self.check(f"{stage}: operations", names, [op.name for op in ops])
        known = {op.name: op for op in ops}
        for record in theirs["operations"]:
            if record["name"] in known:
                where, op = f"{stage} {record['name']}", known[record["name"]]
                self.operation(where, record, op)
                attributes = list(op.attributes)
                self.check(f"{where}: attributes", record["all_attrs"], attributes)

    def operation(self, where: str, theirs: Json, op: IrOp) -> None:
        """Compare an IR operation, its attributes aside."""
        self.check(f"{where}: type", theirs["type"], op.type)
        origins = sorted(node["name"] for node in theirs["fields"]["origins"] or ())
        self.check(f"{where}: origins", origins, list(op.origins))
        origin_node = theirs["fields"]["origin_node"]
        self.check(f"{where}: origin_node", origin_node, op.origin_node)
        for found in op.fields:
            value = theirs["fields"][found.name]
            full = value["nonempty"] if isinstance(value, dict) else bool(value)
            is_full = found.presence is Presence.POPULATED
            self.check(f"{where}: {found.name} is populated", full, is_full)
            exists = theirs["attr_exists"][found.name]
            is_there = found.presence is not Presence.ABSENT
            self.check(f"{where}: {found.name} exists", exists, is_there)

    def op_specs(self, theirs: Json) -> None:
        """Compare the OpSpecs, in execution order."""
        ours = [op for _, op in self.bundle.ops]
        fields = list(self.bundle.op_spec_fields)
        self.check("OpSpec: declared fields", theirs["opspec_fields"], fields)
        names = [record["op"] for record in theirs["ops"]]
        self.check("OpSpec: ops", names, [op.op for op in ours])
        graph = self.bundle.loop_ir_post
        computes = {op.buffer: op for op in graph.ops} if graph else {}
        for record, op in zip(theirs["ops"], ours, strict=False):
            where = f"OpSpec {op.spec_path}"
            self.op_spec(where, record, op)
            if op.buffer in computes:
                name = computes[op.buffer].name
                self.check(f"{where}: IR operation", record["name"], name)
                self.operation(where, record, computes[op.buffer])

    def op_spec(self, where: str, theirs: Json, op: Op) -> None:
        """Compare an OpSpec."""
        self.check(f"{where}: op", theirs["op"], op.op)
        self.check(f"{where}: is_reduction", theirs["is_reduction"], op.is_reduction)
        populated = {f.name for f in op.fields if f.presence is Presence.POPULATED}
        for name, is_there in theirs["opspec_present"].items():
            self.check(f"{where}: {name} is populated", is_there, name in populated)
        handle = theirs["debug_handle"]
        self.check(f"{where}: has a handle", handle is not None, op.handle is not None)
        if handle is not None and op.handle is not None:
            self.handle(f"{where}: debug_handle", handle, op.handle)

    def handle(self, where: str, theirs: Json, handle: DebugHandle) -> None:
        """Compare a handle, then those that it was fused from."""
        ours = handle_json(handle)
        for name in sorted({*theirs, *ours} - {"fused_from", "source_line", "source"}):
            is_hashed = name == "id" and theirs["source"] is not None
            reason = HASHED_PATH if is_hashed and self.moved else None
            self.check(f"{where}.{name}", theirs.get(name), ours.get(name), reason)
        source = json.loads(self.here(json.dumps(theirs["source"])))
        self.check(f"{where}.source", source, ours["source"])
        fused = theirs["fused_from"]
        n_fused = len(handle.fused_from)
        self.check(f"{where}.fused_from: number", len(fused), n_fused)
        for index, parts in enumerate(zip(fused, handle.fused_from, strict=False)):
            self.handle(f"{where}.fused_from[{index}]", *parts)

    def kernels(self, theirs: Json) -> None:
        """Compare the kernels and their directories."""
        ours = self.bundle.kernels or ()
        names = [record["kernel_name"] for record in theirs["kernels"]]
        self.check("kernels: names", names, [kernel.name for kernel in ours])
        for record, kernel in zip(theirs["kernels"], ours, strict=False):
            where, metadata = f"kernel {kernel.name}", record["kernel_metadata"]
            operations = [node["name"] for node in record["node_origins"]]
            self.check(f"{where}: operations", operations, list(kernel.ir_ops))
            origins = {
                origin["name"]
                for node in record["node_origins"]
                for origin in node["fields"]["origins"] or ()
            }
            self.check(f"{where}: origins", sorted(origins), list(kernel.origins))
            comment = metadata["metadata"].strip()
            self.check(f"{where}: metadata", comment, kernel.metadata)
        have = [files.kernel for files in self.bundle.run.files]
        self.check("kernels: with a directory", list(theirs["output_dirs"]), have)


def compare(
    capture: Json, bundle: Bundle, moved: Mapping[str, str] | None = None
) -> Comparison:
    """Compare a capture with a bundle.

    Args:
        capture: The contents of a ``capture_raw.json``.
        bundle: What was recorded of the same model.
        moved: The model's path in the bundle, by its path in the capture.
    """
    comparison = Comparison(bundle=bundle, moved=moved or {})
    comparison.run(capture)
    return comparison


def _last_name(target: str) -> str:
    """Return a target's own name: ``linear`` of a built-in function, as of a path."""
    match = re.match(
        r"<(?:built-in (?:function|method)|function|class) '?([\w.]+)", target
    )
    text = match[1] if match else target
    is_overload = text.count(".") > 1 and not text.startswith(("torch.", "_operator."))
    return text if is_overload else text.rsplit(".", 1)[-1]


def _population(found: Any) -> object:
    if found.presence is Presence.ABSENT or found.type is None:
        return None
    return found.type, found.presence is Presence.POPULATED


def _frames(stack: Stack) -> list[str]:
    return [f"{frame.where} in {frame.function}" for frame in stack]


def _cut(text: str) -> str | None:
    return CUT if len(text) >= LONGEST_REPR else None


def _unexplained(differences: Sequence[Difference]) -> Iterator[Difference]:
    return (each for each in differences if each.reason is None)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("capture", type=Path, help="a capture_raw.json")
    parser.add_argument("bundle", type=Path, help="a bundle, or its directory")
    parser.add_argument(
        "--moved",
        action="append",
        default=[],
        metavar="FROM=TO",
        help="the model's path in the capture, and the one it has here",
    )
    options = parser.parse_args(argv)
    moved = dict(pair.split("=", 1) for pair in options.moved)
    capture = json.loads(options.capture.read_text(encoding="utf-8"))
    comparison = compare(capture, read_bundle(options.bundle), moved)
    unexplained = list(_unexplained(comparison.differences))
    lines = [str(each) for each in comparison.differences]
    lines.append(
        f"{comparison.n_compared} fields compared, {len(comparison.differences)} "
        f"differ, {len(unexplained)} without a known reason"
    )
    sys.stdout.write("\n".join(lines) + "\n")
    return 3 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
