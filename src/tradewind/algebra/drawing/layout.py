"""Boxes in layers from left to right: where each box stands, and which way each arrow takes.

After Sugiyama, Tagawa and Toda (1981): layers by longest path, points where long arrows cross a layer, an order in each
layer by barycentres, then heights that keep that order and pull the ends of arrows level. Equal input, equal output.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tradewind.errors import InternalError

GAP = 34.0
"""Between layers: room for arrows to bend."""
_BORDER_GAP = 18.0
"""Between the layer of a border, in which boxes have no width, and the next one."""
SPACE = 16.0
"""Between the boxes of a layer."""
_SWEEPS = 12
_CROSSING_HEIGHT = 4.0
_STRAIGHT = 8.0
"""How much more it matters that a long arrow runs straight than that a box stands level with its neighbours."""

Point = tuple[float, float]
_Node = str | tuple[int, int]
"""A box, or the point where arrow number i crosses layer j."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large a box is."""

    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Rect:
    """Where a box stands."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x of its right side."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y of its lower side."""
        return self.y + self.height


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow; `via` tells apart those between the same boxes. Its ends' heights in their boxes may be given."""

    source: str
    target: str
    via: str = ""
    leaves: float | None = None
    enters: float | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """All boxes and the corners of all arrows, from (0, 0) to (width, height)."""

    boxes: dict[str, Rect]
    paths: dict[Edge, tuple[Point, ...]]
    width: float
    height: float


def layered(
    sizes: Mapping[str, Size], edges: Sequence[Edge], first: Collection[str] = (), last: Collection[str] = ()
) -> Layout:
    """Lay out an acyclic graph; `first` and `last` name boxes that stand at the left and right border."""
    return _Plan(sizes, list(dict.fromkeys(edges)), first, last).layout()


def layers(
    names: Sequence[str], edges: Sequence[Edge], first: Collection[str], last: Collection[str]
) -> dict[str, int]:
    """The layer of each box: behind all its inputs; boxes without inputs stand just before their readers."""
    found: dict[str, int] = {}
    order = topological(names, edges)
    if len(order) < len(names):
        raise InternalError("a graph with a cycle cannot be laid out.")
    inputs, outputs = _neighbours(edges)
    for name in order:
        found[name] = max((found[one] + 1 for one in inputs[name]), default=0)
    inner = [layer for name, layer in found.items() if name not in last]
    border = max([max(inner, default=-1) + 1, *(found[name] for name in last)])
    found |= dict.fromkeys(last, border)
    for name in order:
        if not inputs[name] and outputs[name] and name not in first:
            found[name] = min(found[one] for one in outputs[name]) - 1
    return found


def topological(names: Sequence[str], edges: Sequence[Edge]) -> list[str]:
    """The boxes, each after those it reads; boxes on a cycle and behind it are left out."""
    inputs, outputs = _neighbours(edges)
    waiting = {name: len(inputs[name]) for name in names}
    found = [name for name in names if not waiting[name]]
    for name in found:  # grows while it is read
        for reader in outputs[name]:
            waiting[reader] -= 1
            if not waiting[reader]:
                found.append(reader)
    return found


def _neighbours(edges: Sequence[Edge]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    inputs: dict[str, list[str]] = defaultdict(list)
    outputs: dict[str, list[str]] = defaultdict(list)
    for edge in edges:
        inputs[edge.target].append(edge.source)
        outputs[edge.source].append(edge.target)
    return inputs, outputs


class _Plan:
    """One layout in the making."""

    def __init__(
        self, sizes: Mapping[str, Size], edges: list[Edge], first: Collection[str], last: Collection[str]
    ) -> None:
        self.sizes = sizes
        self.edges = edges
        self.last = last
        self.layer = layers(list(sizes), edges, first, last)
        self.has_inputs = {edge.target for edge in edges}
        self.chains: list[tuple[_Node, ...]] = [
            (e.source, *((i, j) for j in range(self.layer[e.source] + 1, self.layer[e.target])), e.target)
            for i, e in enumerate(edges)
        ]
        self.columns = self._columns()
        self.links = self._links()

    def _columns(self) -> list[list[_Node]]:
        columns: list[list[_Node]] = [[] for _ in range(max(self.layer.values(), default=-1) + 1)]
        for name in topological(list(self.sizes), self.edges):
            columns[self.layer[name]].append(name)
        for chain in self.chains:
            for point in chain[1:-1]:
                columns[_layer(point)].append(point)
        return columns

    def _links(self) -> tuple[dict[_Node, list[tuple[_Node, float]]], dict[_Node, list[tuple[_Node, float]]]]:
        """Each node's neighbours to the left and to the right, and how far from their middles its own should be."""
        left: dict[_Node, list[tuple[_Node, float]]] = defaultdict(list)
        right: dict[_Node, list[tuple[_Node, float]]] = defaultdict(list)
        for edge, chain in zip(self.edges, self.chains, strict=True):
            for a, b in pairwise(chain):
                start = self._offset(edge.source, edge.leaves) if a == edge.source else 0.0
                end = self._offset(edge.target, edge.enters) if b == edge.target else 0.0
                left[b].append((a, start - end))
                right[a].append((b, end - start))
        return left, right

    def _offset(self, name: str, height: float | None) -> float:
        return 0.0 if height is None else height - self.sizes[name].height / 2

    def layout(self) -> Layout:
        """Order, heights, places, arrows."""
        self._reduce_crossings()
        middles = self._compact(self._middles())
        bounds = self._bounds()
        boxes = {name: self._place(name, middles[name], bounds) for name in self.sizes}
        height = max((y + self._height(node) / 2 for node, y in middles.items()), default=0.0)
        return Layout(boxes, self._paths(boxes, middles, bounds), bounds[-1][1] if bounds else 0.0, height)

    def _height(self, node: _Node) -> float:
        return self.sizes[node].height if isinstance(node, str) else _CROSSING_HEIGHT

    def _reduce_crossings(self) -> None:
        best, fewest = [list(column) for column in self.columns], self._crossings()
        for sweep in range(_SWEEPS):
            if not fewest:
                break
            links = self.links[sweep % 2]
            for column in self.columns if sweep % 2 == 0 else reversed(self.columns):
                place = {node: i for other in self.columns for i, node in enumerate(other)}
                column.sort(key=lambda node: _mean([place[n] for n, _ in links[node]], place[node]))
            if (count := self._crossings()) < fewest:
                best, fewest = [list(column) for column in self.columns], count
        self.columns = best

    def _crossings(self) -> int:
        total = 0
        for column, following in pairwise(self.columns):
            place = {node: i for i, node in enumerate(following)}
            seen: list[int] = []
            for node in column:
                ends = [place[other] for other, _ in self.links[1][node]]
                total += sum(len(seen) - bisect_right(seen, end) for end in ends)
                for end in ends:
                    insort(seen, end)
        return total

    def _middles(self) -> dict[_Node, float]:
        """The height of every node's middle."""
        found: dict[_Node, float] = {}
        for column in self.columns:
            found |= zip(column, self._settled(column, [0.0] * len(column)), strict=True)
        for sweep in range(_SWEEPS + 1):  # the last one goes right, so that arrows end as straight as they can
            for column in self.columns if sweep % 2 == 0 else reversed(self.columns):
                near = self.links[sweep % 2]
                wanted = [_mean([found[n] + shift for n, shift in near[node]], found[node]) for node in column]
                found |= zip(column, self._settled(column, wanted), strict=True)
        return found

    def _compact(self, middles: dict[_Node, float]) -> dict[_Node, float]:
        """The same from height 0 on, without the empty stripes from border to border."""
        found: dict[_Node, float] = {}
        filled, taken = 0.0, 0.0  # down to where there is something, and what has been taken out above
        for node in sorted(middles, key=lambda one: middles[one] - self._height(one) / 2):
            top = middles[node] - self._height(node) / 2
            taken += top - taken if not found else max(0.0, top - taken - filled - 2 * SPACE)
            found[node] = middles[node] - taken
            filled = max(filled, found[node] + self._height(node) / 2)
        return found

    def _settled(self, column: list[_Node], wanted: list[float]) -> list[float]:
        """The heights nearest to the wanted ones at which the column's nodes keep their order and distances.

        Without the distances the heights must only not fall: least squares by pooling adjacent violators.
        """
        shifts = [0.0]
        for above, below in pairwise(column):
            shifts.append(shifts[-1] + (self._height(above) + self._height(below)) / 2 + SPACE)
        pools: list[tuple[float, float, int]] = []  # height, weight, members
        for node, want, shift in zip(column, wanted, shifts, strict=False):
            height, weight, members = want - shift, 1.0 if isinstance(node, str) else _STRAIGHT, 1
            while pools and pools[-1][0] > height:
                other, heavy, more = pools.pop()
                height = (height * weight + other * heavy) / (weight + heavy)
                weight, members = weight + heavy, members + more
            pools.append((height, weight, members))
        flat = [height for height, _, members in pools for _ in range(members)]
        return [height + shift for height, shift in zip(flat, shifts, strict=False)]

    def _bounds(self) -> list[tuple[float, float]]:
        """Where each layer begins and ends."""
        found: list[tuple[float, float]] = []
        for column in self.columns:
            width = max((self.sizes[n].width for n in column if isinstance(n, str)), default=0.0)
            gap = GAP if not found or (width and found[-1][0] < found[-1][1]) else _BORDER_GAP
            start = found[-1][1] + gap if found else 0.0
            found.append((start, start + width))
        return found

    def _place(self, name: str, middle: float, bounds: list[tuple[float, float]]) -> Rect:
        """A box stands at its layer's left; one without inputs at the right, where its neighbours are."""
        size, (start, end) = self.sizes[name], bounds[self.layer[name]]
        at_right = name in self.last or (name not in self.has_inputs and size.width > 0)
        return Rect(end - size.width if at_right else start, middle - size.height / 2, size.width, size.height)

    def _paths(
        self, boxes: dict[str, Rect], middles: dict[_Node, float], bounds: list[tuple[float, float]]
    ) -> dict[Edge, tuple[Point, ...]]:
        enters = self._entries(boxes, middles)
        found = {}
        for edge, chain in zip(self.edges, self.chains, strict=True):
            source, target = boxes[edge.source], boxes[edge.target]
            start = source.y + (source.height / 2 if edge.leaves is None else edge.leaves)
            points = [(source.right, start), (bounds[self.layer[edge.source]][1], start)]
            for point in chain[1:-1]:
                points.extend((x, middles[point]) for x in bounds[_layer(point)])
            points += [(bounds[self.layer[edge.target]][0], enters[edge]), (target.x, enters[edge])]
            found[edge] = tuple(dict.fromkeys(points))
        return found

    def _entries(self, boxes: dict[str, Rect], middles: dict[_Node, float]) -> dict[Edge, float]:
        """The heights at which arrows reach their boxes: spread, in the order in which they come."""
        arriving: dict[str, list[tuple[float, int]]] = defaultdict(list)
        for number, (edge, chain) in enumerate(zip(self.edges, self.chains, strict=True)):
            if edge.enters is None:
                arriving[edge.target].append((middles[chain[-2]], number))
        found = {edge: boxes[edge.target].y + edge.enters for edge in self.edges if edge.enters is not None}
        for name, ends in arriving.items():
            box = boxes[name]
            step = min(14.0, box.height / (len(ends) + 1))
            for place, (_, number) in enumerate(sorted(ends)):
                found[self.edges[number]] = box.y + box.height / 2 + step * (place - (len(ends) - 1) / 2)
        return found


def _layer(point: _Node) -> int:
    """The layer that an arrow crosses at a point between boxes."""
    return int(point[1])


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
