"""The lineage graph as a Mermaid flow chart."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..analysis.attribution import Attributor
from ..analysis.lineage import Edge, Entity, Level, Lineage, Ref, build_lineage
from ..model import Evidence
from .escape import ShortPaths, mermaid_label

MAX_EDGES = 400
"""Most edges of one chart: Mermaid itself refuses more than 500."""

_PREFIXES = {
    Level.SOURCE: ("src", "Source"),
    Level.FX_PRE_GRAD: ("pg", "FX pre-grad"),
    Level.FX_POST_GRAD: ("post", "FX post-grad"),
    Level.LOOP_IR_PRE: ("lpre", "LoopLevelIR pre-pass"),
    Level.LOOP_IR_POST: ("lpost", "LoopLevelIR post-pass"),
    Level.OP_SPEC: ("ops", "OpSpec"),
    Level.KERNEL: ("sd", "SuperDSC"),
}
_NOT_WORD = re.compile(r"\W", re.ASCII)


def render_facts(facts: Attributor) -> str:
    """Return the chart of a bundle, without a fence around it."""
    return render(build_lineage(facts), ShortPaths(facts.bundle))


def render(lineage: Lineage, paths: ShortPaths) -> str:
    """Return the chart's text, without the fence around it.

    A solid arrow is a measured edge, a dotted one an inferred edge. A chart that would
    be too large for Mermaid shows the first edges of each stage, and says so.

    Args:
        lineage: The graph.
        paths: Short names of the source files.
    """
    edges = _fitting(lineage.edges)
    shown = {ref for edge in edges for ref in (edge.start, edge.end)}
    whole = len(edges) == len(lineage.edges)
    entities = [e for e in lineage.entities if whole or e.ref in shown]
    names = _names(entities)
    lines = ["flowchart LR"]
    if not whole:
        lines.append(f"  %% {len(edges)} of {len(lineage.edges)} edges")
    for level, (prefix, title) in _PREFIXES.items():
        members = [entity for entity in entities if entity.ref.level is level]
        if members:
            lines.append(f'  subgraph {prefix}_sg["{title}"]')
            lines += [f'    {names[e.ref]}["{_label(e, paths)}"]' for e in members]
            lines.append("  end")
    lines += [_arrow(edge, names) for edge in edges]
    return "\n".join(lines) + "\n"


def _fitting(edges: tuple[Edge, ...]) -> list[Edge]:
    """Return the edges that lead to the first kernels' ops, as many as fit."""
    if len(edges) <= MAX_EDGES:
        return list(edges)
    into: dict[Ref, list[int]] = {}
    for number, edge in enumerate(edges):
        into.setdefault(edge.end, []).append(number)
    ends = [n for n, edge in enumerate(edges) if edge.end.level is Level.KERNEL]
    chosen: set[int] = set()
    for end in ends or range(len(edges)):
        chain, ways = {end}, [edges[end].start]
        while ways and len(chosen) + len(chain) <= MAX_EDGES:
            for number in into.get(ways.pop(), ()):
                if number not in chosen and number not in chain:
                    chain.add(number)
                    ways.append(edges[number].start)
        if len(chosen | chain) > MAX_EDGES:
            break
        chosen |= chain
    return [edges[number] for number in sorted(chosen)]


def _names(entities: Iterable[Entity]) -> dict[Ref, str]:
    """Return a Mermaid identifier for each entity; none is that of another."""
    names: dict[Ref, str] = {}
    taken: set[str] = set()
    for entity in entities:
        prefix = _PREFIXES[entity.ref.level][0]
        plain = f"{prefix}_{_NOT_WORD.sub('_', _identifying(entity))[:80]}"
        name, number = plain, 1
        while name in taken:
            number += 1
            name = f"{plain}__{number}"
        taken.add(name)
        names[entity.ref] = name
    return names


def _identifying(entity: Entity) -> str:
    level = entity.ref.level
    if level in (Level.LOOP_IR_PRE, Level.LOOP_IR_POST, Level.OP_SPEC):
        return entity.label.partition(" ")[0]
    if level is Level.SOURCE:
        return entity.ref.key.rpartition("/")[2]
    return entity.ref.key


def _label(entity: Entity, paths: ShortPaths) -> str:
    if entity.ref.level is not Level.SOURCE:
        return mermaid_label(entity.label)
    file, _, line = entity.ref.key.rpartition(":")
    where = mermaid_label(f"{paths.of(file)}:{line}", 80)
    return f"{where} · {mermaid_label(entity.label)}" if entity.label else where


def _arrow(edge: Edge, names: dict[Ref, str]) -> str:
    arrow = "-->" if edge.evidence is Evidence.MEASURED else "-.->"
    return f"  {names[edge.start]} {arrow} {names[edge.end]}"
