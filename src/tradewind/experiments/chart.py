"""Lines over the number of queries: as a picture, and in characters for the terminal.

Pictures need matplotlib, which nothing else here does, so it is loaded only when one is drawn.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from textwrap import fill
from typing import Any

from tradewind.errors import TradewindError

_COLOURS = ("#1b6ca8", "#c8553d", "#3a7d44", "#7d5ba6", "#b8860b", "#555555")
_MARKS = "ox+*#@"


@dataclass(frozen=True, slots=True)
class Line:
    """One planner's cumulative cost, once for each seed."""

    label: str
    runs: tuple[tuple[float, ...], ...]

    @property
    def mean(self) -> list[float]:
        """The mean over the seeds, after each query."""
        return [fmean(values) for values in zip(*self.runs, strict=True)]

    @property
    def deviation(self) -> list[float]:
        """The sample deviation over the seeds, after each query; zero for one seed."""
        return [stdev(values) if len(values) > 1 else 0.0 for values in zip(*self.runs, strict=True)]


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines that share an axis."""

    title: str
    lines: tuple[Line, ...]


def painter() -> Any:
    """What pictures are drawn with."""
    try:
        return importlib.import_module("matplotlib.figure")
    except ModuleNotFoundError:
        raise TradewindError("pictures of experiments need matplotlib.", hint="pip install matplotlib") from None


def draw(path: Path, title: str, panels: Sequence[Panel], caption: str = "") -> Path:
    """Draw panels beside each other as a PNG file: means as lines, one deviation to both sides as a band."""
    figure = painter().Figure(figsize=(6.2 * len(panels), 5.4), layout="constrained")
    figure.suptitle(title, fontsize=12)
    figure.supxlabel(fill(caption, 88 * len(panels)), fontsize=8, x=0.01, ha="left")
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for line, colour in zip(panel.lines, _COLOURS, strict=False):
            over = range(1, len(line.mean) + 1)
            low = [mean - by for mean, by in zip(line.mean, line.deviation, strict=True)]
            high = [mean + by for mean, by in zip(line.mean, line.deviation, strict=True)]
            axes.fill_between(over, low, high, color=colour, alpha=0.12, linewidth=0)
            axes.plot(over, line.mean, color=colour, label=line.label, linewidth=1.6)
        axes.set(title=panel.title, xlabel="queries", ylabel="cumulative cost, dollars an hour")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.25)
        axes.legend(fontsize=8, loc="upper left")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return path


def text(panel: Panel, width: int = 72, height: int = 14) -> str:
    """A panel in characters: each line's mean by a mark of its own, the lowest lines on top."""
    means = [line.mean for line in panel.lines]
    top = max((max(mean) for mean in means), default=0.0) or 1.0
    cells = [[" "] * width for _ in range(height)]
    for mean, mark in reversed(list(zip(means, _MARKS, strict=False))):
        for column in range(width):
            value = mean[round(column * (len(mean) - 1) / (width - 1))]
            cells[height - 1 - min(height - 1, int(value / top * height))][column] = mark
    label = f"{top:,.4g}"
    rows = [f"{label if number == 0 else '':>10} |{''.join(row).rstrip()}" for number, row in enumerate(cells)]
    legend = [f"{'':>12}{mark} {line.label}" for line, mark in zip(panel.lines, _MARKS, strict=False)]
    return "\n".join([panel.title, *rows, f"{'0':>10} +{'-' * width}", *legend])
