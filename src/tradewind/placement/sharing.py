"""What several queries can share though it is not the same for each: wider partials, and streams that contain others.

Two aggregates over the same inputs may both be made of partials by the keys of both. Whether that pays depends on how
many groups there are then: pairs whose common partials are fewer bytes than both apart are put together, the best
first, as long as there are any. Placement then decides which query uses them, and where.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from tradewind.algebra.expressions.tree import conjunction
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Map, Source
from tradewind.placement.choices import Content
from tradewind.placement.reading import Figures
from tradewind.rewrites.containment import residual, skeletons
from tradewind.rewrites.partials import Partials, bare, from_finer, made_narrower, wider

MOST_ALIKE = 24
"""Of so many contents that differ in filters and projections only, each is compared with each."""


def shared_partials(met: Sequence[Partials], figures: Figures) -> list[Partials]:
    """Partials that would serve two or more of those that were met, and weigh less than these apart."""
    clusters = list(dict.fromkeys(met))
    weigh = _Weights(figures)
    gains = {pair: weigh.gain(*pair) for pair in combinations(clusters, 2)}
    made: list[Partials] = []
    while gains:
        pair = max(gains, key=lambda one: gains[one])
        common = wider(*pair) if gains[pair] > 0 else None
        if common is None:
            break
        made.append(common)
        clusters = [cluster for cluster in clusters if cluster not in pair]
        gains = {other: gain for other, gain in gains.items() if other[0] not in pair and other[1] not in pair}
        if common not in clusters:
            gains.update({(one, common): weigh.gain(one, common) for one in clusters})
            clusters.append(common)
    return [one for one in dict.fromkeys(made) if _serves(one, met) > 1]


class _Weights:
    """Bytes per second that partials send, and what two of them would save as one."""

    def __init__(self, figures: Figures) -> None:
        self.figures = figures
        self._known: dict[Partials, float] = {}

    def gain(self, one: Partials, other: Partials) -> float:
        """What common partials of two would save; nothing where there are none.

        Inputs are alike but for their rates, so the first stands for all.
        """
        common = wider(one.first, other.first) if len(one.parts) == len(other.parts) else None
        return self._of(one.first) + self._of(other.first) - self._of(common) if common is not None else 0.0

    def _of(self, one: Partials) -> float:
        if one not in self._known:
            self._known[one] = self.figures.flow(one.states(one.everything)).bytes_per_second
        return self._known[one]


def _serves(fine: Partials, met: Sequence[Partials]) -> int:
    return sum(one == fine or from_finer(one, fine, frozenset([0])) is not None for one in met)


def contained(contents: Sequence[Content]) -> Iterator[tuple[Content, Content, Operator]]:
    """Contents that are some rows, or some columns, of another one: both, and how the one is made of the other.

    A join of filtered inputs is some rows of the join of inputs that are filtered less.
    """
    for group in _alike(contents):
        for narrow, wide in permutations(group[:MOST_ALIKE], 2):
            made = _made(narrow, wide)
            if made is not None:
                yield narrow, wide, made


def _alike(contents: Sequence[Content]) -> Iterator[list[Content]]:
    """Contents that differ only in the filters and projections at their top, or only in filters anywhere."""
    nodes = {content.key: content.operator for content in contents if content.operator is not None}
    marks = skeletons(Graph(tuple(nodes.items()))) if nodes else {}
    by_base: dict[str, list[Content]] = {}
    by_skeleton: dict[str, list[Content]] = {}
    for content in contents:
        node = content.operator
        if isinstance(node, Filter | Map):
            by_base.setdefault(bare(node).base.fingerprint, []).append(content)
        elif node is not None:
            by_skeleton.setdefault(marks[node], []).append(content)
    yield from (some for some in (*by_base.values(), *by_skeleton.values()) if len(some) > 1)


def _made(narrow: Content, wide: Content) -> Operator | None:
    one, other = narrow.operator, wide.operator
    if one is None or other is None or _pace(narrow) != _pace(wide):
        return None
    if isinstance(one, Filter | Map):
        return made_narrower(one, other)
    if one.schema != other.schema or isinstance(one, Source):
        return None
    rest = residual(one, other)
    return Filter(other, conjunction(rest)) if rest else None


def _pace(content: Content) -> str:
    """What a key says beside the node: how often it is sent, and what is pinned."""
    return content.key.partition("@")[2] + content.key.partition("!")[2]
