"""From a checked deployment to a plan of all its queries: the room's front door."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice

from tradewind.algebra.durations import format_duration
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.core import Filter, Map, Source
from tradewind.algebra.operators.stored import Read, Update
from tradewind.cost.declared import declared_statistics
from tradewind.cost.prices import Prices
from tradewind.cost.rounds import pays
from tradewind.cost.statistics import Statistics
from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.network.declared import declared
from tradewind.network.network import Network
from tradewind.placement.aggregation_trees import Cover, covers
from tradewind.placement.choices import Content
from tradewind.placement.ground import Ground
from tradewind.placement.many import Asked, Staged
from tradewind.placement.plan import Goal
from tradewind.placement.reading import MOST_INPUTS, Notes, Reader
from tradewind.placement.residency import Residency
from tradewind.placement.sharing import contained, shared_partials
from tradewind.rewrites.alternatives import alternatives
from tradewind.rewrites.delay_filter_past_join import delay_filter_past_join
from tradewind.rewrites.distribute_join_over_union import distribute_join_over_union
from tradewind.rewrites.engine import Fired, rewrite
from tradewind.rewrites.partials import Partials
from tradewind.rewrites.rounds import Rounds
from tradewind.rewrites.rules import RULES
from tradewind.rewrites.share_contained import share_contained
from tradewind.rewrites.split_aggregate import split_aggregate
from tradewind.rewrites.threshold_top import rounds_of, threshold_top

USD_PER_GB = 0.01
"""What a link costs that declares no price, in dollars for a gigabyte."""

FEW_INPUTS = 3
"""Of partials that are shared, all sets of so many inputs are weighed, and of more those that the network suggests."""

SUMS_OF_PRICES = ("dollars", "bytes")
"""Objectives under which a plan costs what its parts cost."""

_MOST_ALTERNATIVES = 16
"""So many other graphs of one query are weighed beside the rules' own."""

RULES_FOR_PLANS = tuple(rule for rule in RULES if rule not in (split_aggregate, share_contained))
"""Aggregates are put together, and parts are shared, where rates and sites say so."""


@dataclass(frozen=True, eq=False)
class Problem:
    """All that there is to plan: the network, what each query may choose from, and what had to be assumed."""

    deployment: Deployment
    ground: Ground
    residency: Residency
    asked: tuple[Asked, ...]
    shared: tuple[frozenset[str], ...]
    """What several queries could share: each the keys of the contents that make it up."""
    figures: Mapping[str, Statistics]
    fired: Mapping[str, tuple[Fired, ...]]
    warnings: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    """Why some plans are not among those that are weighed, in words."""

    @property
    def network(self) -> Network:
        """The declared network."""
        return self.ground.network

    @property
    def contents(self) -> dict[str, Content]:
        """All contents that some query may choose, by their keys."""
        choices = [one.choices if one.staged is None else one.staged.choices for one in self.asked]
        return {content.key: content for some in choices for content in some.contents}


def problem(
    deployment: Deployment,
    prices: Callable[[Network], Prices],
    *,
    share: bool = True,
    residency: Residency | None = None,
) -> Problem:
    """Read all queries of a deployment; with `share`, partials that several of them could use are choices too.

    Where rows may be is what the streams declare, unless `residency` says something else.
    """
    if not deployment.queries:
        raise InputError("there is nothing to plan.", hint="declare a query under `queries:`.")
    network = declared(deployment.sites, deployment.links, usd_per_gb_default=USD_PER_GB)
    ground = Ground(network, prices(network))
    wishes = {name: stream.leave_region for name, stream in deployment.streams.items()}
    known = declared_statistics(deployment)
    residency = Residency(network, wishes) if residency is None else residency
    figures, graphs, fired = {}, {}, {}
    for name, query in deployment.queries.items():
        done = rewrite(Graph(((name, query.operator),)), RULES_FOR_PLANS)
        figures[name] = Statistics(known, name)
        graphs[name], fired[name] = done.graph, done.trace
    reading = _Reading(deployment, ground, residency, figures, graphs, Notes(tables=_tables(deployment, network)))
    asked, shared = reading.all(share=share)
    warnings = (*_unpriced(deployment), *dict.fromkeys(text for one in figures.values() for text in one.warnings))
    left_out = tuple(reading.notes.left_out)
    return Problem(deployment, ground, residency, asked, shared, figures, fired, warnings, left_out)


def _tables(deployment: Deployment, network: Network) -> dict[str, int]:
    """Where named tables are kept: where a query pins its boxes, or where the first that uses one is delivered."""
    pinned: dict[str, int] = {}
    first: dict[str, int] = {}
    for query in deployment.queries.values():
        for box in walk(query.operator):
            if isinstance(box, Read | Update):
                site = query.pin.get(box.kind)
                if site is not None:
                    pinned.setdefault(box.table.name, network.number(site))
                first.setdefault(box.table.name, network.number(query.deliver.site))
    return first | pinned


def _unpriced(deployment: Deployment) -> Sequence[str]:
    """Under another objective than dollars, what a link costs does not matter."""
    if deployment.objective != "dollars":
        return ()
    without = [link for link in deployment.links if link.usd_per_gb is None]
    shown = ", ".join(f"{a}-{b}" for a, b in (link.between for link in without[:3]))
    more = f" and {len(without) - 3} more" if len(without) > 3 else ""
    return [f"links without usd_per_gb ({shown}{more}): {USD_PER_GB} is assumed."] if without else ()


@dataclass(frozen=True, eq=False)
class _Reading:
    """The queries of a deployment on their way to choices."""

    deployment: Deployment
    ground: Ground
    residency: Residency
    figures: Mapping[str, Statistics]
    graphs: Mapping[str, Graph]
    notes: Notes

    def all(self, *, share: bool) -> tuple[tuple[Asked, ...], tuple[frozenset[str], ...]]:
        """Every query with the choices of all; and what several could share, each as the contents that make it up."""
        readers = {name: self._reader(name) for name in self.deployment.queries}
        keys = {name: self._read(name, reader) for name, reader in readers.items()}
        shared = tuple(self._share(readers)) if share and len(readers) > 1 else ()
        if share and len(readers) > 1:
            self._contain(readers[self._freshest])
        choices = self.notes.gathering.choices()
        asked = [Asked(Goal(name, keys[name], self._sink(name)), choices) for name in self.deployment.queries]
        if share and self.deployment.objective in SUMS_OF_PRICES:
            asked = self._with_rounds(asked, readers)
        return tuple(asked), shared

    def _read(self, name: str, reader: Reader) -> str:
        root = self.graphs[name][name]
        reader.last = frozenset(_last(root))
        number = reader.content(root)
        for other in others(name, self.graphs[name]):
            reader.last |= frozenset(_last(other))
            reader.alternative(number, other)
        return self.notes.gathering[number].key

    def _with_rounds(self, asked: Sequence[Asked], readers: Mapping[str, Reader]) -> list[Asked]:
        """The queries, those with tops that may be found in rounds with these ways beside."""
        found = {name: tuple(self._in_rounds(name, reader)) for name, reader in readers.items()}
        if not any(found.values()):
            return list(asked)
        choices = self.notes.gathering.choices()
        stages = [found[one.goal.query] for one in asked]
        return [replace(a, staged=Staged(choices, s) if s else None) for a, s in zip(asked, stages, strict=True)]

    def _in_rounds(self, name: str, reader: Reader) -> Iterator[tuple[str, ...]]:
        """Let a query's tops be found in rounds: what these use in several places, for each top."""
        graph, figures = self.graphs[name], self.figures[name]
        # What rounds send is little, so that it hardly matters where it comes together.
        few = replace(reader, most_inputs=1, aggregates=[])
        for rounds, other in in_rounds(name, graph):
            figures.expect(rounds)
            if pays(rounds, figures.flow):
                few.alternative(few.content(graph[name]), other)
                numbers = map(few.content, (rounds.threshold, rounds.seen, rounds.candidates))
                yield tuple(self.notes.gathering[number].key for number in numbers)

    def _share(self, readers: Mapping[str, Reader]) -> Iterator[frozenset[str]]:
        """Let aggregates be made of partials that serve several of them, sent as often as the freshest query asks."""
        freshest = self._reader(self._freshest, most_inputs=FEW_INPUTS)
        free = [reader for reader in readers.values() if not reader.pins]
        met = [(reader, parts) for reader in free for parts in dict.fromkeys(reader.aggregates)]
        every = [parts for _, parts in met]
        equal = [parts for parts, count in Counter(every).items() if count > 1]
        for fine in dict.fromkeys([*equal, *shared_partials(every, self.figures[self._freshest])]):
            if sum(reader.made_of(parts, fine, freshest) for reader, parts in met) > 1:
                yield frozenset(self.notes.gathering[number].key for number in freshest.sets(fine).values())

    def _contain(self, reader: Reader) -> None:
        """Let what is contained in something else be made of that."""
        gathering = self.notes.gathering
        for narrow, wide, node in contained(gathering.contents):
            if narrow.operator is not None and wide.operator is not None:
                numbers = gathering.number(narrow.key), gathering.number(wide.key)
                reader.narrowed(*numbers, node, wide.operator)

    @property
    def _freshest(self) -> str:
        """The query whose answer is to be freshest."""
        wishes = {name: query.fresh_within for name, query in self.deployment.queries.items()}
        return min(wishes, key=lambda name: math.inf if (wish := wishes[name]) is None else wish)

    def _sink(self, name: str) -> int:
        return self.ground.network.number(self.deployment.queries[name].deliver.site)

    def _reader(self, name: str, most_inputs: int = MOST_INPUTS) -> Reader:
        query = self.deployment.queries[name]
        return Reader(
            self.notes,
            self.ground.network,
            self.figures[name],
            self.residency,
            query.pin if most_inputs == MOST_INPUTS else {},
            "" if query.fresh_within is None else format_duration(query.fresh_within),
            partial(self._families, sink=self._sink(name)),
            most_inputs,
        )

    def _families(self, parts: Partials, sink: int) -> Sequence[Cover]:
        origins = [self._origin(part) for part in parts.parts]
        if any(origin is None for origin in origins):
            return ()
        return covers(self.ground.routes(), [origin for origin in origins if origin is not None], sink)

    def _origin(self, part: Operator) -> int | None:
        sites = {origin for node in walk(part) if isinstance(node, Source) for origin in node.origins}
        return self.ground.network.number(min(sites)) if sites else None


def _last(root: Operator) -> Iterator[Operator]:
    """The root of a query, and what is below it with only filters and maps between."""
    yield root
    while isinstance(root, Filter | Map):
        root = root.input
        yield root


def in_rounds(name: str, graph: Graph) -> Iterator[tuple[Rounds, Operator]]:
    """Other graphs of a query, each with a top that is found by thresholds that go back to the origins."""
    for other in islice(alternatives(graph, (threshold_top,)), _MOST_ALTERNATIVES):
        rounds = rounds_of(other.node)
        if rounds is not None:
            yield rounds, other.graph[name]


def others(name: str, graph: Graph) -> list[Operator]:
    """Other graphs of a query that only rates can tell apart from its own: filters asked after a join, and joins at the
    origins of a stream.
    """
    delayed = (other.graph[name] for other in alternatives(graph, (delay_filter_past_join,)))
    # Filters that were delayed would be pushed down again; projections that were not may now be.
    spread = (
        rewrite(other.graph, RULES_FOR_PLANS).graph[name]
        for other in alternatives(graph, (distribute_join_over_union,))
    )
    found = chain(delayed, spread)
    return list(islice(found, _MOST_ALTERNATIVES))
