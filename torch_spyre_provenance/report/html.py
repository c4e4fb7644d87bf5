"""The page: one self-contained HTML file that answers questions about a compile.

It asks for nothing: no request leaves it, and its content policy forbids any. The data
travels as JSON in a block that is never run, and the script shows it as text.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from ..analysis.attribution import Attributor
from ..analysis.coverage import measure_coverage
from ..analysis.losses import find_losses
from ..analysis.matrix import CellState, build_matrix
from ..model import Bundle, Observation, Redaction, Stage
from .columns import column_data
from .encoding import shown
from .page import REPLACED

_STYLES = ("page.css", "explorer.css", "figure.css", "print.css")
_SCRIPTS = ("graph.js", "details.js", "columns.js", "figure.js", "page.js")
_TITLES = {
    "source": "Source",
    Stage.FX_PRE_GRAD: "FX pre-grad",
    Stage.FX_POST_GRAD: "FX post-grad",
    Stage.LOOP_IR_PRE: "LoopLevelIR pre",
    Stage.LOOP_IR_POST: "LoopLevelIR post",
    Stage.OP_SPEC: "OpSpec",
    Stage.SUPER_DSC: "SuperDSC",
}
_HAS_SOURCE = "This page contains source of the model."
_WORDS = {
    CellState.ALL: "on all",
    CellState.SOME: "on some",
    CellState.EMPTY: "dropped",
    CellState.ELSEWHERE: "not here",
    CellState.FAILED: "looking failed",
    CellState.UNSEEN: "stage not recorded",
}


def render(*bundles: Bundle, documents: Mapping[str, str] | None = None) -> bytes:
    """Return the page of some bundles as UTF-8; it shows one of them at a time.

    The same bundles give the same bytes.

    Args:
        *bundles: The bundles, at least one; the first is the one that is shown first.
        documents: The text of SDSC files by their digest, which the page then shows.
    """
    return render_facts(*map(Attributor, bundles), documents=documents)


def render_facts(
    *facts: Attributor, documents: Mapping[str, str] | None = None
) -> bytes:
    """Return the page of bundles whose attribution may be at hand already."""
    script = "\n".join(_file(name) for name in _SCRIPTS)
    style = "\n".join(_file(name) for name in _STYLES)
    compiles = [
        _compile(each, name, number, documents or {})
        for number, (each, name) in enumerate(zip(facts, _names(facts), strict=True))
    ]
    text = (
        _environment()
        .get_template("page.html.j2")
        .render(
            title=compiles[0]["title"],
            compiles=compiles,
            columns=list(_titled_columns(facts[0].bundle)),
            stages=[stage.label for stage in Stage],
            words=_WORDS,
            script=script,
            script_digest=_digest(script),
            style=style,
            style_digest=_digest(style),
        )
    )
    return text.encode("utf-8", "backslashreplace")


def _compile(
    facts: Attributor, name: str, number: int, documents: Mapping[str, str]
) -> dict[str, Any]:
    """Return what the template shows of one bundle.

    Args:
        facts: The bundle and its attribution.
        name: The bundle's name in links, unique in the page.
        number: Its place in the page.
        documents: The text of SDSC files by their digest.
    """
    bundle = facts.bundle
    columns = _titled_columns(bundle)
    return {
        "title": bundle.run.name or bundle.compile.graph,
        "suffix": f"-{number}" if number else "",
        "compile": bundle.compile,
        "run": bundle.run,
        "warning": _warning(bundle.redaction),
        "coverage": measure_coverage(facts.attributions),
        "matrix": build_matrix(bundle),
        "losses": find_losses(bundle),
        "passes": bundle.passes,
        "observations": [(each, _note(each)) for each in bundle.all_observations],
        "data": {
            **column_data(facts, documents),
            "name": name,
            "why": {each["id"]: shown(each["why"]) for each in columns},
        },
    }


def _warning(redaction: Redaction) -> str:
    """Return what a reader must know of the page before passing it on."""
    has_source = redaction in (Redaction.NONE, Redaction.PATHS)
    is_redacted = redaction is not Redaction.NONE
    texts = [_HAS_SOURCE] if has_source else []
    texts += [f"Redacted ({redaction}): {REPLACED}."] if is_redacted else []
    return " ".join(texts)


def _names(facts: Sequence[Attributor]) -> list[str]:
    """Return a name for each bundle; one that is taken gets a number behind it."""
    taken: Counter[str] = Counter()
    names = []
    for each in facts:
        name = shown(each.bundle.run.name or each.bundle.compile.graph)
        taken[name] += 1
        names.append(name if taken[name] == 1 else f"{name}~{taken[name]}")
    return names


def _environment() -> Environment:
    environment = Environment(
        autoescape=True,
        loader=FunctionLoader(_file),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = shown
    environment.policies["json.dumps_kwargs"] = {
        "sort_keys": True,
        "separators": (",", ":"),
    }
    return environment


def _file(name: str) -> str:
    return (files(__package__) / "templates" / name).read_text("utf-8")


def _digest(text: str) -> str:
    """Return the digest by which the content policy knows a script or a style."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _titled_columns(bundle: Bundle) -> Iterator[dict[str, str]]:
    for column, title in _TITLES.items():
        yield {"id": str(column), "title": title, "why": _why_empty(bundle, column)}


def _why_empty(bundle: Bundle, column: str) -> str:
    """Return why a column may have nothing to show, from its stage's observations."""
    points = [each for each in bundle.all_observations if each.stage == column]
    notes = [note for point in points if (note := _note(point))]
    return " ".join(notes) or "Nothing was recorded here."


def _note(observation: Observation) -> str:
    if observation.unavailable is not None:
        return f"Not observable here: {observation.unavailable}"
    if observation.error is not None:
        return f"Failed: {observation.error}"
    return "" if observation.fired else "Not reached."
