"""Taking traces away: what is lost, and that the rest stays."""

from __future__ import annotations

import pytest
from bundle_factory import recorded

from benchmarks.forgetting import without_traces


@pytest.fixture(scope="module")
def bundle():
    """Return a recorded bundle with replacements."""
    found = recorded("simple_mlp_torch2.13")
    assert found.replacements
    return found


def bare(value):
    """Return the names of the nodes that say nothing of where they are from."""
    return {
        node.name
        for node in value.fx_post_grad.nodes
        if node.stack is None and not (node.from_nodes or node.source_fns)
    }


def test_nothing_is_lost_of_none(bundle):
    """Without a share the bundle is the same."""
    assert bundle is without_traces(bundle, 0.0, "seed")


def test_all_is_lost_of_all(bundle):
    """No node knows its place, and nobody saw one being made; some keep an operator."""
    lost = without_traces(bundle, 1.0, "seed")

    assert {node.name for node in lost.fx_post_grad.nodes} == bare(lost)
    assert () == lost.replacements
    assert (bundle.fx_pre_grad, bundle.kernels) == (lost.fx_pre_grad, lost.kernels)


def test_seed_decides_which(bundle):
    """The same seed takes the same ones, and another one others."""
    found = [without_traces(bundle, 0.5, seed) for seed in ("a", "a", "b", "c")]

    assert found[0] == found[1]
    assert 1 < len({frozenset(bare(each)) for each in found})


def test_what_was_seen_of_the_others_stays(bundle):
    """A replacement is lost with the node that it made, and with no other."""
    lost = without_traces(bundle, 0.5, "a")

    kept = {each.new for each in lost.replacements}
    gone = {each.new for each in bundle.replacements} - kept
    assert gone <= bare(lost)
