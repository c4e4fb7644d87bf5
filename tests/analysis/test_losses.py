"""Losses of provenance, charged to the pass that they happened in."""

from __future__ import annotations

from attrs import evolve
from bundle_factory import recorded

from torch_spyre_provenance.analysis.losses import ALL_PASSES, find_losses
from torch_spyre_provenance.model import Created, IrGraph, Loss, PassStep

PARTIAL = Loss(
    op="op0", buffer="buf0", what="origins", before=("mm", "permute"), after=("mm",)
)
CLEARED = Loss(op="op1", buffer="buf1", what="origin_node", before=("add",), after=())
CHANGED = evolve(CLEARED, after=("view",))
MADE = Created(op="op9", buffer="buf9", origins=(), has_source=False)


def with_steps(*steps):
    """Return a recorded bundle whose passes did this."""
    return evolve(recorded("simple_mlp_torch2.13"), passes=steps)


def test_loss_is_charged_to_its_pass():
    """Each loss names the pass, the buffer and exactly what is gone."""
    bundle = with_steps(
        PassStep(name="harmless", index=0, rebuilt=("op0",)),
        PassStep(name="culprit", index=1, losses=(PARTIAL, CLEARED)),
    )

    found = find_losses(bundle)

    assert [("culprit", "buf0", ("permute",)), ("culprit", "buf1", ("add",))] == [
        (each.pass_name, each.loss.buffer, each.lost) for each in found
    ]


def test_creation_and_exchange_are_no_losses():
    """A source-less buffer and an exchanged `origin_node` had nothing to lose."""
    step = PassStep(name="insert", index=0, created=(MADE,), losses=(CHANGED,))

    assert () == find_losses(with_steps(step))


def test_loss_in_a_creating_pass_is_found():
    """That a pass may make source-less buffers excuses no loss on an old one."""
    step = PassStep(name="insert", index=0, created=(MADE,), losses=(PARTIAL,))

    assert [PARTIAL] == [each.loss for each in find_losses(with_steps(step))]


def test_without_observed_passes_the_stages_are_compared():
    """A loss anywhere in the pipeline shows between its two ends."""
    bundle = evolve(recorded("simple_mlp_torch2.13"), passes=None)
    first, *rest = bundle.loop_ir_post.ops
    broken = evolve(first, origins=first.origins[:1], origin_node=None)
    lossy = evolve(bundle, loop_ir_post=IrGraph(ops=(broken, *rest)))

    assert () == find_losses(bundle)
    assert [(ALL_PASSES, "origins"), (ALL_PASSES, "origin_node")] == [
        (each.pass_name, each.loss.what) for each in find_losses(lossy)
    ]


def test_stage_that_was_not_recorded_has_no_losses_to_show():
    """Without one end there is nothing to compare."""
    bundle = evolve(recorded("simple_mlp_torch2.13"), passes=None, loop_ir_pre=None)

    assert () == find_losses(bundle)
