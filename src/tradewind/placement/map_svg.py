"""A plan as a self-contained SVG: sites with what works there, links, and arrows as wide as what flows."""

from __future__ import annotations

import colorsys
from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from tradewind.algebra.drawing.families import OTHER, RESULT, Family
from tradewind.algebra.drawing.layout import Rect
from tradewind.algebra.drawing.wrapping import text_width
from tradewind.placement.map_boxes import FONT, LINE, PADDING, Box, Row, boxes
from tradewind.placement.map_flows import LABEL_FONT, LABEL_LINE, Arrow, Curve, arrows, between, human, ways
from tradewind.placement.report import Report

_MANY = 60
"""Above so many sites, boxes list no operators, and only the largest flows have labels."""
_MOST_LABELS = 30
_MARGIN = 16.0
_INK, _PALE_INK, _LINK, _FLOW, _SOURCE = "#1c2733", "#4a5866", "#c3ccd4", "#3b73b9", "#2e8b57"
_FONTS = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"
_UNITS = {"dollars": ("$", "/h"), "bytes": ("", "B/s"), "latency": ("", "ms")}
_LEGEND_LINE = 20.0
_LEAST_LEGEND = 420.0
_MOST_REGIONS = 24


def draw_map(report: Report) -> str:
    """The picture of a plan on its network."""
    many = len(report.network) > _MANY
    placed = boxes(report, brief=many)
    curves = ways(report.network, placed)
    flows = arrows(report.links(), report.network, placed, curves, _MOST_LABELS if many else None)
    colours = _colours(box.region for box in placed)
    links = [between(curve, placed[start].at, placed[end].at) for (start, end), curve in curves.items()]
    drawn = _bounds(placed, links, flows)
    width = max(drawn.width, _LEAST_LEGEND)
    page = Element("svg")
    head = _heading(page, report, width)
    group = SubElement(page, "g", transform=f"translate({_n(_MARGIN - drawn.x)} {_n(head - drawn.y)})")
    _draw_links(group, links)
    _draw_flows(group, flows)
    for box in placed:
        _draw_box(group, box, colours[box.region])
    _draw_labels(group, flows)
    bottom = _legend(page, colours, flows, head + drawn.height + _MARGIN, width)
    _frame(page, width + 2 * _MARGIN, bottom + _MARGIN)
    indent(page, " ")
    return tostring(page, encoding="unicode") + "\n"


def _frame(page: Element, width: float, height: float) -> None:
    """The page's size, and white below all else."""
    page.attrib |= {
        "xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {_n(width)} {_n(height)}", "width": _n(width),
        "height": _n(height), "font-family": _FONTS, "font-size": _n(FONT), "role": "img",
    }  # fmt: skip
    page.insert(0, Element("rect", width=_n(width), height=_n(height), fill="#ffffff"))


def _bounds(placed: Sequence[Box], curves: Iterable[Curve], flows: Sequence[Arrow]) -> Rect:
    """The least rectangle around all that is drawn."""
    labels = [arrow.label for arrow in flows if arrow.label is not None]
    corners = [(one.x, one.y, one.right, one.bottom) for one in (*(box.at for box in placed), *labels)]
    inked = [np.concatenate([curve.points.min(axis=0), curve.points.max(axis=0)]) for curve in curves]
    left, top, right, bottom = np.array([*corners, *inked]).reshape(-1, 4).T
    x, y = float(left.min()), float(top.min())
    return Rect(x, y, float(right.max()) - x, float(bottom.max()) - y)


def _colours(regions: Iterable[str | None]) -> dict[str | None, Family]:
    """A light and a strong colour for each region, far from those of the regions before it."""
    found: dict[str | None, Family] = {}
    for region in regions:
        if region is None:
            found[region] = OTHER
        elif region not in found:
            hue = (0.58 + 0.381966 * len(found)) % 1.0
            found[region] = Family(region, _hex(hue, 0.93, 0.6), _hex(hue, 0.42, 0.5), ())
    return found


def _hex(hue: float, lightness: float, saturation: float) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colorsys.hls_to_rgb(hue, lightness, saturation))


def _heading(page: Element, report: Report, width: float) -> float:
    """The deployment's name and what the plan costs; returns where the map begins."""
    chosen = report.chosen
    deployment = chosen.problem.deployment
    before, unit = _UNITS.get(deployment.objective, ("", ""))
    cost, shipped = (before + human(value, unit) for value in (chosen.cost, chosen.shipped_cost))
    ratio = f", ratio {chosen.cost / chosen.shipped_cost:.3g}" if chosen.shipped_cost else ""
    said = [
        f"objective: {deployment.objective}",
        f"planner: {chosen.planner}",
        f"cost: {cost}",
        f"ship everything: {shipped}{ratio}",
    ]
    title = SubElement(page, "title")
    title.text = _text(f"Plan of {deployment.name}")
    _write(page, _MARGIN, _MARGIN + 14, title.text, {"font-size": "16", "font-weight": "600", "fill": _INK})
    group = SubElement(page, "g", {"class": "costs"})
    x, y = _MARGIN, _MARGIN + 14 + _LEGEND_LINE
    for text in said:
        room = text_width(text, FONT) + 18
        if x > _MARGIN and x + room > width + _MARGIN:
            x, y = _MARGIN, y + _LEGEND_LINE
        _write(group, x, y, text, {"fill": _PALE_INK})
        x += room
    return y + _MARGIN


def _draw_links(group: Element, curves: Iterable[Curve]) -> None:
    for curve in curves:
        SubElement(
            group, "path", {"class": "link", "d": _path(curve), "fill": "none", "stroke": _LINK, "stroke-width": "1.2"}
        )


def _draw_flows(group: Element, flows: Sequence[Arrow]) -> None:
    for arrow in flows:
        ends = {"class": "flow", "data-from": _text(arrow.flow.start), "data-to": _text(arrow.flow.end)}
        one = SubElement(group, "g", ends)
        tip = f"{arrow.flow.start} to {arrow.flow.end}: {arrow.words[0]}, {arrow.words[1]}"
        SubElement(one, "title").text = _text(tip)
        (shaft, head) = _shaft_and_head(arrow)
        SubElement(
            one,
            "path",
            {"d": shaft, "fill": "none", "stroke": _FLOW, "stroke-width": _n(arrow.width), "opacity": "0.75"},
        )
        SubElement(one, "path", d=head, fill=_FLOW)


def _shaft_and_head(arrow: Arrow) -> tuple[str, str]:
    """The line up to the head, and the head; they do not overlap, so that the line can shine through."""
    curve = arrow.curve
    x, y = curve.end
    dx, dy = x - curve.bend[0], y - curve.bend[1]
    length = float(np.hypot(dx, dy)) or 1.0
    dx, dy = dx / length, dy / length
    long, wide = min(6 + 1.2 * arrow.width, length), 3 + 0.9 * arrow.width
    base = (x - long * dx, y - long * dy)
    left, right = ((base[0] - side * dy, base[1] + side * dx) for side in (wide, -wide))
    head = "M" + "L".join(f"{_n(px)} {_n(py)}" for px, py in ((x, y), left, right)) + "Z"
    return _path(Curve(curve.start, curve.bend, base)), head


def _path(curve: Curve) -> str:
    (x0, y0), (x, y), (x1, y1) = curve.start, curve.bend, curve.end
    return f"M{_n(x0)} {_n(y0)}Q{_n(x)} {_n(y)} {_n(x1)} {_n(y1)}"


def _draw_box(group: Element, box: Box, colours: Family) -> None:
    one = SubElement(group, "g", {"class": "site", "data-name": _text(box.name)})
    SubElement(one, "title").text = _text(box.tip)
    shape = {"x": _n(box.at.x), "y": _n(box.at.y), "width": _n(box.at.width), "height": _n(box.at.height), "rx": "6"}
    answers = any(row.kind == "answer" for row in box.rows)
    SubElement(
        one,
        "rect",
        {**shape, "fill": colours.fill, "stroke": colours.line, "stroke-width": "2.4" if answers else "1.2"},
    )
    for number, row in enumerate(box.rows):
        x, y = box.at.x + PADDING, box.at.y + PADDING + 9 + number * LINE
        if row.first:
            _draw_mark(one, row.kind, x + 4.5, y - 4)
        _write(one, x + row.indent, y, row.text, _style(row, colours))


def _style(row: Row, colours: Family) -> dict[str, str]:
    styles = {
        "name": {"font-weight": "600", "fill": _INK},
        "region": {"fill": colours.line},
        "split": {"font-style": "italic", "fill": _PALE_INK},
        "answer": {"font-weight": "600", "fill": RESULT.line},
    }
    return styles.get(row.kind, {"fill": _INK})


def _draw_mark(group: Element, kind: str, x: float, y: float) -> None:
    """A disc where a stream arises, a diamond where an answer is delivered."""
    if kind == "source":
        SubElement(group, "circle", {"class": "source", "cx": _n(x), "cy": _n(y), "r": "4", "fill": _SOURCE})
    elif kind == "answer":
        shape = f"M{_n(x - 5)} {_n(y)}l5 -5l5 5l-5 5z"
        SubElement(group, "path", {"class": "answer", "d": shape, "fill": "#e8c400", "stroke": RESULT.line})


def _draw_labels(group: Element, flows: Sequence[Arrow]) -> None:
    for arrow in flows:
        if arrow.label is None:
            continue
        one = SubElement(group, "g", {"class": "label"})
        middle = arrow.label.x + arrow.label.width / 2
        # A white rim keeps the words readable where they cross a line.
        style = {"text-anchor": "middle", "font-size": _n(LABEL_FONT), "fill": _INK, "stroke": "#ffffff",
                 "stroke-width": "3", "stroke-linejoin": "round", "paint-order": "stroke"}  # fmt: skip
        for number, text in enumerate(arrow.words):
            _write(one, middle, arrow.label.y + 10 + number * LABEL_LINE, text, style)


def _legend(page: Element, colours: dict[str | None, Family], flows: Sequence[Arrow], y: float, width: float) -> float:
    """What marks, lines and colours mean; returns where it ends."""
    group = SubElement(page, "g", {"class": "legend"})
    regions = [family for region, family in colours.items() if region is not None]
    said: list[tuple[str | Family, str]] = [("source", "a stream arises"), ("answer", "answers are delivered")]
    said.append(("link", "link"))
    if flows:
        said.append(("flow", f"flow, as wide as the root of its bytes; the widest {flows[0].words[0]}"))
    said += [(family, f"region {family.name}") for family in regions[:_MOST_REGIONS]]
    if len(regions) > _MOST_REGIONS:
        said.append((OTHER, f"and {len(regions) - _MOST_REGIONS} more regions"))
    x = _MARGIN
    for sample, text in said:
        room = 20 + text_width(text, LABEL_FONT) + 16
        if x > _MARGIN and x + room > width + _MARGIN:
            x, y = _MARGIN, y + _LEGEND_LINE
        _sample(group, sample, x, y)
        _write(group, x + 20, y + 10, text, {"font-size": _n(LABEL_FONT), "fill": _PALE_INK})
        x += room
    return y + 12


def _sample(group: Element, sample: str | Family, x: float, y: float) -> None:
    """A small piece of what the legend explains: a region's colours, a line, or a mark."""
    if isinstance(sample, Family):
        shape = {"x": _n(x), "y": _n(y), "width": "12", "height": "12", "rx": "3"}
        SubElement(group, "rect", {**shape, "fill": sample.fill, "stroke": sample.line})
    elif sample in ("link", "flow"):
        ink, width = (_LINK, "1.2") if sample == "link" else (_FLOW, "4")
        SubElement(group, "path", {"d": f"M{_n(x)} {_n(y + 6)}h14", "stroke": ink, "stroke-width": width})
    else:
        _draw_mark(group, sample, x + 6, y + 6)


def _write(group: Element, x: float, y: float, text: str, style: dict[str, str]) -> None:
    SubElement(group, "text", {"x": _n(x), "y": _n(y), **style}).text = _text(text)


def _text(text: str) -> str:
    """Text as XML can hold it."""
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in text)


def _n(value: float) -> str:
    """A number in tenths, as short as that can be written."""
    return f"{round(value, 1) + 0.0:g}" if abs(value) < 1e5 else f"{value:.0f}"
