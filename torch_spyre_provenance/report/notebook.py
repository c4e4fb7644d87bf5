"""A bundle in a notebook's cell: what became of each line, as a small table."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ..analysis.attribution import Attribution, Attributor
from ..analysis.coverage import measure_coverage
from ..model import Bundle, spec_path_text
from .escape import ShortPaths, visible

_MOST_OPS = 60
_HEAD = ("kernel", "op", "line", "source", "module", "evidence")


def render(bundle: Bundle) -> str:
    """Return a fragment of HTML without style, script or request.

    It quotes lines of the model.

    Args:
        bundle: The bundle.
    """
    facts = Attributor(bundle)
    found = measure_coverage(facts.attributions)
    info = bundle.compile
    title = f"{info.graph} ({info.kind}), {info.front_end or 'no Spyre front end'}"
    counts = (
        f"{found.attributed} of {found.total} device ops have a line: "
        f"{found.measured} measured, {found.inferred} inferred, {found.missing} missing"
    )
    head = "".join(f"<th>{name}</th>" for name in _HEAD)
    return (
        f"<div><p><b>{_text(title)}</b><br>{_text(counts)}</p>"
        f"<table><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(_rows(facts))}</tbody></table></div>"
    )


def _rows(facts: Attributor) -> Iterator[str]:
    short = ShortPaths(facts.bundle)
    for op in facts.attributions[:_MOST_OPS]:
        cells = (_text(text) for text in _cells(facts, short, op))
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    more = len(facts.attributions) - _MOST_OPS
    if more > 0:
        yield f'<tr><td colspan="{len(_HEAD)}">… and {more} more</td></tr>'


def _cells(facts: Attributor, short: ShortPaths, op: Attribution) -> Iterator[str]:
    frames = [place.frame for place in op.locations]
    yield f"{op.kernel}:{spec_path_text(op.path)}"
    yield op.op
    yield ", ".join(short.where(frame.file, frame.line) for frame in frames)
    yield (facts.text(frames[0]) or "") if len(frames) == 1 else ""
    yield op.module_path
    yield f"{op.evidence} ({op.rule if frames else op.reason})"


def _text(text: str) -> str:
    return escape(visible(text))
