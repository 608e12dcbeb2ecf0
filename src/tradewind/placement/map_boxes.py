"""What is written about each site on a map: its name and region, what arises, works and is delivered there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tradewind.algebra.drawing.layout import Rect
from tradewind.algebra.drawing.wrapping import BOLD, text_width, wrap
from tradewind.algebra.operators.core import Source
from tradewind.placement.map_layout import layout
from tradewind.placement.report import Line, Report

FONT, LINE, PADDING = 12.0, 15.0, 8.0
MARK = 14.0
"""Room at the left of a row for the mark of a source or of an answer."""
_WIDEST, _NARROWEST = 176.0, 64.0
_GAPS = (118.0, 66.0)
"""Between boxes side by side, and between boxes on top of each other: room for arrows and what is written at them."""
_NARROW_GAPS = (60.0, 44.0)
_MOST_ROWS = 4
_SLACK = 1.05
"""Room for fonts that are wider than thought."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line in a box; its kind is one of name, region, source, answer, operators and split."""

    kind: str
    text: str
    first: bool = True
    """Whether it is not the rest of the row above."""

    @property
    def bold(self) -> bool:
        """Whether it is in bold letters."""
        return self.kind in ("name", "answer")

    @property
    def indent(self) -> float:
        """How far from the left its text begins."""
        return MARK if self.kind in ("source", "answer") else 0.0


@dataclass(frozen=True, slots=True)
class Box:
    """A site on the map."""

    name: str
    region: str | None
    rows: tuple[Row, ...]
    tip: str
    """All that there is to say, uncut."""
    at: Rect


def boxes(report: Report, *, brief: bool) -> list[Box]:
    """The sites in the order of their numbers; a brief box does not list operators."""
    said = _said(report)
    written = [_rows(some, brief=brief) for some in said]
    width = max((_width(rows) for rows in written), default=_NARROWEST)
    heights = [len(rows) * LINE + 2 * PADDING - 3 for rows in written]
    gaps = _NARROW_GAPS if brief else _GAPS
    cell = (width + gaps[0], max(heights, default=0.0) + gaps[1])
    found = []
    for place, rows, all_rows, height, point in zip(
        report.network.places, written, said, heights, layout(report.network) * cell, strict=True
    ):
        x, y = map(float, point)
        tip = "\n".join(f"{row.kind}: {row.text}" for row in all_rows)
        found.append(Box(place.name, place.region, rows, tip, Rect(x - width / 2, y - height / 2, width, height)))
    return found


def _said(report: Report) -> list[list[Row]]:
    """For each site all that is known of it, one thing a row."""
    at_site: dict[str, list[Line]] = {}
    for line in report.lines:
        at_site.setdefault(line.site, []).append(line)
    streams = _streams(report)
    found = []
    for number, place in enumerate(report.network.places):
        lines = at_site.get(place.name, [])
        answers = [goal.query for goal in report.plan.goals if goal.site == number]
        counts = Counter(line.kind for line in lines if line.kind != "source")
        kinds = ", ".join(kind if count == 1 else f"{kind} ×{count}" for kind, count in counts.items())
        found.append([
            Row("name", place.name),
            *([Row("region", place.region)] if place.region is not None else []),
            *_joined("source", (streams[line.id] for line in lines if line.kind == "source")),
            *([Row("operators", kinds)] if kinds else []),
            *(Row("split", text) for line in lines for text in _splits(line)),
            *_joined("answer", answers),
        ])  # fmt: skip
    return found


def _streams(report: Report) -> dict[str, str]:
    """The name of the stream behind the id of each source."""
    found = {}
    for (key, _), name in report.ids.items():
        content = report.contents[key]
        found[name] = content.operator.stream if isinstance(content.operator, Source) else content.label
    return found


def _joined(kind: str, names: Iterable[str]) -> list[Row]:
    text = ", ".join(dict.fromkeys(names))
    return [Row(kind, text)] if text else []


def _splits(line: Line) -> Iterable[str]:
    """How the workers of a site share an operator."""
    whole = [share for share in line.shares if share.parts > 1 and not share.before]
    if whole:
        yield f"{line.kind} by {', '.join(whole[0].keys)} over {whole[0].parts} workers"
    before = [share for share in line.shares if share.before]
    if before:
        yield f"{line.kind} first on each of {len(before)} workers"


def _rows(said: Sequence[Row], *, brief: bool) -> tuple[Row, ...]:
    """What fits into a box."""
    found: list[Row] = []
    for row in said:
        if brief and row.kind in ("operators", "split"):
            continue
        room = (_WIDEST - 2 * PADDING - row.indent) / (BOLD if row.bold else 1.0)
        lines = wrap(row.text.replace(" ×", "×"), room, FONT, 1 if brief or row.kind == "region" else _MOST_ROWS)
        found.extend(Row(row.kind, text.replace("×", " ×"), first=number == 0) for number, text in enumerate(lines))
    return tuple(found)


def _width(rows: Iterable[Row]) -> float:
    wanted = (text_width(row.text, FONT, bold=row.bold) + row.indent for row in rows)
    return max(_NARROWEST, _SLACK * max(wanted, default=0.0) + 2 * PADDING)
