"""A graph as a self-contained SVG: boxes by family, arrows from left to right, superboxes as dashed frames."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from tradewind.algebra.drawing.families import FAMILIES, OTHER, RESULT, Family, family
from tradewind.algebra.drawing.labels import box_name, label, parts
from tradewind.algebra.drawing.layout import GAP, Edge, Point, Rect, Size, layers
from tradewind.algebra.drawing.nesting import Frame, Picture, nested
from tradewind.algebra.drawing.scene import Scene, scene_of
from tradewind.algebra.drawing.wrapping import BOLD, text_width, wrap
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator

Note = Callable[[Operator], str]
_FONT = 12.0
_LINE = 15.0
_PADDING = 8.0
_MARGIN = 16.0
_PAGE = 1000.0
_WIDEST, _NARROWEST = 190.0, 108.0
_LINES = 9
_INK, _PALE_INK, _ARROW = "#1c2733", "#4a5866", "#5b6b7b"
_FONTS = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"
_UNWRITABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class _Words:
    """The lines of one box: in bold what it is, then what it does, then what is noted about it."""

    head: tuple[str, ...]
    detail: tuple[str, ...]
    noted: tuple[str, ...]

    @property
    def height(self) -> float:
        return (len(self.head) + len(self.detail) + len(self.noted)) * _LINE + 2 * _PADDING - 3


def draw_svg(drawn: Graph | Operator, note: Note | None = None) -> str:
    """The picture of a graph or of one operator; what `note` says about a node is written in its box."""
    graph = drawn if isinstance(drawn, Graph) else Graph.of(result=drawn)
    scene = scene_of(graph)
    width = _box_width(scene)
    words = {name: _words(node, width, note) for name, node in scene.boxes.items()}
    return _page(scene, _arranged(scene, words, width), words)


def _box_width(scene: Scene) -> float:
    """As wide as lets all layers stand side by side on the page, within reason."""
    names = [*scene.boxes, *scene.results]
    deep = 1 + max(layers(names, [Edge(a, b) for a, b in scene.arrows], (), ()).values(), default=0)
    return max(_NARROWEST, min(_WIDEST, _PAGE / deep - GAP))


def _words(node: Operator, width: float, note: Note | None) -> _Words:
    head, detail = parts(node)
    room = width - 2 * _PADDING
    said = note(node) if note else ""
    heads = wrap(head, room / BOLD, _FONT, 2)
    return _Words(tuple(heads), tuple(wrap(detail, room, _FONT, _LINES)), tuple(wrap(said, room, _FONT, 3)))


def _arranged(scene: Scene, words: Mapping[str, _Words], width: float) -> Picture:
    sizes = {name: Size(width, one.height) for name, one in words.items()}
    for name, result in scene.results.items():
        wanted = text_width(_shown_result(result), _FONT, bold=True) + 2 * _PADDING
        sizes[name] = Size(wanted, _LINE + 2 * _PADDING - 3)
    frames = [
        Frame(name, scene.parents[name], min(text_width(box_name(box), _FONT) + 24, 3 * width))
        for name, box in scene.frames.items()
    ]
    return nested(sizes, scene.arrows, frames, scene.homes, list(scene.results))


def _shown_result(name: str) -> str:
    return name if len(name) <= 30 else name[:29] + "…"


def _page(scene: Scene, picture: Picture, words: Mapping[str, _Words]) -> str:
    present = {family(node) for node in scene.boxes.values()}
    legend = _legend([one for one in (*FAMILIES, OTHER) if one in present] + [RESULT], picture.height + 2 * _MARGIN)
    width = max(picture.width + 2 * _MARGIN, legend[1])
    height = picture.height + 3 * _MARGIN + 12
    content = [
        *(_frame(scene, name, rect) for name, rect in sorted(picture.frames.items())),
        *(_arrow(a, b, points) for (a, b), points in picture.paths.items()),
        *(_box(name, node, words[name], picture.boxes[name]) for name, node in scene.boxes.items()),
        *(_result(name, result, picture.boxes[name]) for name, result in scene.results.items()),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(width)} {_n(height)}" width="{_n(width)}" '
        f'height="{_n(height)}" font-family="{_FONTS}" font-size="{_n(_FONT)}">\n'
        f'<rect width="{_n(width)}" height="{_n(height)}" fill="#ffffff"/>\n'
        f'<g transform="translate({_n(_MARGIN)} {_n(_MARGIN)})">\n'
        + "\n".join(content)
        + f"\n</g>\n{legend[0]}\n</svg>\n"
    )


def _box(name: str, node: Operator, words: _Words, at: Rect) -> str:
    colours = family(node)
    tip = f"{label(node)}\n{node.schema}" + (f"\nevent time: {node.schema.time}" if node.schema.time else "")
    lines = [(line, 'font-weight="600"', _INK) for line in words.head]
    lines += [(line, "", _INK) for line in words.detail]
    lines += [(line, 'font-style="italic"', _PALE_INK) for line in words.noted]
    spans = "".join(
        f'<tspan x="{_n(at.x + _PADDING)}" y="{_n(at.y + _PADDING + 9 + i * _LINE)}" fill="{ink}"'
        f"{f' {style}' if style else ''}>{_text(line)}</tspan>"
        for i, (line, style, ink) in enumerate(lines)
    )
    return (
        f'<g class="box" id={_id(name)}><title>{_text(tip)}</title>{_rounded(at, colours, 6)}<text>{spans}</text></g>'
    )


def _result(name: str, result: str, at: Rect) -> str:
    shape = _rounded(at, RESULT, at.height / 2)
    return (
        f'<g class="result" id={_id(name)}><title>{_text(f"result {result}")}</title>{shape}'
        f'<text x="{_n(at.x + at.width / 2)}" y="{_n(at.y + at.height / 2 + 4)}" text-anchor="middle" '
        f'font-weight="600" fill="{_INK}">{_text(_shown_result(result))}</text></g>'
    )


def _rounded(at: Rect, colours: Family, radius: float) -> str:
    return (
        f'<rect x="{_n(at.x)}" y="{_n(at.y)}" width="{_n(at.width)}" height="{_n(at.height)}" rx="{_n(radius)}" '
        f'fill="{colours.fill}" stroke="{colours.line}" stroke-width="1.2"/>'
    )


def _frame(scene: Scene, name: str, at: Rect) -> str:
    title = box_name(scene.frames[name])
    line = wrap(title, at.width - 16, _FONT, 1)[0]
    return (
        f'<g class="frame" id={_id(name)}><title>{_text(f"box {title}")}</title>'
        f'<rect x="{_n(at.x)}" y="{_n(at.y)}" width="{_n(at.width)}" height="{_n(at.height)}" rx="9" '
        f'fill="#000000" fill-opacity="0.025" stroke="{_PALE_INK}" stroke-dasharray="5 4"/>'
        f'<text x="{_n(at.x + 10)}" y="{_n(at.y + 16)}" fill="{_PALE_INK}" font-style="italic">{_text(line)}</text></g>'
    )


def _arrow(source: str, target: str, points: tuple[Point, ...]) -> str:
    (x0, y0), (end, y1) = points[0], points[-1]
    tip = 7.0
    steps = [f"M{_n(x0)} {_n(y0)}"]
    for (ax, ay), (bx, by) in zip(points, (*points[1:-1], (end - tip, y1)), strict=False):
        middle = (ax + bx) / 2
        bend = f"C{_n(middle)} {_n(ay)} {_n(middle)} {_n(by)} {_n(bx)} {_n(by)}"
        steps.append(f"H{_n(bx)}" if ay == by else bend)
    return (
        f'<g class="arrow" data-from={_id(source)} data-to={_id(target)}>'
        f'<path d="{"".join(steps)}" fill="none" stroke="{_ARROW}" stroke-width="1.4"/>'
        f'<path d="M{_n(end)} {_n(y1)}l{_n(-tip - 1)} -4v8z" fill="{_ARROW}"/></g>'
    )


def _legend(families: list[Family], y: float) -> tuple[str, float]:
    """The legend's drawing, and how wide it is."""
    found, x = [], _MARGIN
    for one in families:
        found.append(
            f'<rect x="{_n(x)}" y="{_n(y)}" width="12" height="12" rx="3" fill="{one.fill}" stroke="{one.line}"/>'
            f'<text x="{_n(x + 17)}" y="{_n(y + 10)}" font-size="11" fill="{_PALE_INK}">{_text(one.name)}</text>'
        )
        x += 17 + text_width(one.name, 11) + 16
    return f'<g class="legend">{"".join(found)}</g>', x


def _n(value: float) -> str:
    """A number without needless digits."""
    return f"{value:.1f}".rstrip("0").rstrip(".") if value else "0"


def _id(name: str) -> str:
    return quoteattr(name)


def _text(text: str) -> str:
    """Text as XML can hold it: what XML has no way to write becomes a replacement character."""
    return escape(_UNWRITABLE.sub("�", text))
