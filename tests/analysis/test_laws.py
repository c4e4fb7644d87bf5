"""Laws of lineage and attribution, over programs that nobody wrote."""

from __future__ import annotations

from collections import Counter

from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_bundles import FILES, small_bundles

from torch_spyre_provenance.analysis.attribution import Attributor, attribute
from torch_spyre_provenance.analysis.index import BundleIndex
from torch_spyre_provenance.analysis.lineage import Level, build_lineage
from torch_spyre_provenance.analysis.questions import answer
from torch_spyre_provenance.model import Bundle, Evidence

LEVELS = tuple(Level)
law = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@law
@given(small_bundles())
def test_everything_has_a_path_to_a_source_or_a_reason(value):
    """An entity without a line says why, and one with a line says nothing."""
    lineage = build_lineage(Attributor(value))
    above = {}
    for edge in lineage.edges:
        above.setdefault(edge.end, set()).add(edge.start)

    def reaches_a_source(ref):
        ways, seen = [ref], {ref}
        while ways:
            here = ways.pop()
            if here.level is Level.SOURCE:
                return True
            new = above.get(here, set()) - seen
            seen |= new
            ways.extend(new)
        return False

    for entity in lineage.entities:
        assert reaches_a_source(entity.ref) != bool(entity.missing)


@law
@given(small_bundles())
def test_no_edge_skips_a_stage_that_was_recorded(value):
    """Between the two ends of an edge lies no column that has anything in it."""
    lineage = build_lineage(Attributor(value))
    recorded = {entity.ref.level for entity in lineage.entities}

    for edge in lineage.edges:
        first, last = LEVELS.index(edge.start.level), LEVELS.index(edge.end.level)
        assert first < last
        assert recorded.isdisjoint(LEVELS[first + 1 : last])


@law
@given(small_bundles())
def test_edges_and_entities_are_there_once(value):
    """The graph is simple, and its edges lead to entities of its own."""
    lineage = build_lineage(Attributor(value))
    refs = Counter(entity.ref for entity in lineage.entities)
    ends = Counter((edge.start, edge.end) for edge in lineage.edges)

    assert {1} >= set(refs.values())
    assert {1} >= set(ends.values())
    assert {ref for pair in ends for ref in pair} <= set(refs)


@law
@given(small_bundles())
def test_maps_are_the_inverses_of_each_other(value):
    """What a node reads is read by it, and so on, both ways round."""
    index = BundleIndex(value)

    for nodes, users in (
        (index.pre_nodes, index.pre_users),
        (index.post_nodes, index.post_users),
    ):
        reads = {
            (source, node.name) for node in nodes.values() for source in node.inputs
        }
        assert reads == {(source, user) for source in users for user in users[source]}
    assert {
        (source, buffer) for buffer, op in index.ir_post.items() for source in op.reads
    } == {
        (source, reader)
        for source, readers in index.ir_readers.items()
        for reader in readers
    }
    assert {
        (name, node.stack)
        for name, node in index.pre_nodes.items()
        if node.stack is not None
    } == {
        (name, stack) for stack, names in index.pre_by_stack.items() for name in names
    }
    assert {(old.old, new) for new, olds in index.replaced.items() for old in olds} == {
        (old, new) for old, news in index.rewrites.items() for new in news
    }


@law
@given(small_bundles())
def test_a_line_and_its_ops_find_each_other(value):
    """Asked for a line, a bundle names just the ops that name that line."""
    facts = Attributor(value)
    ops_of = {}
    for found in facts.attributions:
        for place in found.locations:
            ops_of.setdefault(place.where, []).append((found.kernel, found.path))

    for where, ops in ops_of.items():
        asked = answer(facts, where).ops
        assert ops == [(each.kernel.name, each.op.path) for each in asked]


@law
@given(small_bundles(), st.randoms(use_true_random=False))
def test_order_of_origins_decides_nothing(value, random):
    """Origins are a set: however they are listed, every op has the same lines."""

    def shuffled(graph):
        if graph is None:
            return None
        ops = []
        for op in graph.ops:
            names = list(op.origins)
            random.shuffle(names)
            ops.append(evolve(op, origins=tuple(names)))
        return evolve(graph, ops=tuple(ops))

    other = evolve(
        value,
        loop_ir_pre=shuffled(value.loop_ir_pre),
        loop_ir_post=shuffled(value.loop_ir_post),
    )

    assert attribute(value) == attribute(other)


def renamed(value: Bundle, names: dict[str, str]) -> Bundle:
    """Return a bundle whose files have other names."""
    return evolve(
        value,
        stacks=tuple(
            tuple(evolve(frame, file=names[frame.file]) for frame in stack)
            for stack in value.stacks
        ),
    )


@law
@given(small_bundles())
def test_names_of_files_decide_nothing(value):
    """In a checkout elsewhere every op has the same lines, evidence and rule."""
    names = {
        FILES[0]: "/home/somebody/else/zzz.py",
        FILES[1]: "/a.py",
        FILES[2]: "/opt/lib/python3.12/site-packages/other/m.py",
    }

    there = attribute(renamed(value, names))

    for ours, theirs in zip(attribute(value), there, strict=True):
        assert [(names[p.frame.file], p.frame.line) for p in ours.locations] == [
            (p.frame.file, p.frame.line) for p in theirs.locations
        ]
        assert (ours.evidence, ours.rule, ours.reason, ours.serves, ours.modules) == (
            theirs.evidence,
            theirs.rule,
            theirs.reason,
            theirs.serves,
            theirs.modules,
        )


@law
@given(small_bundles())
def test_lines_evidence_and_reasons_agree(value):
    """A line has evidence and a rule; a missing one has a reason and neither."""
    for found in attribute(value):
        if found.locations:
            assert found.evidence is not Evidence.MISSING
            assert found.rule.value != "none"
        else:
            assert (Evidence.MISSING, "none") == (found.evidence, found.rule.value)
            assert found.reason
