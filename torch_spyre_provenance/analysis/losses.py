"""Where provenance got lost between two looks at the same operation."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from ..model import Bundle, IrOp, Loss

ALL_PASSES = "the pre-scheduling passes"
"""Stands for the pass where the passes were not observed one by one."""


@frozen(kw_only=True)
class PassLoss:
    """A loss, charged to the pass that it happened in.

    Attributes:
        pass_name: The pass, or `ALL_PASSES`.
        loss: What was lost, on which operation.
    """

    pass_name: str
    loss: Loss

    @property
    def lost(self) -> tuple[str, ...]:
        """Return the names of the FX nodes that are gone."""
        left = set(self.loss.after)
        return tuple(name for name in self.loss.before if name not in left)


def find_losses(bundle: Bundle) -> tuple[PassLoss, ...]:
    """Return what the pre-scheduling passes lost, in the order of the passes.

    An operation that a pass made without a source is none: there was nothing to lose.
    An `origin_node` that another one took the place of is none either, for the first
    one still is among the origins, or its loss is reported there.

    Args:
        bundle: The bundle. Where its passes were not observed, the operations before
            and after all of them are compared.
    """
    if bundle.passes is None:
        return tuple(_between_stages(bundle))
    return tuple(
        PassLoss(pass_name=step.name, loss=loss)
        for step in bundle.passes
        for loss in step.losses
        if loss.what == "origins" or not loss.after
    )


def _between_stages(bundle: Bundle) -> Iterator[PassLoss]:
    if bundle.loop_ir_pre is None or bundle.loop_ir_post is None:
        return
    before = {op.name: op for op in bundle.loop_ir_pre.ops}
    by_buffer = {op.buffer: op for op in bundle.loop_ir_pre.ops}
    for op in bundle.loop_ir_post.ops:
        old = before.get(op.name)
        if old is None and op.buffer is not None:
            old = by_buffer.get(op.buffer)
        if old is not None:
            for loss in _losses(old, op):
                yield PassLoss(pass_name=ALL_PASSES, loss=loss)


def _losses(before: IrOp, after: IrOp) -> Iterator[Loss]:
    if not set(before.origins) <= set(after.origins):
        yield Loss(
            op=after.name,
            buffer=after.buffer,
            what="origins",
            before=before.origins,
            after=after.origins,
        )
    if before.origin_node is not None and after.origin_node is None:
        yield Loss(
            op=after.name,
            buffer=after.buffer,
            what="origin_node",
            before=(before.origin_node,),
            after=(),
        )
