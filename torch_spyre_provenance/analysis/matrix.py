"""The matrix of stages and fields: where each provenance field lives, measured only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import cached_property

from attrs import frozen

from ..model import (
    FX_FIELDS,
    IR_FIELDS,
    Bundle,
    DebugHandle,
    Field,
    FxGraph,
    IrGraph,
    Presence,
    Stage,
)
from .index import BundleIndex

DEBUG_HANDLE = "debug_handle"


class Layer(StrEnum):
    """Which kind of object a field belongs to."""

    FX = "FX"
    IR = "IR"
    SPYRE = "Spyre"


class CellState(StrEnum):
    """What was found for one field at one stage.

    ``ALL`` and ``SOME`` of the objects carry it; ``EMPTY``: none does although it
    could; ``ELSEWHERE``: it does not exist yet, or another field carries it;
    ``FAILED``: looking raised; ``UNSEEN``: the stage was not recorded.
    """

    ALL = "all"
    SOME = "some"
    EMPTY = "empty"
    ELSEWHERE = "elsewhere"
    FAILED = "failed"
    UNSEEN = "unseen"


@frozen(kw_only=True)
class Cell:
    """One cell of the matrix.

    Attributes:
        state: The finding.
        n: Number of objects that carry the field.
        total: Number of objects at the stage.
    """

    state: CellState
    n: int = 0
    total: int = 0

    @property
    def symbol(self) -> str:
        """Return the cell's text, a sign that the report's legend explains."""
        if self.state is CellState.SOME:
            return f"◐ {self.n}/{self.total}"
        return _SYMBOLS[self.state]


_SYMBOLS = {
    CellState.ALL: "✓",
    CellState.EMPTY: "✗",
    CellState.ELSEWHERE: "\N{EN DASH}",
    CellState.FAILED: "!",
    CellState.UNSEEN: "?",
}


@frozen(kw_only=True)
class Row:
    """One field at every stage.

    Attributes:
        layer: The kind of object that the field belongs to.
        field: The field's name.
        cells: One cell per `Stage`, in order.
    """

    layer: Layer
    field: str
    cells: tuple[Cell, ...]


_ROWS = (
    *((Layer.FX, name) for name in FX_FIELDS),
    *((Layer.IR, name) for name in IR_FIELDS),
    (Layer.SPYRE, DEBUG_HANDLE),
)
_FIRST_STAGE = {
    "stack_trace": Stage.FX_PRE_GRAD,
    "nn_module_stack": Stage.FX_PRE_GRAD,
    "source_fn_stack": Stage.FX_PRE_GRAD,
    "original_aten": Stage.FX_POST_GRAD,
    "from_node": Stage.FX_POST_GRAD,
    DEBUG_HANDLE: Stage.OP_SPEC,
}
_ORDER = tuple(Stage)


def build_matrix(bundle: Bundle) -> tuple[Row, ...]:
    """Return the matrix of a bundle, in the order of the stages and fields.

    A cell is what the stage's own objects hold. Where they hold nothing, the field may
    be carried inside another one (`origins`, `debug_handle`); what those carry is read
    from them, too.
    """
    columns = tuple(_column(bundle, stage) for stage in _ORDER)
    return tuple(
        Row(layer=layer, field=name, cells=tuple(c.cell(name) for c in columns))
        for layer, name in _ROWS
    )


@frozen(kw_only=True, slots=False)
class _Column:
    """The objects of one stage.

    Attributes:
        stage: The stage.
        objects: The findings of each object; None where the stage was not recorded.
        carried: Fields that other fields of these objects carry inside.
    """

    stage: Stage
    objects: tuple[tuple[Field, ...], ...] | None
    carried: frozenset[str] = frozenset()

    @cached_property
    def counts(self) -> dict[tuple[str, Presence], int]:
        """Return the number of findings by field and presence."""
        counts: dict[tuple[str, Presence], int] = {}
        for findings in self.objects or ():
            for found in findings:
                key = (found.name, found.presence)
                counts[key] = counts.get(key, 0) + 1
        return counts

    def cell(self, name: str) -> Cell:
        """Return the cell of one field."""
        if self.objects is None:
            return Cell(state=CellState.UNSEEN)
        total = len(self.objects)
        n = self.counts.get((name, Presence.POPULATED), 0)
        state = CellState.ALL if n == total else CellState.SOME
        if n == 0:
            state = self._without(name)
        return Cell(state=state, n=n, total=total)

    def _without(self, name: str) -> CellState:
        if self.counts.get((name, Presence.FAILED)):
            return CellState.FAILED
        first = _FIRST_STAGE.get(name, Stage.LOOP_IR_PRE)
        early = _ORDER.index(self.stage) < _ORDER.index(first)
        if early or name in self.carried or not self.objects:
            return CellState.ELSEWHERE
        return CellState.EMPTY


def _column(bundle: Bundle, stage: Stage) -> _Column:
    match stage:
        case Stage.FX_PRE_GRAD:
            return _fx_column(stage, bundle.fx_pre_grad)
        case Stage.FX_POST_GRAD:
            return _fx_column(stage, bundle.fx_post_grad)
        case Stage.LOOP_IR_PRE:
            return _ir_column(stage, bundle.loop_ir_pre, bundle)
        case Stage.LOOP_IR_POST:
            return _ir_column(stage, bundle.loop_ir_post, bundle)
        case Stage.OP_SPEC:
            return _spec_column(stage, bundle)
        case Stage.SUPER_DSC:
            return _sdsc_column(stage, bundle)


def _fx_column(stage: Stage, graph: FxGraph | None) -> _Column:
    objects = tuple(node.fields for node in graph.nodes) if graph else None
    return _Column(stage=stage, objects=objects)


def _ir_column(stage: Stage, graph: IrGraph | None, bundle: Bundle) -> _Column:
    if graph is None:
        return _Column(stage=stage, objects=None)
    index = BundleIndex(bundle)
    names = {name for op in graph.ops for name in op.origins}
    nodes = [node for name in names if (node := index.node(name))]
    return _Column(
        stage=stage,
        objects=tuple(op.fields for op in graph.ops),
        carried=frozenset(
            found.name
            for node in nodes
            for found in node.fields
            if found.presence is Presence.POPULATED
        ),
    )


def _spec_column(stage: Stage, bundle: Bundle) -> _Column:
    if bundle.kernels is None:
        return _Column(stage=stage, objects=None)
    ops = [op for _, op in bundle.ops]
    return _Column(
        stage=stage,
        objects=tuple(op.fields for op in ops),
        carried=_carried_by(op.handle for op in ops),
    )


def _sdsc_column(stage: Stage, bundle: Bundle) -> _Column:
    files = [file for files in bundle.run.files for file in files.sdsc]
    if not files and bundle.ops:
        return _Column(stage=stage, objects=None)
    return _Column(
        stage=stage,
        objects=tuple(
            (Field(name=DEBUG_HANDLE, presence=file.handle_presence),) for file in files
        ),
        carried=_carried_by(file.handle for file in files),
    )


def _carried_by(handles: Iterable[DebugHandle | None]) -> frozenset[str]:
    return frozenset(
        name for handle in handles if handle is not None for name in _contents(handle)
    )


def _contents(handle: DebugHandle) -> Iterator[str]:
    """Yield the fields whose information a handle holds."""
    if handle.source is not None:
        yield from ("stack_trace", "get_stack_traces")
    if handle.aten_op is not None:
        yield "original_aten"
    if len(handle.ir_chain) > 1:
        # The chain is the origins, then the buffer; the headline is the origin node's.
        yield from ("origins", "origin_node")
    for part in handle.fused_from:
        yield from _contents(part)
