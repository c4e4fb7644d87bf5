"""The difference of two bundles, as lines of text and as plain values for JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import asdict

from ..analysis.diff import Difference, is_weaker
from ..analysis.matching import OpPair, PlacedOp
from ..analysis.node_mappings import MappingDifference, NodeChange
from ..model import spec_path_text
from .escape import visible

_LONGEST = 4096
_REGRESSION = "regression: see the lines that begin with !"


def difference_text(found: Difference) -> str:
    """Return a difference as lines of text; they say so where there is none."""
    if found.is_empty:
        return "no difference"
    return "\n".join(visible(line, _LONGEST) for line in _lines(found))


def difference_facts(found: Difference) -> dict[str, Any]:
    """Return a difference as plain values for JSON."""
    return {
        "empty": found.is_empty,
        "regression": found.is_regression,
        "stages": [asdict(each) for each in found.stages],
        "fields": [
            {
                "field": each.field,
                "stage": each.stage.value,
                "before": each.before.symbol,
                "after": each.after.symbol,
            }
            for each in found.fields
        ],
        "gained": [_op_facts(op) for op in found.gained],
        "lost": [_op_facts(op) for op in found.lost],
        "moved": [_pair_facts(pair) for pair in found.moved],
        "evidence": [_pair_facts(pair) for pair in found.evidence],
        "modules": [_pair_facts(pair) for pair in found.modules],
        "regrouped": [asdict(each) for each in found.regrouped],
        "losses": [asdict(each) for each in found.losses],
    }


def mapping_text(found: MappingDifference) -> str:
    """Return where two mappings do not agree, as lines of text."""
    if found.is_empty:
        return "no difference"
    changes = [
        *(("kernel", each) for each in found.kernels),
        *(("node", each) for each in found.nodes),
    ]
    rows = [row for what, each in changes for row in _change_lines(what, each)]
    if found.is_regression:
        rows.append(_REGRESSION)
    return "\n".join(visible(row, _LONGEST) for row in rows)


def _change_lines(what: str, change: NodeChange) -> Iterator[str]:
    if change.lost:
        yield f"! {what:8} {change.name}: lost {', '.join(change.lost)}"
    if change.gained:
        yield f"  {what:8} {change.name}: gained {', '.join(change.gained)}"


def mapping_facts(found: MappingDifference) -> dict[str, Any]:
    """Return where two mappings do not agree, as plain values for JSON."""
    return {
        "empty": found.is_empty,
        "regression": found.is_regression,
        "kernels": [asdict(each) for each in found.kernels],
        "nodes": [asdict(each) for each in found.nodes],
    }


def _lines(found: Difference) -> Iterator[str]:
    yield from _count_lines(found)
    yield from _op_lines(found)
    for group in found.regrouped:
        yield f"  kernels  {', '.join(group.before)} -> {', '.join(group.after)}"
    for change in found.losses:
        mark = "!" if change.after > change.before else " "
        yield f"{mark} losses   {change.what}: {change.before} -> {change.after}"
    if found.is_regression:
        yield _REGRESSION


def _count_lines(found: Difference) -> Iterator[str]:
    for change in found.stages:
        yield f"  stage    {change.what}: {change.before} -> {change.after}"
    for field in found.fields:
        cells = f"{field.before.symbol} -> {field.after.symbol}"
        yield f"  field    {field.field} at {field.stage.label}: {cells}"


def _op_lines(found: Difference) -> Iterator[str]:
    for op in found.lost:
        yield f"- op       {_op(op)}  {_places(op)}"
    for op in found.gained:
        yield f"{'!' if op.is_missing else '+'} op       {_op(op)}  {_places(op)}"
    for pair in found.moved:
        yield f"  moved    {_op(pair.after)}  {_change(_places, pair)}"
    for pair in found.modules:
        yield f"  module   {_op(pair.after)}  {_change(_module, pair)}"
    for pair in found.evidence:
        mark = "!" if is_weaker(pair) else " "
        yield f"{mark} evidence {_op(pair.after)}  {_change(_evidence, pair)}"


def _change(tell: Callable[[PlacedOp], str], pair: OpPair) -> str:
    return f"{tell(pair.before)} -> {tell(pair.after)}"


def _op(op: PlacedOp) -> str:
    path = spec_path_text(op.found.path)
    return f"{op.found.kernel}:{path} {op.found.op}"


def _places(op: PlacedOp) -> str:
    where = ", ".join(f"{file}:{line}" for file, line, _ in op.places)
    if len(op.places) == 1:
        return f"{where} {op.texts[0]!r}"
    return where or f"no line ({op.found.reason})"


def _module(op: PlacedOp) -> str:
    return op.found.module_path or "the root"


def _evidence(op: PlacedOp) -> str:
    if op.is_missing:
        return f"missing ({op.found.reason})"
    return f"{op.found.evidence} ({op.found.rule})"


def _op_facts(op: PlacedOp) -> dict[str, Any]:
    return {
        "kernel": op.found.kernel,
        "spec_path": spec_path_text(op.found.path),
        "op": op.found.op,
        "aten_op": op.found.aten_op,
        "module": op.found.module_path,
        "evidence": op.found.evidence.value,
        "rule": op.found.rule.value,
        "reason": op.found.reason,
        "lines": [
            {"file": file, "line": line, "text": text} for file, line, text in op.places
        ],
    }


def _pair_facts(pair: OpPair) -> dict[str, Any]:
    return {"before": _op_facts(pair.before), "after": _op_facts(pair.after)}
