"""Layout with frames: a frame is laid out by itself and then stands as one box in what is around it.

Arrows cross a frame's border at ports: one for each box outside that is read inside, and one for each box inside that
is read outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tradewind.algebra.drawing.layout import Edge, Layout, Point, Rect, Size, layered, topological

SIDE = 8.0
TOP = 26.0
BOTTOM = 14.0
"""The space between a frame and what is in it; the top also holds the frame's name."""
_PORT = Size(0.0, 6.0)
Arrow = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame around some boxes, perhaps inside another frame."""

    name: str
    parent: str | None
    width: float
    """At least as wide as this, so that its name has room."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Where everything is, from (0, 0) to (width, height)."""

    boxes: dict[str, Rect]
    frames: dict[str, Rect]
    paths: dict[Arrow, tuple[Point, ...]]
    width: float
    height: float


def nested(
    sizes: Mapping[str, Size], arrows: Sequence[Arrow], frames: Sequence[Frame], homes: Mapping[str, str],
    last: Sequence[str] = (),
) -> Picture:  # fmt: skip
    """Lay out boxes of which some live in frames (`homes`); `last` ones, which live in none, stand at the right border.

    A frame that cannot stand as one box, because an arrow leaves it and comes back, is left out.
    """
    arrows = list(dict.fromkeys(arrows))
    kept = [frame for frame in frames if any(_inside(home, frame.name, frames) for home in homes.values())]
    plan = _Nesting(sizes, arrows, {frame.name: frame for frame in kept}, dict(homes), last)
    while (culprit := plan.cyclic()) is not None:
        plan = plan.without(culprit)
    return plan.picture()


def _inside(home: str | None, frame: str, frames: Sequence[Frame]) -> bool:
    parents = {one.name: one.parent for one in frames}
    while home is not None and home != frame:
        home = parents[home]
    return home == frame


class _Nesting:
    """One layout with frames in the making. The outermost level is the frame None."""

    def __init__(
        self, sizes: Mapping[str, Size], arrows: Sequence[Arrow], frames: dict[str, Frame], homes: dict[str, str],
        last: Sequence[str],
    ) -> None:  # fmt: skip
        self.sizes = sizes
        self.arrows = arrows
        self.frames = frames
        self.homes = homes
        self.last = last
        self.levels: list[str | None] = [None, *frames]
        self.chains = {name: self._chain(name) for name in sizes}
        self.layouts: dict[str | None, Layout] = {}

    def _chain(self, name: str) -> dict[str | None, str]:
        """For each level that a box is in, the thing on that level that holds it or is it."""
        found: dict[str | None, str] = {}
        thing, level = name, self.homes.get(name)
        while level is not None:
            found[level] = thing
            thing, level = level, self.frames[level].parent
        return {**found, None: thing}

    def without(self, culprit: str) -> _Nesting:
        """The same without one frame; what was in it belongs to the frame around it."""
        parent = self.frames[culprit].parent
        homes = {name: parent if home == culprit else home for name, home in self.homes.items()}
        frames = {
            name: Frame(name, parent if frame.parent == culprit else frame.parent, frame.width)
            for name, frame in self.frames.items()
            if name != culprit
        }
        kept = {name: home for name, home in homes.items() if home is not None}
        return _Nesting(self.sizes, self.arrows, frames, kept, self.last)

    def cyclic(self) -> str | None:
        """A frame that stands on a cycle of its level, if there is one."""
        for level in self.levels:
            things = self._things(level)
            edges = [Edge(a, b) for a, b, _ in self._links(level)]
            behind = set(things) - set(topological(things, edges))
            for frame in self.frames:
                # Going round a cycle from the frame leads back to it; what only lies behind a cycle does not.
                if frame in behind and _returns(frame, edges):
                    return frame
        return None

    def _things(self, level: str | None) -> list[str]:
        """The boxes, frames and ports of a level."""
        own = [chain[level] for chain in self.chains.values() if level in chain]
        ports = [end for a, b, _ in self._links(level) for end in (a, b) if end.startswith(("in:", "out:"))]
        return list(dict.fromkeys([*own, *ports]))

    def _links(self, level: str | None) -> list[tuple[str, str, str]]:
        """The arrows on a level: from, to, and the box where they come from."""
        found = []
        for source, target in self.arrows:
            a, b = self.chains[source].get(level), self.chains[target].get(level)
            if a != b:
                found.append((a or f"in:{source}", b or f"out:{source}", source))
        return list(dict.fromkeys(found))

    def picture(self) -> Picture:
        """Lay out every level, the innermost first, and put all of it into one plane."""
        for level in self._innermost_first():
            self.layouts[level] = self._layout(level)
        origins = self._origins()
        frames = {name: self._moved(name, origins) for name in self.frames}
        boxes = {name: self._moved(name, origins) for name in self.sizes}
        whole = self.layouts[None]
        paths = {arrow: self._path(*arrow, origins) for arrow in self.arrows}
        return Picture(boxes, frames, paths, whole.width, whole.height)

    def _innermost_first(self) -> list[str | None]:
        return [*sorted(self.frames, key=lambda name: (-self._depth(name), name)), None]

    def _depth(self, level: str | None) -> int:
        return 0 if level is None else 1 + self._depth(self.frames[level].parent)

    def _layout(self, level: str | None) -> Layout:
        things = self._things(level)
        sizes = {thing: self._size(thing) for thing in things}
        edges = [
            Edge(a, b, source, self._port(a, f"out:{source}"), self._port(b, f"in:{source}"))
            for a, b, source in self._links(level)
        ]
        first = [thing for thing in things if thing.startswith("in:")]
        last = [thing for thing in things if thing.startswith("out:")] if level is not None else list(self.last)
        return layered(sizes, edges, first, last)

    def _size(self, thing: str) -> Size:
        if thing in self.frames:
            inner = self.layouts[thing]
            return Size(max(inner.width + 2 * SIDE, self.frames[thing].width), inner.height + TOP + BOTTOM)
        return self.sizes.get(thing, _PORT)

    def _port(self, thing: str, port: str) -> float | None:
        """The height at which an arrow crosses a frame's border; of a box, it is free."""
        if thing not in self.frames:
            return None
        place = self.layouts[thing].boxes[port]
        return TOP + place.y + place.height / 2

    def _origins(self) -> dict[str | None, Point]:
        """Where the inside of each frame begins."""
        found: dict[str | None, Point] = {None: (0.0, 0.0)}
        for level in reversed(self._innermost_first()):
            if level is not None:
                parent = self.frames[level].parent
                place, (x, y) = self.layouts[parent].boxes[level], found[parent]
                found[level] = (x + place.x + SIDE, y + place.y + TOP)
        return found

    def _moved(self, thing: str, origins: dict[str | None, Point]) -> Rect:
        level = self.frames[thing].parent if thing in self.frames else self.homes.get(thing)
        place, (x, y) = self.layouts[level].boxes[thing], origins[level]
        return Rect(x + place.x, y + place.y, place.width, place.height)

    def _path(self, source: str, target: str, origins: dict[str | None, Point]) -> tuple[Point, ...]:
        """An arrow's way: out of the frames of its source, across, and into the frames of its target."""
        a, b = self.chains[source], self.chains[target]
        outwards = [level for level in a if level not in b]
        inwards = [level for level in b if level not in a]
        shared = next(level for level in a if level in b)
        points: list[Point] = []
        for level in [*outwards, shared, *reversed(inwards)]:
            ends = a.get(level, f"in:{source}"), b.get(level, f"out:{source}")
            x, y = origins[level]
            way = next(
                p for e, p in self.layouts[level].paths.items() if (e.source, e.target, e.via) == (*ends, source)
            )
            points.extend((x + px, y + py) for px, py in way)
        return tuple(dict.fromkeys(points))


def _returns(name: str, edges: Sequence[Edge]) -> bool:
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        here = waiting.pop()
        following = {edge.target for edge in edges if edge.source == here}
        if name in following:
            return True
        waiting.extend(following - seen)
        seen |= following
    return False
