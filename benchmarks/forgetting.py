"""Bundles that lost a part of what compilers say about their nodes.

A pass that makes nodes anew may leave nothing on them. Attribution then concludes lines
by rules, and none of them may conclude a wrong one, whatever is lost.
"""

from __future__ import annotations

import random

from attrs import evolve

from torch_spyre_provenance.model import Bundle, FxGraph, FxNode

from .execution import Run


def forget(run: Run, share: float) -> Run:
    """Return a program's run with bundles that lost traces; the same each time.

    Args:
        run: The run.
        share: The share of the post-grad nodes that lose theirs, from 0 to 1.
    """
    return evolve(
        run,
        bundles=tuple(
            without_traces(bundle, share, f"{run.program.name} {number}")
            for number, bundle in enumerate(run.bundles)
        ),
    )


def without_traces(bundle: Bundle, share: float, seed: str) -> Bundle:
    """Return a bundle some of whose post-grad nodes say nothing of where they are from.

    They lose stack trace, history and modules, and what was seen of their making; every
    other one loses the operator that it was lowered from, too.

    Args:
        bundle: The bundle.
        share: The share of the nodes, from 0 to 1.
        seed: Decides which ones.
    """
    if bundle.fx_post_grad is None or not share:
        return bundle
    rng = random.Random(f"{seed} {share}")  # noqa: S311 - no secret
    names = [n.name for n in bundle.fx_post_grad.nodes]
    lost = {name for name in names if rng.random() < share}
    bare = {name for name in sorted(lost) if rng.random() < 0.5}
    nodes = (
        _bare(node, keep_aten=node.name not in bare) if node.name in lost else node
        for node in bundle.fx_post_grad.nodes
    )
    seen = (each for each in bundle.replacements if each.new not in lost)
    return evolve(
        bundle,
        fx_post_grad=FxGraph(nodes=tuple(nodes)),
        replacements=tuple(seen),
    )


def _bare(node: FxNode, *, keep_aten: bool) -> FxNode:
    return evolve(
        node,
        stack=None,
        modules=(),
        source_fns=(),
        from_nodes=(),
        original_aten=node.original_aten if keep_aten else None,
    )
