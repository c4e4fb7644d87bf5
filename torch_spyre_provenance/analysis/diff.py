"""What changed between two compiles of a model, as far as provenance goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from attrs import frozen

from ..model import Bundle, Evidence, Stage
from .attribution import Attributor
from .losses import find_losses
from .matching import Matching, OpPair, PlacedOp, match_ops, place_ops
from .matrix import Cell, CellState, build_matrix

_CERTAINTY = (Evidence.MISSING, Evidence.INFERRED, Evidence.MEASURED)


@frozen(kw_only=True)
class CountChange:
    """A number of things that is another one now.

    Attributes:
        what: What is counted.
        before: How many in the first compile.
        after: How many in the second one.
    """

    what: str
    before: int
    after: int


@frozen(kw_only=True)
class FieldChange:
    """A tracked field that other objects of a stage carry now.

    Attributes:
        field: The field's name.
        stage: The stage.
        before: Its cell in the first compile's matrix.
        after: Its cell in the second one's.
    """

    field: str
    stage: Stage
    before: Cell
    after: Cell


@frozen(kw_only=True)
class Regrouping:
    """Kernels that share the same ops in another way.

    Attributes:
        before: Names of kernels of the first compile.
        after: Names of the kernels that have their ops now.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]


@frozen(kw_only=True)
class Difference:
    """What changed.

    Attributes:
        stages: Stages with another number of objects.
        fields: Cells of the matrix that are others now.
        gained: Ops that the second compile alone has.
        lost: Ops that the first compile alone has.
        moved: Ops with other lines, or lines that read differently.
        evidence: Ops whose lines are known in another way, or no longer.
        modules: Ops that are in another module.
        regrouped: Kernels that were split or joined.
        losses: Losses of provenance by pass and field: ``pass: field``.
    """

    stages: tuple[CountChange, ...]
    fields: tuple[FieldChange, ...]
    gained: tuple[PlacedOp, ...]
    lost: tuple[PlacedOp, ...]
    moved: tuple[OpPair, ...]
    evidence: tuple[OpPair, ...]
    modules: tuple[OpPair, ...]
    regrouped: tuple[Regrouping, ...]
    losses: tuple[CountChange, ...]

    @property
    def is_empty(self) -> bool:
        """Return whether nothing changed."""
        return not any(
            (
                *self.stages,
                *self.fields,
                *self.gained,
                *self.lost,
                *self.moved,
                *self.evidence,
                *self.modules,
                *self.regrouped,
                *self.losses,
            )
        )

    @property
    def weakened(self) -> tuple[OpPair, ...]:
        """Return the ops whose lines are known less surely than before."""
        return tuple(pair for pair in self.evidence if is_weaker(pair))

    @property
    def unplaced(self) -> tuple[PlacedOp, ...]:
        """Return the new ops that have no line."""
        return tuple(op for op in self.gained if op.is_missing)

    @property
    def new_losses(self) -> tuple[CountChange, ...]:
        """Return the losses that there are more of than before."""
        return tuple(each for each in self.losses if each.after > each.before)

    @property
    def is_regression(self) -> bool:
        """Return whether an op's line is known less surely, or a pass loses more."""
        return bool(self.weakened or self.unplaced or self.new_losses)


def is_weaker(pair: OpPair) -> bool:
    """Return whether the line of an op is known less surely than before."""
    before, after = pair.before.found.evidence, pair.after.found.evidence
    return _CERTAINTY.index(after) < _CERTAINTY.index(before)


def compare(before: Bundle, after: Bundle) -> Difference:
    """Return what changed from one compile to another.

    Two runs of the same compile differ in nothing, wherever and whenever they ran.

    Args:
        before: The first compile.
        after: The second one, of the same model or of a changed one.
    """
    ops = match_ops(place_ops(Attributor(before)), place_ops(Attributor(after)))
    pairs = ops.pairs
    return Difference(
        stages=_stages(before, after),
        fields=tuple(_fields(before, after)),
        gained=ops.gained,
        lost=ops.lost,
        moved=tuple(pair for pair in pairs if _has_moved(pair)),
        evidence=tuple(pair for pair in pairs if _known_by(pair)),
        modules=tuple(
            pair
            for pair in pairs
            if pair.before.found.module_path != pair.after.found.module_path
        ),
        regrouped=_regrouped(ops),
        losses=_loss_changes(before, after),
    )


def _has_moved(pair: OpPair) -> bool:
    if pair.before.is_missing or pair.after.is_missing:
        return False
    return sorted(pair.before.places) != sorted(pair.after.places)


def _known_by(pair: OpPair) -> bool:
    before, after = pair.before.found, pair.after.found
    return (before.evidence, before.rule) != (after.evidence, after.rule)


def _stages(before: Bundle, after: Bundle) -> tuple[CountChange, ...]:
    old, new = before.counts(), after.counts()
    return tuple(
        CountChange(what=stage.label, before=old[stage], after=new[stage])
        for stage in Stage
        if old[stage] != new[stage]
    )


def _fields(before: Bundle, after: Bundle) -> Iterator[FieldChange]:
    for old, new in zip(build_matrix(before), build_matrix(after), strict=True):
        for stage, cell, now in zip(Stage, old.cells, new.cells, strict=True):
            if (cell.state, _n_left(cell)) != (now.state, _n_left(now)):
                yield FieldChange(field=old.field, stage=stage, before=cell, after=now)


def _n_left(cell: Cell) -> int:
    """Return how many objects lack a field that others carry."""
    return cell.total - cell.n if cell.state is CellState.SOME else 0


def _loss_changes(before: Bundle, after: Bundle) -> tuple[CountChange, ...]:
    old, new = _losses(before), _losses(after)
    return tuple(
        CountChange(what=what, before=old[what], after=new[what])
        for what in sorted(old.keys() | new.keys())
        if old[what] != new[what]
    )


def _losses(bundle: Bundle) -> Counter[str]:
    return Counter(
        f"{each.pass_name}: {each.loss.what}" for each in find_losses(bundle)
    )


def _regrouped(ops: Matching) -> tuple[Regrouping, ...]:
    """Return the kernels whose common ops were split or joined, by group."""
    groups: list[tuple[set[str], set[str]]] = []
    seen: dict[tuple[str, str], None] = {
        (pair.before.found.kernel, pair.after.found.kernel): None for pair in ops.pairs
    }
    for old, new in seen:
        touched = [group for group in groups if old in group[0] or new in group[1]]
        merged = ({old}, {new})
        for group in touched:
            merged[0].update(group[0])
            merged[1].update(group[1])
        groups = [group for group in groups if group not in touched] + [merged]
    return tuple(
        Regrouping(before=tuple(sorted(old)), after=tuple(sorted(new)))
        for old, new in groups
        if len(old) > 1 or len(new) > 1
    )
