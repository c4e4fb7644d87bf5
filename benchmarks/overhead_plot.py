"""The figures of the overhead benchmark as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from torch_spyre_provenance.measuring.samples import Comparison

_INCHES_PER_ROW = 0.18
_WIDTH = 10.0


def plot(comparisons: Sequence[Comparison], path: Path) -> None:
    """Draw each figure with its interval, one panel for each kind of work.

    The same figures give the same file.

    Args:
        comparisons: The figures.
        path: The SVG file to write.
    """
    workloads = list(dict.fromkeys(each.workload for each in comparisons))
    groups = [[c for c in comparisons if c.workload == kind] for kind in workloads]
    heights = [len(group) for group in groups]
    figure = Figure(
        figsize=(_WIDTH, 1 + _INCHES_PER_ROW * sum(heights) + len(heights) * 0.6),
        layout="constrained",
    )
    panels = figure.subplots(
        len(groups), squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for panel, workload, group in zip(panels[:, 0], workloads, groups, strict=True):
        _draw(panel, workload, group)
    with mpl.rc_context({"svg.hashsalt": "overhead", "svg.fonttype": "none"}):
        figure.savefig(path, format="svg", metadata={"Date": None})


def _draw(panel: mpl.axes.Axes, workload: str, group: Sequence[Comparison]) -> None:
    rows = sorted(group, key=lambda each: each.condition, reverse=True)
    for row, each in enumerate(rows):
        low, value, high = (
            100 * (ratio - 1) for ratio in (each.cpu.low, each.cpu.value, each.cpu.high)
        )
        colour = "tab:blue" if each.condition.startswith("on") else "tab:gray"
        panel.plot([low, high], [row, row], color=colour, linewidth=1)
        panel.plot([value], [row], "o", color=colour, markersize=3)
    labels = [f"{each.condition} · {each.subject}" for each in rows]
    panel.set_yticks(range(len(rows)), labels, fontsize=6)
    panel.axvline(0, color="black", linewidth=0.5)
    panel.set_title(f"{workload}: processor time against off, %", fontsize=8)
