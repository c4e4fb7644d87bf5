"""The data behind the page: every entity, column by column, and the edges between them.

Ten thousand ops have some seventy thousand entities, so the data is made of parallel
arrays: an entity is its number, counted through all columns; texts that repeat are
numbers of a table; the two ends of the edges are differences from the edge before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from attrs import define, field

from ..analysis.attribution import Attribution, Attributor, Location
from ..analysis.lineage import Edge, Level, Lineage, Ref, build_lineage
from ..analysis.origins import Rule
from ..analysis.sdsc import LinkState, SdscLink, link_files
from ..model import Evidence, Frame, FxNode, IrOp, Op, Stage, spec_path_text
from .encoding import Handles, Strings, differences, shown, space_text, tensor_text
from .escape import ShortPaths

_MEASURED, _INFERRED, _MISSING = "m", "i", "x"
_LETTERS = {
    Evidence.MEASURED: _MEASURED,
    Evidence.INFERRED: _INFERRED,
    Evidence.MISSING: _MISSING,
}
_COLUMNS = (
    *(level for level in Level if level is not Level.KERNEL),
    Stage.SUPER_DSC,
)


def column_data(
    facts: Attributor, documents: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return what the page's script reads, as plain values for JSON.

    Args:
        facts: The bundle and its attribution.
        documents: The text of SDSC files by their digest, as far as they are at hand.
    """
    return _Columns(facts, documents or {}).data()


@define(slots=False)
class _Columns:
    """The data of one bundle while it is put together."""

    facts: Attributor
    documents: Mapping[str, str]
    strings: Strings = field(factory=Strings)
    handles: Handles = field(init=False)
    frames: dict[tuple[int, int, int, int], int] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.handles = Handles(self.strings)

    @cached_property
    def lineage(self) -> Lineage:
        """Return the graph."""
        return build_lineage(self.facts)

    @cached_property
    def paths(self) -> ShortPaths:
        """Return the short names of the source files."""
        return ShortPaths(self.facts.bundle)

    @cached_property
    def links(self) -> tuple[SdscLink, ...]:
        """Return the file of each op."""
        return link_files(self.facts.bundle)

    @cached_property
    def files(self) -> dict[tuple[str, str], LinkState]:
        """Return every kernel's files, each with whose handle it carries."""
        runs = self.facts.bundle.run.files
        found = {
            (each.kernel, file.name): LinkState.UNKNOWN
            for each in runs
            for file in each.sdsc
        }
        for link in self.links:
            if link.file is not None:
                found[link.kernel, link.file.name] = link.state
        return found

    @cached_property
    def keys(self) -> dict[str, list[str]]:
        """Return the keys of the entities of each column, in order."""
        keys: dict[str, list[str]] = {str(column): [] for column in _COLUMNS}
        for entity in self.lineage.entities:
            if entity.ref.level is not Level.KERNEL:
                keys[entity.ref.level].append(entity.ref.key)
        keys[Stage.SUPER_DSC] = [f"{kernel}/{name}" for kernel, name in self.files]
        return keys

    @cached_property
    def numbers(self) -> dict[tuple[str, str], int]:
        """Return the number of every entity, by column and key."""
        pairs = ((column, key) for column, keys in self.keys.items() for key in keys)
        return {pair: number for number, pair in enumerate(pairs)}

    def data(self) -> dict[str, Any]:
        """Return all of it."""
        missing = {
            self._number(entity.ref): self.strings.number(entity.missing)
            for entity in self.lineage.entities
            if entity.missing and entity.ref.level is not Level.KERNEL
        }
        edges = list(self._edges())
        parts = {
            "columns": {column: self._column(column) for column in self.keys},
            "edges": {
                "start": differences(start for start, _, _, _ in edges),
                "end": differences(end for _, end, _, _ in edges),
                "evidence": "".join(letter for _, _, letter, _ in edges),
                "rule": [rule for _, _, _, rule in edges],
            },
            "evidence": self._evidence(edges, missing.keys()),
            "missing": missing,
            "sources": list(self._sources()),
            "stacks": [
                [self._frame(frame) for frame in stack]
                for stack in self.facts.bundle.stacks
            ],
            "kernels": self._kernels(),
            "rules": {rule.value: rule.meaning for rule in Rule},
        }
        return {
            **parts,
            "frames": [list(frame) for frame in self.frames],
            "handles": self.handles.rows,
            "strings": self.strings.texts,
            "documents": list(self.documents.values()),
        }

    def _number(self, ref: Ref) -> int:
        return self.numbers[ref.level, ref.key]

    def _edges(self) -> Iterator[tuple[int, int, str, int]]:
        for edge in self.lineage.edges:
            if edge.end.level is not Level.KERNEL:
                yield self._edge(edge)
        rule = self.strings.number("executes")
        for link in self.links:
            if link.file is not None:
                path = spec_path_text(link.path)
                start = self.numbers[Level.OP_SPEC, f"{link.kernel}/{path}"]
                end = self.numbers[Stage.SUPER_DSC, f"{link.kernel}/{link.file.name}"]
                yield start, end, _MEASURED, rule

    def _edge(self, edge: Edge) -> tuple[int, int, str, int]:
        letter = _LETTERS[edge.evidence]
        rule = self.strings.number(edge.rule)
        return self._number(edge.start), self._number(edge.end), letter, rule

    def _evidence(
        self, edges: Iterable[tuple[int, int, str, int]], missing: Iterable[int]
    ) -> str:
        """Return a letter for each entity: how the step that leads to it is known."""
        letters = [_MEASURED] * len(self.numbers)
        for _, end, letter, _ in edges:
            if letter == _INFERRED:
                letters[end] = letter
        for number in missing:
            letters[number] = _MISSING
        first = len(self.numbers) - len(self.files) - len(self.facts.attributions)
        for number, found in enumerate(self.facts.attributions, first):
            letters[number] = _LETTERS[found.evidence]
        return "".join(letters)

    def _column(self, column: str) -> dict[str, Any]:
        index, keys = self.facts.index, self.keys[column]
        parts: dict[str, Callable[[], dict[str, Any]]] = {
            Level.SOURCE: lambda: self._lines(keys),
            Level.FX_PRE_GRAD: lambda: self._fx([index.pre_nodes[k] for k in keys]),
            Level.FX_POST_GRAD: lambda: self._fx([index.post_nodes[k] for k in keys]),
            Level.LOOP_IR_PRE: lambda: self._ir([index.ir_pre[k] for k in keys]),
            Level.LOOP_IR_POST: lambda: self._ir([index.ir_post[k] for k in keys]),
            Level.OP_SPEC: self._ops,
            Stage.SUPER_DSC: self._sdsc,
        }
        return parts[column]()

    def _lines(self, keys: Iterable[str]) -> dict[str, Any]:
        places = [key.rpartition(":") for key in keys]
        texts = {e.ref.key: e.label for e in self.lineage.entities}
        return {
            "names": [
                shown(f"{self.paths.of(file)}:{line}") for file, _, line in places
            ],
            "note": [self.strings.number(texts[key]) for key in keys],
        }

    def _fx(self, nodes: list[FxNode]) -> dict[str, Any]:
        number = self.strings.number
        return {
            "names": [shown(node.name) for node in nodes],
            "note": [number(node.target) for node in nodes],
            "stack": [-1 if node.stack is None else node.stack for node in nodes],
            "module": [number(_module(node)) for node in nodes],
            "aten": [number(node.original_aten) for node in nodes],
        }

    def _ir(self, ops: list[IrOp]) -> dict[str, Any]:
        number = self.strings.number
        return {
            "names": [shown(op.name) for op in ops],
            "note": [number(op.kernel or op.origin_node or op.type) for op in ops],
            "type": [number(op.type) for op in ops],
            "buffer": [number(op.buffer) for op in ops],
            "reads": [number(", ".join(op.reads)) for op in ops],
            "origins": [number(", ".join(op.origins)) for op in ops],
            "origin": [number(op.origin_node) for op in ops],
        }

    def _ops(self) -> dict[str, Any]:
        number = self.strings.number
        ops = [op for _, op in self.facts.bundle.ops]
        found = self.facts.attributions
        stacks = {id(place): n for n, place in enumerate(self.facts.locations) if place}
        return {
            "names": [
                shown(each.ir_op or op.spec_path) for op, each in _both(ops, found)
            ],
            "note": [number(op.op) for op in ops],
            "path": [op.spec_path for op in ops],
            "buffer": [number(op.buffer) for op in ops],
            "module": [number(each.module_path) for each in found],
            "type": [
                number(each.modules[-1].type if each.modules else "") for each in found
            ],
            "aten": [number(each.aten_op) for each in found],
            "rule": [number(each.rule) for each in found],
            "reason": [number(each.reason) for each in found],
            "serves": [number(", ".join(each.serves)) for each in found],
            "pass": [number(each.pass_name) for each in found],
            "handle": [str(op.handle.id) if op.handle else "" for op in ops],
            "json": [self.handles.number(op.handle) for op in ops],
            "space": [number(space_text(op)) for op in ops],
            "tensors": [[number(tensor_text(arg)) for arg in op.args] for op in ops],
            "stacks": [_stacks(each.locations, stacks) for each in found],
        }

    def _sdsc(self) -> dict[str, Any]:
        number = self.strings.number
        files = [file for each in self.facts.bundle.run.files for file in each.sdsc]
        texts = {digest: place for place, digest in enumerate(self.documents)}
        return {
            "names": [shown(file.name) for file in files],
            "note": [number(file.op_key) for file in files],
            "state": [number(state) for state in self.files.values()],
            "presence": [number(file.handle_presence) for file in files],
            "handle": [str(file.handle.id) if file.handle else "" for file in files],
            "json": [self.handles.number(file.handle) for file in files],
            "document": [texts.get(file.sha256, -1) for file in files],
        }

    def _kernels(self) -> list[dict[str, Any]]:
        directories = {f.kernel: f.directory for f in self.facts.bundle.run.files}
        counts = {f.kernel: len(f.sdsc) for f in self.facts.bundle.run.files}
        return [
            {
                "name": shown(kernel.name),
                "ops": len(kernel.ops),
                "files": counts.get(kernel.name, 0),
                "directory": shown(directories.get(kernel.name, "")),
                "unimplemented": shown(kernel.unimplemented or ""),
            }
            for kernel in self.facts.bundle.kernels or ()
        ]

    def _sources(self) -> Iterator[dict[str, Any]]:
        """Yield the files with their lines, as recorded or as traces quote them."""
        lines: dict[str, dict[int, str]] = {
            file.path: {line.number: line.text for line in file.lines}
            for file in self.facts.bundle.sources
        }
        texts = {e.ref.key: e.label for e in self.lineage.entities}
        for key in self.keys[Level.SOURCE]:
            path, _, line = key.rpartition(":")
            lines.setdefault(path, {}).setdefault(int(line), texts[key])
        for path, texts_by_line in lines.items():
            rows = sorted(texts_by_line.items())
            yield {
                "path": shown(path),
                "short": shown(self.paths.of(path)),
                "lines": [line for line, _ in rows],
                "texts": [shown(text.expandtabs(4).rstrip()) for _, text in rows],
                "entities": [
                    self.numbers.get((Level.SOURCE, f"{path}:{line}"), -1)
                    for line, _ in rows
                ],
            }

    def _frame(self, frame: Frame) -> int:
        """Return the number of a frame, which many stacks may share."""
        text = self.facts.text(frame)
        key = (
            self.strings.number(frame.file),
            frame.line,
            self.strings.number(frame.function),
            self.strings.number(text),
        )
        return self.frames.setdefault(key, len(self.frames))


def _both(
    ops: list[Op], found: tuple[Attribution, ...]
) -> Iterator[tuple[Op, Attribution]]:
    return zip(ops, found, strict=True)


def _module(node: FxNode) -> str:
    return node.modules[-1].path if node.modules else ""


def _stacks(places: Iterable[Location], numbers: dict[int, int]) -> list[int]:
    # The attribution has the very objects of `Attributor.locations`: their identity is
    # the stack's number, which a location does not know itself.
    return [numbers[id(place)] for place in places if id(place) in numbers]
