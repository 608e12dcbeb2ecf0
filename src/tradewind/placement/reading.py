"""From a query's graph to its choices: each part of the graph a content, each way to make it a recipe.

Inner joins may be done in any order, aggregates in any tree of partials; everything else is done as the rules left it.
What an operator may be given, and where its rows may be, is worked out on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import combinations
from typing import Protocol

from tradewind.algebra.drawing.labels import label
from tradewind.algebra.operators.aggregation import Aggregate, Combine, Partial, detached
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.core import Filter, Join, Map, Source, Union
from tradewind.algebra.operators.stored import Read, Update
from tradewind.network.network import Network
from tradewind.placement.aggregation_trees import Cover
from tradewind.placement.choices import Content, Gathering, Recipe, Work
from tradewind.placement.residency import Residency
from tradewind.rewrites.join_blocks import join_block
from tradewind.rewrites.join_order import JoinBlock
from tradewind.rewrites.partials import Members, Partials, from_finer, partials

MOST_INPUTS = 6
"""Of so many inputs all sets are weighed; of more, only those that lie together in the network."""
MOST_PARTED = 4
"""Sets of so many inputs are put together in all ways; larger ones, two parts at a time."""

_FAMILIES = f"of more than {MOST_INPUTS} inputs of an aggregate, only those near one another are merged on the way"


class Flow(Protocol):
    """How much an operator gives out."""

    @property
    def rows_per_second(self) -> float:
        """Rows in a second."""

    @property
    def bytes_per_second(self) -> float:
        """Bytes in a second, packed."""


class Figures(Protocol):
    """What is known of the rates through operators."""

    def flow(self, node: Operator) -> Flow:
        """What an operator gives out."""

    def cores(self, node: Operator) -> float:
        """How many cores an operator keeps busy."""


Families = Callable[[Partials], Sequence[Cover]]
"""The sets of inputs that are worth bringing together, for aggregates of too many inputs to weigh all."""


@dataclass
class Notes:
    """What the queries of a deployment have been read into so far: equal parts of two queries are read once."""

    gathering: Gathering = field(default_factory=Gathering)
    known: dict[str, int] = field(default_factory=dict)
    sets: dict[tuple[Partials, str], dict[Members, int]] = field(default_factory=dict)
    """The contents of sets of an aggregate's inputs, by how it is read."""
    blocks: dict[tuple[object, ...], int] = field(default_factory=dict)
    """The answers of joins in any order, by what is joined and how it is read."""
    left_out: dict[str, None] = field(default_factory=dict)
    """Why not all that could be planned is among the choices, in words."""
    tables: Mapping[str, int] = field(default_factory=dict)
    """Where named tables are kept: boxes that read or update them run there."""


@dataclass
class Reader:
    """Reads the graph of one query, with its rates and pins, into the choices of all."""

    notes: Notes
    network: Network
    figures: Figures
    residency: Residency
    pins: Mapping[str, str] = field(default_factory=dict)
    pace: str = ""
    """Tells apart partials that are sent at another pace."""
    families: Families | None = None
    most_inputs: int = MOST_INPUTS
    last: frozenset[Operator] = frozenset()
    """Nodes above which nothing asks for event time."""
    aggregates: list[Partials] = field(default_factory=list)
    """The partials that were met, for others to share."""

    def content(self, node: Operator) -> int:
        """The number of the content that a node gives, with all ways to make it."""
        key = self._key(node)
        found = self.notes.known.get(key)
        if found is None:
            found = self.notes.known[key] = self._read(node)
        return found

    def _key(self, node: Operator) -> str:
        marks = self.pace if _partial_below(node) else ""
        pins = (
            ",".join(f"{kind}={site}" for kind, site in sorted(self.pins.items()) if _has(node, kind))
            if self.pins
            else ""
        )
        return node.fingerprint + (f"@{marks}" if marks else "") + (f"!{pins}" if pins else "")

    def _read(self, node: Operator) -> int:
        if isinstance(node, Source):
            return self._source(node)
        if isinstance(node, Join | Filter | Map):
            block = join_block(node, timed=node not in self.last)
            if block is not None:
                return self._joins(node, block)
        parts = partials(node)
        if parts is not None and isinstance(node, Aggregate):
            return self._aggregate(node, parts)
        output = self._add(node)
        self._recipe(output, [self.content(child) for child in node.inputs], node, node.inputs)
        return output

    def _add(self, node: Operator, origins: tuple[int, ...] = ()) -> int:
        flow = self.figures.flow(node)
        within = self.residency.bounds(node).within
        key = self._key(node)
        return self.notes.gathering.content(
            Content(key, flow.bytes_per_second, flow.rows_per_second, origins, within, label(node), node)
        )

    def _recipe(
        self, output: int, inputs: Sequence[int], node: Operator, over: Sequence[Operator], kind: str | None = None
    ) -> None:
        below = set(walk(*over))
        own = [one for one in walk(node) if one not in below]
        cores = sum(map(self.figures.cores, own))
        work = Work(lambda: node, lambda: tuple(over))
        tables = [one.table.name for one in own if isinstance(one, Read | Update)]
        at = next((self.notes.tables[name] for name in tables if name in self.notes.tables), None)
        self._way(output, inputs, kind or node.kind, cores, work, at=at)

    def _way(
        self, output: int, inputs: Sequence[int], kind: str, cores: float, work: Work, *, at: int | None = None
    ) -> None:
        site = self.pins.get(kind, None if at is None else self.network.name(at))
        if site is None and kind == "merge":
            site = self.pins.get("aggregate", self.pins.get("finish"))
        where = frozenset([self.network.number(site)]) if site is not None else None
        self.notes.gathering.recipe(Recipe(output, tuple(inputs), kind, cores, where, work))

    def _source(self, node: Source) -> int:
        origins = tuple(dict.fromkeys(node.origins))
        if len(origins) == 1:
            return self._add(node, (self.network.number(origins[0]),))
        # Each origin's rows are a content of their own, and the stream is their union.
        members = tuple(replace(node, origins=(origin,)) for origin in origins)
        output = self._add(node)
        self._recipe(output, [self.content(member) for member in members], Union(members), members)
        return output

    def _joins(self, node: Operator, block: JoinBlock) -> int:
        meaning = (block.meaning, self.pace, tuple(sorted(self.pins.items())))
        found = self.notes.blocks.get(meaning)
        if found is None:
            found = self.notes.blocks[meaning] = self._in_any_order(node, block)
        return found

    def _in_any_order(self, node: Operator, block: JoinBlock) -> int:
        numbers = {frozenset([n]): self.content(block.plain(n)) for n in range(len(block.inputs))}
        for members in block.sets():
            output = self._add(block.joined(members))
            numbers[members] = self.notes.known[self._key(block.joined(members))] = output
            self._halved(block, output, block.of_halves, block.halves(members), numbers)
        output = self._add(node)
        pairs = [pair for pair in block.halves(block.everything) if block.in_time(*pair)]
        reason = block.left_out()
        if reason is not None:
            self.notes.left_out.setdefault(reason)
        if pairs:
            self._halved(block, output, block.whole, pairs, numbers)
        else:
            self._recipe(output, [self.content(child) for child in node.inputs], node, node.inputs)
        return output

    def _halved(
        self,
        block: JoinBlock,
        output: int,
        make: Callable[[Members, Members], Operator],
        pairs: Sequence[tuple[Members, Members]],
        numbers: Mapping[Members, int],
    ) -> None:
        """The ways to join two halves; others than the first cost as much for each row that they read."""
        below = set(walk(*_halves(block, *pairs[0])))
        cores = sum(self.figures.cores(one) for one in walk(make(*pairs[0])) if one not in below)
        rows = [sum(self.notes.gathering[numbers[half]].rows_per_second for half in pair) for pair in pairs]
        for (left, right), read in zip(pairs, rows, strict=True):
            work = Work(partial(make, left, right), partial(_halves, block, left, right))
            share = read / rows[0] if rows[0] > 0 else 1.0
            self._way(output, [numbers[left], numbers[right]], "join", cores * share, work)

    def _aggregate(self, node: Aggregate, parts: Partials) -> int:
        output = self._add(node)
        whole = parts.answer(node)
        if whole is None:
            self._recipe(output, [self.content(child) for child in node.inputs], node, node.inputs)
            return output
        self.aggregates.append(parts)
        states = self.sets(parts)[parts.everything]
        self._recipe(output, [states], whole, (parts.states(parts.everything),), "merge")
        return output

    def made_of(self, parts: Partials, fine: Partials, other: Reader) -> bool:
        """Let an aggregate that was met be made of finer partials, as another reader reads them; whether it can be."""
        if parts == fine and other.pace == self.pace:
            return True
        if self._made_of(parts, fine, other, frozenset([0])) is None:
            return False
        deeper = other.sets(fine)
        for members, number in self.sets(parts).items():
            made = self._made_of(parts, fine, other, members) if members in deeper else None
            if made is not None and deeper[members] != number:
                self._recipe(number, [deeper[members]], made, (fine.states(members),), "combine")
        return True

    def _made_of(self, parts: Partials, fine: Partials, other: Reader, members: Members) -> Operator | None:
        """Some states made of finer ones, or of the same ones that come more often."""
        if parts == fine and other.pace != self.pace:
            return Combine(fine.states(members), fine.groups, detached(fine.functions))
        return from_finer(parts, fine, members)

    def sets(self, parts: Partials) -> dict[Members, int]:
        """A content for each set of inputs that is worth bringing together."""
        key = (parts, f"{self.pace} {sorted(self.pins.items())}")
        found = self.notes.sets.get(key)
        if found is None:
            found = self.notes.sets[key] = self._sets(parts)
        return found

    def narrowed(self, output: int, wide: int, node: Operator, over: Operator) -> None:
        """One more way to make a content: from another one that contains it."""
        self._recipe(output, [wide], node, (over,))

    def alternative(self, number: int, node: Operator) -> None:
        """Another node for the same answer, as one more way to make a content."""
        same = self.content(node)
        if same != number:
            self._recipe(number, [same], node, (node,), "same")

    def _sets(self, parts: Partials) -> dict[Members, int]:
        """A content for each set of inputs that is worth bringing together, with the ways to do so."""
        numbers: dict[Members, int] = {}
        for number, part in enumerate(parts.parts):
            one = frozenset([number])
            node = parts.states(one)
            numbers[one] = self._add(node)
            self._recipe(numbers[one], [self.content(part)], node, (part,))
        per_row: dict[Members, float] = {}
        for members, some in self._covers(parts):
            if members not in numbers:
                node = parts.states(members)
                numbers[members] = self._add(node)
                rows = sum(self.figures.flow(child).rows_per_second for child in node.inputs)
                per_row[members] = self.figures.cores(node) / rows if rows > 0 else 0.0
            inputs = [numbers[one] for one in some]
            rows = sum(self.notes.gathering[one].rows_per_second for one in inputs)
            work = Work(partial(parts.brought_together, some), partial(_states, parts, some))
            self._way(numbers[members], inputs, "combine", per_row[members] * rows, work)
        return numbers

    def _covers(self, parts: Partials) -> Sequence[Cover]:
        """Every set and every way to halve it, where there are few; else those that the network suggests."""
        everything = sorted(parts.everything)
        if len(everything) > self.most_inputs and self.families is not None:
            if self.most_inputs == MOST_INPUTS:
                self.notes.left_out.setdefault(_FAMILIES)
            found = list(self.families(parts))
            if parts.everything not in (members for members, _ in found):
                found.append((parts.everything, tuple(frozenset([one]) for one in everything)))
            return sorted(found, key=lambda cover: len(cover[0]))
        return [
            (frozenset(members), parts)
            for size in range(2, len(everything) + 1)
            for members in combinations(everything, size)
            for parts in _ways(members)
        ]


def _halves(block: JoinBlock, left: Members, right: Members) -> tuple[Operator, ...]:
    """The nodes that a join reads: joins of several inputs, or an input before its columns are renamed."""
    return tuple(block.joined(half) if len(half) > 1 else block.plain(min(half)) for half in (left, right))


def _states(parts: Partials, some: Sequence[Members]) -> tuple[Operator, ...]:
    return tuple(parts.states(one) for one in some)


def _ways(members: tuple[int, ...]) -> list[tuple[Members, ...]]:
    """The ways to put a set together from two or more of its parts, those with many parts first."""
    found = [parts for parts in _partitions(members) if len(parts) > 1] if len(members) <= MOST_PARTED else []
    if not found:
        first, *rest = members
        for choice in range(2 ** len(rest) - 1):
            left = frozenset([first, *(one for place, one in enumerate(rest) if choice >> place & 1)])
            found.append((left, frozenset(members) - left))
    return sorted(found, key=len, reverse=True)


def _partitions(members: tuple[int, ...]) -> Iterator[tuple[Members, ...]]:
    """Every way to cut a set into parts.

    >>> [[sorted(part) for part in parts] for parts in _partitions((1, 2))]
    [[[1], [2]], [[1, 2]]]
    """
    if not members:
        yield ()
        return
    first, rest = members[0], members[1:]
    for parts in _partitions(rest):
        yield (frozenset([first]), *parts)
        for place, part in enumerate(parts):
            yield (part | {first}, *parts[:place], *parts[place + 1 :])


@lru_cache(maxsize=65_536)
def _partial_below(node: Operator) -> bool:
    return any(isinstance(one, Partial | Aggregate) for one in walk(node))


def _has(node: Operator, kind: str) -> bool:
    return any(one.kind == kind for one in walk(node))
