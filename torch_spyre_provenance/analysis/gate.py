"""Holding a bundle against limits: the gate in a continuous build."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from ..model import Bundle, Evidence, spec_path_text
from .attribution import Attribution, attribute
from .coverage import Coverage, measure_coverage
from .losses import find_losses


@frozen(kw_only=True)
class Limits:
    """What is asked of a bundle; a None is not asked.

    Attributes:
        min_attributed: Least share of device ops with a line, from 0 to 1.
        max_inferred: Greatest share of ops whose line is inferred, from 0 to 1.
        no_loss: No pre-scheduling pass may lose provenance.
    """

    min_attributed: float | None = None
    max_inferred: float | None = None
    no_loss: bool = False


@frozen(kw_only=True)
class Offence:
    """One limit that a bundle breaks.

    Attributes:
        limit: Which one: ``recording``, ``min-attributed``, ``max-inferred`` or
            ``no-loss``.
        text: What is wrong, with the figures.
        items: What is behind it: one line per op, operation or point.
    """

    limit: str
    text: str
    items: tuple[str, ...]


@frozen(kw_only=True)
class Verdict:
    """The outcome for one bundle.

    Attributes:
        coverage: How many of its ops have a line.
        offences: The limits that it breaks.
    """

    coverage: Coverage
    offences: tuple[Offence, ...]

    @property
    def is_good(self) -> bool:
        """Return whether no limit is broken."""
        return not self.offences


def judge(bundle: Bundle, limits: Limits) -> Verdict:
    """Hold a bundle against limits.

    A recording that failed somewhere is an offence whatever the limits are: what was
    not seen cannot be vouched for.

    Args:
        bundle: The bundle.
        limits: What is asked of it. Shares of no ops at all are met.
    """
    ops = attribute(bundle)
    coverage = measure_coverage(ops)
    return Verdict(
        coverage=coverage,
        offences=(
            *_recording(bundle),
            *_attributed(ops, coverage, limits.min_attributed),
            *_inferred(ops, coverage, limits.max_inferred),
            *(_losses(bundle) if limits.no_loss else ()),
        ),
    )


def _recording(bundle: Bundle) -> Iterator[Offence]:
    failed = [each for each in bundle.all_observations if each.failed]
    if failed:
        yield Offence(
            limit="recording",
            text=f"{len(failed)} observation points failed",
            items=tuple(f"{each.point}: {each.error}" for each in failed),
        )
    if bundle.compile.error is not None:
        yield Offence(
            limit="recording",
            text="the compile broke off",
            items=(bundle.compile.error,),
        )


def _attributed(
    ops: tuple[Attribution, ...], coverage: Coverage, least: float | None
) -> Iterator[Offence]:
    if least is None or coverage.attributed >= least * coverage.total:
        return
    missing = [op for op in ops if op.evidence is Evidence.MISSING]
    yield Offence(
        limit="min-attributed",
        text=f"{coverage.attributed} of {coverage.total} ops have a line, "
        f"{least:.4g} of them are asked for",
        items=tuple(f"{_name(op)}: {op.reason}" for op in missing),
    )


def _inferred(
    ops: tuple[Attribution, ...], coverage: Coverage, most: float | None
) -> Iterator[Offence]:
    if most is None or coverage.inferred <= most * coverage.total:
        return
    inferred = [op for op in ops if op.evidence is Evidence.INFERRED]
    yield Offence(
        limit="max-inferred",
        text=f"the line of {coverage.inferred} of {coverage.total} ops is inferred, "
        f"{most:.4g} of them may be",
        items=tuple(f"{_name(op)}: {op.rule.value}" for op in inferred),
    )


def _losses(bundle: Bundle) -> Iterator[Offence]:
    losses = find_losses(bundle)
    if losses:
        yield Offence(
            limit="no-loss",
            text=f"{len(losses)} losses of provenance",
            items=tuple(
                f"{each.pass_name}: {each.loss.op} ({each.loss.buffer}) lost "
                f"{each.loss.what} {', '.join(each.lost)}"
                for each in losses
            ),
        )
    elif bundle.loop_ir_pre is None or bundle.loop_ir_post is None:
        yield Offence(
            limit="no-loss",
            text="LoopLevelIR was not recorded on both sides of the passes",
            items=(),
        )


def _name(op: Attribution) -> str:
    path = spec_path_text(op.path)
    return f"{op.kernel}:{path} {op.op}"
