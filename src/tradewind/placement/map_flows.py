"""The ways between the boxes of a map: curves round other boxes, arrows for what flows, and places for their labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tradewind.algebra.drawing.layout import Point, Rect
from tradewind.algebra.drawing.wrapping import text_width
from tradewind.network.network import Network, Numbers
from tradewind.placement.map_boxes import Box
from tradewind.placement.report import Link

LABEL_FONT, LABEL_LINE = 11.0, 13.0
_THINNEST, _THICKEST = 1.6, 8.0
_BENDS = (0.0, 0.06, -0.06, 0.12, -0.12, 0.18, -0.18, 0.25, -0.25, 0.33, -0.33, 0.42, -0.42)
"""How far a way may leave the straight line, as a part of its length; the first that passes no box is taken."""
_ALONG = np.linspace(0.0, 1.0, 25)
_LABEL_PLACES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)
_AIR = 4.0
"""Between the tip of an arrow and the box that it points to."""
_SUFFIXES = ("", "k", "M", "G", "T", "P")

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Curve:
    """A quadratic Bézier curve."""

    start: Point
    bend: Point
    end: Point

    @property
    def points(self) -> Numbers:
        """Points along it."""
        t = _ALONG[:, None]
        return np.asarray((1 - t) ** 2 * self.start + 2 * t * (1 - t) * np.array(self.bend) + t**2 * np.array(self.end))


@dataclass(frozen=True, slots=True)
class Arrow:
    """All that a plan sends from one site to another directly."""

    flow: Link
    curve: Curve
    width: float
    label: Rect | None
    """Where its label stands, if it has one."""

    @property
    def words(self) -> tuple[str, str]:
        """The lines of its label."""
        return human(self.flow.bytes_per_second, "B/s"), "$" + human(self.flow.usd_per_hour, "/h")


def human(value: float, unit: str = "") -> str:
    """A number in three digits, with k, M and so on for thousands and millions, and its unit."""
    power = 0
    while abs(value) >= 999.5 and power < len(_SUFFIXES) - 1:
        value, power = value / 1000, power + 1
    space = " " if unit[:1].isalpha() else ""
    return f"{value:.3g}{space}{_SUFFIXES[power]}{unit}"


def ways(network: Network, boxes: Sequence[Box]) -> dict[Pair, Curve]:
    """A curve for each two linked sites, the lower number first, that passes by the other sites."""
    pairs = {
        (min(a, b), max(a, b)) for a, b in zip(network.start.tolist(), network.end.tolist(), strict=True) if a != b
    }
    corners = np.array([(box.at.x, box.at.y, box.at.right, box.at.bottom) for box in boxes])
    return {pair: _way(pair, boxes, corners) for pair in sorted(pairs)}


def _way(pair: Pair, boxes: Sequence[Box], corners: Numbers) -> Curve:
    start, end = (_middle(boxes[number].at) for number in pair)
    others = np.delete(corners, pair, axis=0)
    found = [_bent(start, end, bend) for bend in _BENDS]
    passed = [_passed(between(curve, *(boxes[number].at for number in pair)).points, others) for curve in found]
    return found[passed.index(min(passed))]


def _bent(start: Point, end: Point, bend: float) -> Curve:
    (x0, y0), (x1, y1) = start, end
    # A curve leaves its chord by half as much as its control point does.
    return Curve(start, ((x0 + x1) / 2 - 2 * bend * (y1 - y0), (y0 + y1) / 2 + 2 * bend * (x1 - x0)), end)


def _passed(points: Numbers, corners: Numbers, margin: float = 6.0) -> int:
    """How many boxes some of the points are in."""
    x, y = points[:, :1], points[:, 1:]
    left, top, right, bottom = corners.T
    across = (x > left - margin) & (x < right + margin)
    return int((across & (y > top - margin) & (y < bottom + margin)).any(axis=0).sum())


def arrows(
    flows: Iterable[Link], network: Network, boxes: Sequence[Box], curves: Mapping[Pair, Curve], most_labels: int | None
) -> list[Arrow]:
    """An arrow for each direction that carries something, the largest flow first; the first ones have labels."""
    whole = _by_pair(flows, network)
    order = sorted(whole, key=lambda pair: (-whole[pair].bytes_per_second, pair))
    most = whole[order[0]].bytes_per_second if order else 1.0
    found = []
    for start, end in order:
        share = whole[start, end].bytes_per_second / most
        width = _THINNEST + (_THICKEST - _THINNEST) * share**0.5
        back = whole.get((end, start))
        aside = 0.0 if back is None else (_THICKEST + 4) / 2
        curve = _aside(_directed(curves, start, end), aside)
        found.append(Arrow(whole[start, end], between(curve, boxes[start].at, boxes[end].at), width, None))
    return _labelled(found, boxes, len(found) if most_labels is None else most_labels)


def _by_pair(flows: Iterable[Link], network: Network) -> dict[Pair, Link]:
    """All that flows from one site to another; links side by side count together."""
    found: dict[Pair, Link] = {}
    for flow in flows:
        pair = (network.number(flow.start), network.number(flow.end))
        before = found.get(pair, replace(flow, bytes_per_second=0.0, usd_per_hour=0.0))
        moved, paid = before.bytes_per_second + flow.bytes_per_second, before.usd_per_hour + flow.usd_per_hour
        found[pair] = replace(flow, bytes_per_second=moved, usd_per_hour=paid)
    return found


def _directed(curves: Mapping[Pair, Curve], start: int, end: int) -> Curve:
    if start < end:
        return curves[start, end]
    back = curves[end, start]
    return Curve(back.end, back.bend, back.start)


def _aside(curve: Curve, by: float) -> Curve:
    """The curve moved to its right side, so that the way back, moved to its own right, is free."""
    (x0, y0), (x1, y1) = curve.start, curve.end
    length = float(np.hypot(x1 - x0, y1 - y0))
    dx, dy = -by * (y1 - y0) / length, by * (x1 - x0) / length
    return Curve(*((x + dx, y + dy) for x, y in (curve.start, curve.bend, curve.end)))


def between(curve: Curve, start: Rect, end: Rect) -> Curve:
    """A curve from the middles of two boxes, or near them, cut at their borders."""
    # A little before the border, so that the box does not cover the head of an arrow that comes from aside.
    near = Rect(end.x - _AIR, end.y - _AIR, end.width + 2 * _AIR, end.height + 2 * _AIR)
    return Curve(_leaves(curve.start, curve.bend, start), curve.bend, _leaves(curve.end, curve.bend, near))


def _leaves(inside: Point, towards: Point, box: Rect) -> Point:
    """Where the line from a point in a box to one outside of it leaves the box."""
    (x, y), (dx, dy) = inside, (towards[0] - inside[0], towards[1] - inside[1])
    across = ((box.right if dx > 0 else box.x) - x) / dx if dx else np.inf
    down = ((box.bottom if dy > 0 else box.y) - y) / dy if dy else np.inf
    part = min(across, down, 1.0)
    return x + part * dx, y + part * dy


def _labelled(drawn: Sequence[Arrow], boxes: Sequence[Box], most: int) -> list[Arrow]:
    """The arrows with places for the labels of the first ones, as free of boxes, labels and arrows as can be."""
    taken = [box.at for box in boxes]
    inked = np.concatenate([arrow.curve.points for arrow in drawn]) if drawn else np.zeros((0, 2))
    found = []
    for number, arrow in enumerate(drawn):
        label = min(_label_places(arrow), key=lambda at: _crowd(at, taken, inked)) if number < most else None
        taken += [label] if label is not None else []
        found.append(replace(arrow, label=label))
    return found


def _label_places(arrow: Arrow) -> Iterable[Rect]:
    """Beside the arrow, first at its middle and at its right side, where the way back is not."""
    width = max(text_width(text, LABEL_FONT) for text in arrow.words)
    height = len(arrow.words) * LABEL_LINE
    points = arrow.curve.points
    for side in (1.0, -1.0):
        for part in _LABEL_PLACES:
            number = round(part * (len(points) - 1))
            (x, y), (dx, dy) = points[number], points[number + 1] - points[number - 1]
            length = float(np.hypot(dx, dy)) or 1.0
            across, down = -side * dy / length, side * dx / length
            away = abs(across) * width / 2 + abs(down) * height / 2 + arrow.width / 2 + 3
            yield Rect(float(x + across * away - width / 2), float(y + down * away - height / 2), width, height)


def _crowd(at: Rect, taken: Sequence[Rect], inked: Numbers) -> float:
    """How much of other things a rectangle would hide."""
    hidden = sum(
        max(0.0, min(at.right, one.right) - max(at.x, one.x)) * max(0.0, min(at.bottom, one.bottom) - max(at.y, one.y))
        for one in taken
    )
    inside = (inked[:, 0] > at.x) & (inked[:, 0] < at.right) & (inked[:, 1] > at.y) & (inked[:, 1] < at.bottom)
    return hidden + 30.0 * float(inside.sum())


def _middle(box: Rect) -> Point:
    return box.x + box.width / 2, box.y + box.height / 2
