"""Holding a bundle against limits."""

from __future__ import annotations

import pytest
from attrs import evolve
from bundle_factory import recorded

from torch_spyre_provenance.analysis.gate import Limits, judge
from torch_spyre_provenance.model import Loss, Observation, PassStep, Stage

STRICT = Limits(min_attributed=1.0, max_inferred=0.0, no_loss=True)


@pytest.fixture
def bundle():
    """Return a bundle in which nothing is wrong."""
    return recorded("simple_mlp_torch2.13")


def without_traces(bundle):
    """Return a bundle whose graphs have lost all that leads to a line."""
    post = bundle.fx_post_grad
    bare = tuple(
        evolve(node, stack=None, from_nodes=(), source_fns=()) for node in post.nodes
    )
    return evolve(
        bundle,
        fx_pre_grad=None,
        fx_post_grad=evolve(post, nodes=bare),
        replacements=(),
    )


def limits_of(verdict):
    """Return the names of the limits that are broken."""
    return [offence.limit for offence in verdict.offences]


def test_whole_bundle_is_good(bundle):
    """A bundle whose ops all have a measured line meets every limit."""
    verdict = judge(bundle, STRICT)

    assert (True, ()) == (verdict.is_good, verdict.offences)
    assert 5 == verdict.coverage.attributed


def test_missing_lines_are_listed(bundle):
    """Ops without a line are named with kernel, position and reason."""
    verdict = judge(without_traces(bundle), Limits(min_attributed=1.0))

    (offence,) = verdict.offences
    assert "min-attributed" == offence.limit
    assert "0 of 5 ops have a line" in offence.text
    assert 5 == len(offence.items)
    assert offence.items[0].startswith("sdsc_fused_addmm_linear_relu_0:0 batchmatmul: ")


def test_limit_is_inclusive(bundle):
    """A share that is met exactly is met."""
    assert judge(without_traces(bundle), Limits(min_attributed=0.0)).is_good
    assert judge(bundle, Limits(max_inferred=0.0)).is_good


def test_inferred_lines_are_counted(bundle):
    """Where rules had to conclude lines, the limit on them names the ops and rules."""
    verdict = judge(evolve(bundle, replacements=()), Limits(max_inferred=0.25))

    (offence,) = verdict.offences
    assert "max-inferred" == offence.limit
    assert "2 of 5 ops is inferred" in offence.text


def test_loss_is_an_offence_only_when_asked(bundle):
    """A pass's loss breaks ``no-loss``, with pass, buffer and node."""
    loss = Loss(
        op="op1", buffer="buf1", what="origins", before=("a", "b"), after=("a",)
    )
    lossy = evolve(bundle, passes=(PassStep(name="bad", index=0, losses=(loss,)),))

    (offence,) = judge(lossy, STRICT).offences

    assert ("bad: op1 (buf1) lost origins b",) == offence.items
    assert judge(lossy, Limits()).is_good


def test_what_was_not_seen_is_not_vouched_for(bundle):
    """Without LoopLevelIR on both sides ``no-loss`` cannot be met."""
    blind = evolve(bundle, passes=None, loop_ir_pre=None)

    assert ["no-loss"] == limits_of(judge(blind, Limits(no_loss=True)))


def test_failed_recording_is_always_an_offence(bundle):
    """A point that failed, and a compile that broke off, break any gate."""
    failed = Observation(
        point="define_kernel", stage=Stage.OP_SPEC, failed=1, error="KeyError: 'x'"
    )
    broken = evolve(
        bundle,
        observations=(*bundle.observations, failed),
        compile=evolve(bundle.compile, error="RuntimeError: no"),
    )

    verdict = judge(broken, Limits())

    assert ["recording", "recording"] == limits_of(verdict)
    assert ("define_kernel: KeyError: 'x'",) == verdict.offences[0].items
