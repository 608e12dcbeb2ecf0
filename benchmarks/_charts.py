"""Bars and curves of measured figures: as text for the terminal, as PNG for the eye."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

FOLDER = Path(__file__).parent / "charts"
_WIDTH = 46
_MARKS = "ox+*#@"

Points = Mapping[str, Mapping[float, float]]


def chart(
    name: str, title: str, unit: str, series: Mapping[str, Mapping[str, float]], *, logarithmic: bool = False
) -> None:
    """Print bars for each label of each series, and write the same as benchmarks/charts/NAME.png and .txt."""
    text = f"{title} ({unit}{', logarithmic' if logarithmic else ''})\n{_bars(series, logarithmic)}"
    print(text)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.txt").write_text(text + "\n")
    _picture(FOLDER / f"{name}.png", title, unit, series, logarithmic)
    print(f"written: benchmarks/charts/{name}.png, {name}.txt")


def _bars(series: Mapping[str, Mapping[str, float]], logarithmic: bool) -> str:
    def size(value: float) -> float:
        return math.log10(max(value, 1.0)) if logarithmic else value

    most = max((size(value) for one in series.values() for value in one.values()), default=1.0) or 1.0
    labels = list(dict.fromkeys(label for one in series.values() for label in one))
    wide = max(len(label) for label in labels) + max(len(name) for name in series) + 3
    lines = []
    for label in labels:
        for name, one in series.items():
            if label in one:
                length = round(_WIDTH * size(one[label]) / most)
                lines.append(f"{f'{label} · {name}':<{wide}} {'█' * max(1, length)} {one[label]:,.2f}")
    return "\n".join(lines)


def _picture(path: Path, title: str, unit: str, series: Mapping[str, Mapping[str, float]], logarithmic: bool) -> None:
    labels = list(dict.fromkeys(label for one in series.values() for label in one))
    figure, axes = plt.subplots(figsize=(9, 0.5 + 0.45 * len(labels) * max(1, len(series) * 0.6)))
    height = 0.8 / len(series)
    for number, (name, one) in enumerate(series.items()):
        places = [place + number * height for place, label in enumerate(labels) if label in one]
        axes.barh(places, [one[label] for label in labels if label in one], height * 0.9, label=name)
    axes.set_yticks([place + 0.4 - height / 2 for place in range(len(labels))], labels)
    axes.invert_yaxis()
    if logarithmic:
        axes.set_xscale("log")
    axes.set_xlabel(unit)
    axes.set_title(title, loc="left")
    if len(series) > 1:
        axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def curves(name: str, title: str, axes: tuple[str, str], series: Points, aims: Mapping[float, float]) -> None:
    """Print curves on logarithmic axes, aims beside them, and write the same as benchmarks/charts/NAME.png and .txt."""
    text = (
        f"{title} ({axes[1]} over {axes[0]}, both logarithmic)\n{_plotted({**series, 'aim': aims} if aims else series)}"
    )
    print(text)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.txt").write_text(text + "\n")
    figure, plot = plt.subplots(figsize=(9, 5.5))
    for label, points in series.items():
        plot.plot(list(points), list(points.values()), marker="o", label=label)
    if aims:
        plot.scatter(list(aims), list(aims.values()), marker="v", s=70, color="black", label="aim: below", zorder=3)
    plot.set(xscale="log", yscale="log", xlabel=axes[0], ylabel=axes[1])
    plot.set_title(title, loc="left")
    plot.grid(alpha=0.25, which="both")
    plot.legend()
    figure.tight_layout()
    figure.savefig(FOLDER / f"{name}.png", dpi=110)
    plt.close(figure)
    print(f"written: benchmarks/charts/{name}.png, {name}.txt")


def _plotted(series: Points, width: int = 72, height: int = 20) -> str:
    """Points in characters: each series has a mark of its own."""
    points = [(math.log10(x), math.log10(y)) for one in series.values() for x, y in one.items()]
    (left, right), (low, high) = ((min(values), max(values)) for values in zip(*points, strict=True))
    cells = [[" "] * width for _ in range(height)]
    for mark, one in zip(_MARKS, series.values(), strict=False):
        for x, y in one.items():
            across = (math.log10(x) - left) / ((right - left) or 1.0)
            up = (math.log10(y) - low) / ((high - low) or 1.0)
            cells[height - 1 - round(up * (height - 1))][round(across * (width - 1))] = mark
    labels = {0: f"{10**high:,.4g}", height - 1: f"{10**low:,.4g}"}
    rows = [f"{labels.get(number, ''):>10} |{''.join(row).rstrip()}" for number, row in enumerate(cells)]
    ends = f"{'':>12}{f'{10**left:,.0f}':<{width // 2}}{f'{10**right:,.0f}':>{width - width // 2}}"
    legend = "   ".join(f"{mark} {label}" for mark, label in zip(_MARKS, series, strict=False))
    return "\n".join([*rows, f"{'':>10} +{'-' * width}", ends, f"{'':>12}{legend}"])
