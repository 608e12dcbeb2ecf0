"""Bars of measured figures: as text for the terminal, as PNG for the eye."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

FOLDER = Path(__file__).parent / "charts"
_WIDTH = 46


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
