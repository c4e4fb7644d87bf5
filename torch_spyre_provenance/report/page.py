"""What every section of a report is rendered from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from attrs import frozen

from ..analysis.attribution import Attributor, Location
from ..model import Bundle, Field, Observation, Presence, Stage
from .escape import EMPTY, ShortPaths, code, row

REPLACED = "stand-ins were put in the place of what must not be shown"
"""What a report says of a redacted bundle."""

DROPPED = "✗"
"""What a detail table shows for a field that is absent or empty."""


@frozen(slots=False)
class Page:
    """A bundle, its attribution, and how its paths are shown.

    Attributes:
        facts: The bundle and its attribution.
    """

    facts: Attributor

    @property
    def bundle(self) -> Bundle:
        """Return the bundle."""
        return self.facts.bundle

    @cached_property
    def paths(self) -> ShortPaths:
        """Return the short names of the bundle's source files."""
        return ShortPaths(self.bundle)

    def places(self, places: Iterable[Location]) -> str:
        """Return a cell with ``file:line`` and the source text of some locations."""
        return "<br>".join(self.place(place) for place in places) or EMPTY

    def place(self, place: Location) -> str:
        """Return ``file:line`` of one location, and its source text behind it."""
        where = code(self.paths.where(place.frame.file, place.frame.line))
        text = self.facts.text(place.frame)
        return f"{where} {code(text)}" if text else where

    def why_unrecorded(self, stage: Stage) -> str:
        """Return why a stage has no record, from its observations."""
        points = [o for o in self.bundle.all_observations if o.stage is stage]
        reasons = [why_silent(point) for point in points]
        return " ".join(filter(None, reasons)) or "Nothing was observed."


def why_silent(observation: Observation) -> str:
    """Return why an observation point has nothing to show; "" where it fired."""
    if observation.unavailable is not None:
        return f"Not observable here: {code(observation.unavailable, 600)}"
    if observation.error is not None:
        return f"Failed: {code(observation.error, 600)}"
    return "" if observation.fired else "Not reached."


def table(header: Iterable[str], rows: Iterable[list[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    names = list(header)
    yield row(names)
    yield row(["---"] * len(names))
    yield from map(row, rows)
    yield ""


def names(items: Iterable[str]) -> str:
    """Return a cell with some names."""
    return ", ".join(code(item) for item in items) or EMPTY


def finding(found: Field | None, *, typed: bool) -> str:
    """Return a cell for a tracked field: its type or ``✓``, or why there is none."""
    if found is None or found.presence in (Presence.ABSENT, Presence.EMPTY):
        return DROPPED
    if found.presence is Presence.FAILED:
        return "failed"
    return code(found.type) if typed and found.type else "✓"
