"""Counting what is attributed, and how."""

from __future__ import annotations

from bundle_factory import bundle, fx, ir, lines

from torch_spyre_provenance.analysis.attribution import attribute
from torch_spyre_provenance.analysis.coverage import Coverage, measure_coverage
from torch_spyre_provenance.analysis.origins import Rule

RELU = "aten.relu.default"


def test_the_counts_of_a_small_bundle():
    """One op of each kind of evidence."""
    value = bundle(
        stacks=lines(1),
        pre=None,
        post=(
            fx("relu", RELU, "x", stack=0, aten=RELU),
            fx("lost", "aten.mm.default", aten="aten.addmm.default"),
        ),
        later=(fx("r", "spyre.restickify.default"),),
        ir_post=(ir(2, "r"), ir(0, "relu", reads=("buf2",)), ir(1, "lost")),
    )
    found = measure_coverage(attribute(value))
    assert found == Coverage(
        total=3,
        measured=1,
        inferred=1,
        missing=1,
        rules=((Rule.OWN_STACK, 1), (Rule.FOR_READERS, 1), (Rule.NONE, 1)),
    )
    assert found.attributed == 2


def test_nothing_is_nothing():
    """A bundle without device ops has no rules either."""
    assert measure_coverage(()) == Coverage(
        total=0, measured=0, inferred=0, missing=0, rules=()
    )
