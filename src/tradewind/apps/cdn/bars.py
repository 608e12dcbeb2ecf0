"""Bar charts as inline SVG: for each label a few bars, one below the other, all on one scale that begins at zero.

Colours are classes that the page around it defines, so a chart fits a dark page as well as a light one. It is drawn
narrow, so that its letters can still be read where it fills a telephone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _VALUE_ROOM = 420.0, 66.0
_BAR, _LABEL, _GAP = 11.0, 15.0, 9.0
_THINNEST = 1.5
"""A bar can be seen however little it stands for."""


@dataclass(frozen=True, slots=True)
class Series:
    """One bar of every label: its name, its class, and a value for each label with the text beside the bar."""

    name: str
    kind: str
    values: Sequence[float]
    texts: Sequence[str]


def bars(title: str, labels: Sequence[str], series: Sequence[Series]) -> str:
    """A chart; without values it is empty."""
    most = max((value for one in series for value in one.values), default=0.0)
    scale = (_WIDTH - _VALUE_ROOM) / most if most > 0 else 0.0
    each = _LABEL + len(series) * (_BAR + 2) + _GAP
    parts = []
    for number, label in enumerate(labels):
        top = number * each
        parts.append(f'<text class="name" x="0" y="{top + 11:g}">{escape(label)}</text>')
        for place, one in enumerate(series):
            y = top + _LABEL + place * (_BAR + 2)
            width = max(_THINNEST, one.values[number] * scale)
            tip = f"{label}, {one.name}: {one.texts[number]}"
            parts.append(
                f'<g><title>{escape(tip)}</title><rect class="{one.kind}" x="0" y="{y:g}" width="{width:.1f}" '
                f'height="{_BAR:g}" rx="2"/><text x="{width + 5:.1f}" y="{y + 9.5:g}">'
                f"{escape(one.texts[number])}</text></g>"
            )
    height = max(1.0, len(labels) * each)
    legend = "".join(f'<span><i class="{one.kind}"></i>{escape(one.name)}</span>' for one in series)
    drawn = f'<svg viewBox="0 0 {_WIDTH:g} {height:g}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'
    caption = f'<figcaption>{escape(title)}<span class="legend">{legend}</span></figcaption>'
    return f'<figure class="bars">{caption}{drawn}</figure>'
