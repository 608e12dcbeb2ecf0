"""Plans of random graphs on random networks, with made-up rates: so that every way to make something is chosen once."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.random_graphs import ORIGINS, random_graph
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.properties import order_sensitive
from tradewind.cost.prices import Prices
from tradewind.network.network import Network, Place, Wire, both_ways
from tradewind.placement.ground import Ground
from tradewind.placement.many import Asked
from tradewind.placement.plan import Goal
from tradewind.placement.planning import RULES_FOR_PLANS, in_rounds, others
from tradewind.placement.reading import Notes, Reader
from tradewind.placement.residency import Residency
from tradewind.placement.sharing import contained, shared_partials
from tradewind.rewrites.engine import rewrite


@dataclass(frozen=True)
class MadeUp:
    """A rate."""

    rows_per_second: float
    bytes_per_second: float


@dataclass(frozen=True)
class MadeUpFigures:
    """Rates that only depend on the node and a seed."""

    seed: int

    def flow(self, node: Operator) -> MadeUp:
        chance = random.Random(f"{self.seed} {node.fingerprint}")
        rows = 10 ** chance.uniform(0, 4)
        return MadeUp(rows, rows * chance.uniform(5, 200))

    def cores(self, node: Operator) -> float:
        return random.Random(f"{self.seed} cores {node.fingerprint}").uniform(0, 0.01)


def random_network(chance: random.Random) -> Network:
    """The three origins and one to three more sites, connected, with uneven prices."""
    names = [*ORIGINS, *("dc1", "dc2", "hq")[: chance.randint(1, 3)]]
    places = [Place(name, 4, chance.choice(("eu", "us")), chance.uniform(0, 1)) for name in names]
    wires = [
        Wire(names[number], names[chance.randrange(number)], 100, 10, chance.uniform(0.01, 1))
        for number in range(1, len(names))
    ]
    for _ in range(2):
        a, b = chance.sample(names, 2)
        if not any({a, b} == {wire.start, wire.end} for wire in wires):
            wires.append(Wire(a, b, 100, 10, chance.uniform(0.01, 1)))
    return Network.of(places, both_ways(wires))


@dataclass(frozen=True)
class Case:
    """A graph to be planned, and what there is to choose from."""

    graph: Graph
    ground: Ground
    asked: tuple[Asked, ...]
    shared: tuple[frozenset[str], ...]


def random_case(seed: int) -> Case | None:
    """None where the graph drawn cannot be planned, or any plan may rightly answer otherwise.

    That is so where a stream arises nowhere in particular, and where the order in which several origins' rows come to
    one place decides the answer: no plan keeps that order.
    """
    chance = random.Random(seed)
    graph = random_graph(chance)
    if any(not source.origins for source in graph.sources().values()):
        return None
    if any(order_sensitive(node) for node in graph):
        return None
    network = random_network(chance)
    ground = Ground(network, Prices.of_dollars(network))
    figures = MadeUpFigures(seed)
    graphs = {name: rewrite(Graph(((name, node),)), RULES_FOR_PLANS).graph for name, node in graph.results}
    sinks = {name: chance.randrange(len(network)) for name in graphs}
    boxes = [node for node in graph if isinstance(node, Read | Update)]
    notes = Notes(tables={box.table.name: chance.randrange(len(network)) for box in boxes})
    readers = {name: Reader(notes, network, figures, Residency(network, {})) for name in graphs}
    keys = {name: _read(graphs[name], name, reader) for name, reader in readers.items()}
    met = [(reader, parts) for reader in readers.values() for parts in reader.aggregates]
    shared = []
    for fine in shared_partials([parts for _, parts in met], figures):
        other = Reader(notes, network, figures, Residency(network, {}))
        if sum(reader.made_of(parts, fine, other) for reader, parts in met) > 1:
            shared.append(frozenset(notes.gathering[number].key for number in other.sets(fine).values()))
    for narrow, wide, node in contained(notes.gathering.contents):
        numbers = notes.gathering.number(narrow.key), notes.gathering.number(wide.key)
        if wide.operator is not None:
            next(iter(readers.values())).narrowed(*numbers, node, wide.operator)
    choices = notes.gathering.choices()
    asked = tuple(Asked(Goal(name, keys[name], sinks[name]), choices) for name in graphs)
    return Case(graph, ground, asked, tuple(shared))


def _read(graph: Graph, name: str, reader: Reader) -> str:
    number = reader.content(graph[name])
    for other in (*others(name, graph), *(found for _, found in in_rounds(name, graph))):
        reader.alternative(number, other)
    return reader.notes.gathering[number].key


def contents(case: Case):
    """All contents that the case's queries know."""
    return case.asked[0].choices.contents
