"""The choices of a join of several streams: every set of streams is a content, every way to halve it a recipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from tradewind.placement.choices import Choices, Content, Gathering, Recipe


@dataclass(frozen=True, slots=True)
class Input:
    """A stream that a join reads: where it arises, and its rate; with a filter, the share of rows that it leaves."""

    name: str
    origins: tuple[int, ...]
    bytes_per_second: float
    kept: float = 1.0
    filter_name: str | None = None


@dataclass(frozen=True, slots=True)
class JoinQuery:
    """A made-up query: streams, and a selectivity for each pair; the rate of a set is the product of all of them.

    As in Seshadri et al.: λ(out) = ρ · Π λ(in), and the rates are bytes.
    """

    inputs: tuple[Input, ...]
    selectivity: Mapping[frozenset[str], float] = field(default_factory=dict)
    cores_per_operator: float = 0.0

    def rate(self, names: Sequence[str], filtered: frozenset[str] = frozenset()) -> float:
        """Bytes per second of the join of the named streams, those in `filtered` behind their filters."""
        by_name = {one.name: one for one in self.inputs}
        found = 1.0
        for name in names:
            found *= by_name[name].bytes_per_second * (by_name[name].kept if name in filtered else 1.0)
        for pair in combinations(sorted(names), 2):
            found *= self.selectivity.get(frozenset(pair), 1.0)
        return found


def halves(members: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every way to cut a set in two, each once.

    >>> list(halves((1, 2, 3)))
    [((1,), (2, 3)), ((1, 2), (3,)), ((1, 3), (2,))]
    """
    first, rest = members[0], members[1:]
    for size in range(len(rest)):
        for some in combinations(rest, size):
            yield (first, *some), tuple(one for one in rest if one not in some)


def join_choices(query: JoinQuery) -> tuple[Choices, str]:
    """All orders of a join, filters early or late; and the key of its answer."""
    whole = Gathering()
    by_name = {one.name: one for one in query.inputs}
    names = sorted(by_name)
    numbers: dict[tuple[tuple[str, ...], frozenset[str]], int] = {}
    for size in range(1, len(names) + 1):
        for some in combinations(names, size):
            for applied in _applied([by_name[name] for name in some]):
                numbers[some, applied] = whole.content(_content(query, some, applied))
    for (some, applied), number in numbers.items():
        for name in sorted(applied):
            before = numbers[some, applied - {name}]
            whole.recipe(Recipe(number, (before,), f"filter {by_name[name].filter_name}", query.cores_per_operator))
        if len(some) > 1:
            for left, right in halves(tuple(range(len(some)))):
                parts = [tuple(some[i] for i in half) for half in (left, right)]
                inputs = tuple(numbers[part, applied & frozenset(part)] for part in parts)
                whole.recipe(Recipe(number, inputs, "join", query.cores_per_operator))
    final = frozenset(one.name for one in query.inputs if one.filter_name)
    return whole.choices(), _key(tuple(names), final, by_name)


def _applied(inputs: Sequence[Input]) -> Iterator[frozenset[str]]:
    named = [one.name for one in inputs if one.filter_name]
    for size in range(len(named) + 1):
        for some in combinations(named, size):
            yield frozenset(some)


def _key(names: tuple[str, ...], applied: frozenset[str], by_name: Mapping[str, Input]) -> str:
    return "⋈".join(f"{n}[{by_name[n].filter_name}]" if n in applied else n for n in names)


def _content(query: JoinQuery, names: tuple[str, ...], applied: frozenset[str]) -> Content:
    by_name = {one.name: one for one in query.inputs}
    origins = by_name[names[0]].origins if len(names) == 1 and not applied else ()
    key = _key(names, applied, by_name)
    rate = query.rate(names, applied)
    return Content(key, rate, rate, origins, None, key)
