"""The page: one self-contained HTML file that answers questions about a compile.

It asks for nothing: no request leaves it, and its content policy forbids any. The data
travels as JSON in a block that is never run, and the script shows it as text.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined

from ..analysis.attribution import Attributor
from ..analysis.coverage import measure_coverage
from ..analysis.losses import find_losses
from ..analysis.matrix import CellState, build_matrix
from ..model import Bundle, Observation, Stage
from .columns import column_data
from .encoding import shown

_STYLES = ("page.css", "explorer.css", "print.css")
_SCRIPTS = ("graph.js", "details.js", "columns.js", "page.js")
_TITLES = {
    "source": "Source",
    Stage.FX_PRE_GRAD: "FX pre-grad",
    Stage.FX_POST_GRAD: "FX post-grad",
    Stage.LOOP_IR_PRE: "LoopLevelIR pre",
    Stage.LOOP_IR_POST: "LoopLevelIR post",
    Stage.OP_SPEC: "OpSpec",
    Stage.SUPER_DSC: "SuperDSC",
}
_WORDS = {
    CellState.ALL: "on all",
    CellState.SOME: "on some",
    CellState.EMPTY: "dropped",
    CellState.ELSEWHERE: "not here",
    CellState.FAILED: "looking failed",
    CellState.UNSEEN: "stage not recorded",
}


def render(bundle: Bundle) -> bytes:
    """Return the page of a bundle as UTF-8.

    The same bundle gives the same bytes.

    Args:
        bundle: The bundle.
    """
    return render_facts(Attributor(bundle))


def render_facts(facts: Attributor) -> bytes:
    """Return the page of a bundle whose attribution may be at hand already."""
    script = "\n".join(_file(name) for name in _SCRIPTS)
    style = "\n".join(_file(name) for name in _STYLES)
    bundle = facts.bundle
    text = (
        _environment()
        .get_template("page.html.j2")
        .render(
            title=bundle.run.name or bundle.compile.graph,
            compile=bundle.compile,
            run=bundle.run,
            redaction=bundle.redaction,
            coverage=measure_coverage(facts.attributions),
            columns=list(_titled_columns(bundle)),
            matrix=build_matrix(bundle),
            stages=[stage.label for stage in Stage],
            words=_WORDS,
            losses=find_losses(bundle),
            passes=bundle.passes,
            observations=[(each, _note(each)) for each in bundle.all_observations],
            data=column_data(facts),
            script=script,
            script_digest=_digest(script),
            style=style,
            style_digest=_digest(style),
        )
    )
    return text.encode("utf-8", "backslashreplace")


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
