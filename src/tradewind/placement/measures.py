"""What a plan does, measured by operator, by site and by query; and what a metric of the user's own makes of that.

Operators are the steps of the plan, and for each query its delivery: it does no work, so it has none of the statistics
of work, but links lead into it. Streams are no operators. The operators of a query are those that its answer rests on;
NODES are all sites of the network, also the idle ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf

from tradewind.cost.prices import Prices
from tradewind.errors import InternalError
from tradewind.frontends.metrics.tree import (
    Along,
    Bound,
    Direction,
    Fold,
    Metric,
    OfNode,
    OperatorCost,
    OverOperators,
    OverQueries,
    Relation,
    Statistic,
    SystemCost,
)
from tradewind.network.network import Network
from tradewind.placement.choices import Choices, Content
from tradewind.placement.plan import Goal, Hop, Plan, Step, providers

Figures = Mapping[str, float]

_OF_EACH = {(Fold.MAX, Relation.AT_MOST), (Fold.MIN, Relation.AT_LEAST)}
"""What is said of the greatest is said of all: so it is seen when one of two sites that are too loaded is mended."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A content at a site: when it is there after it arose, who made it, and the way since then."""

    response_ms: float = 0.0
    maker: int | None = None
    ms: float = 0.0
    capacity: float = inf
    dollars: float = 0.0


@dataclass(frozen=True, slots=True)
class Measures:
    """Statistics of every operator and site of one plan, and which operators belong together."""

    operators: tuple[Figures, ...]
    above: tuple[frozenset[int], ...]
    """For each operator, itself and all that it rests on."""
    nodes: tuple[Figures, ...]
    at_node: tuple[frozenset[int], ...]
    queries: Mapping[str, frozenset[int]]
    response_ms: Mapping[str, float]
    """For each query, how long its slowest rows are on links from where they arise to where it is delivered."""

    def value(self, cost: SystemCost) -> float:
        """What a metric comes to; 0 where there is nothing to fold."""
        return cost.fold.of(self.parts(cost)) or 0.0

    def parts(self, cost: SystemCost) -> list[float | None]:
        """What each site, or each query, adds to a metric."""
        if isinstance(cost, OverQueries):
            return [self._over(cost.each, members, members) for members in self.queries.values()]
        if isinstance(cost.each, OfNode):
            return [self._of_node(cost.each, node) for node in self.nodes]
        everyone = frozenset(range(len(self.operators)))
        return [self._over(cost.each, members, everyone) for members in self.at_node]

    def _of_node(self, cost: OfNode, node: Figures) -> float | None:
        return cost.fold.of(node[name] for name in cost.statistics)

    def _over(self, cost: OverOperators, members: frozenset[int], known: frozenset[int]) -> float | None:
        return cost.fold.of(self._operator(cost.each, one, known) for one in sorted(members))

    def _operator(self, cost: OperatorCost, one: int, known: frozenset[int]) -> float | None:
        if isinstance(cost, Statistic):
            return self.operators[one].get(cost.name)
        if cost.direction is Direction.UP:
            meant: Iterable[int] = self.above[one]
        else:
            meant = (other for other in known if one in self.above[other])
        return cost.fold.of(self.operators[other].get(cost.statistic.name) for other in sorted(meant))

    def excess(self, bound: Bound) -> float:
        """By how much a bound is broken, as shares of it, summed over all that it speaks of; 0 where it holds."""
        return sum(bound.excess(left, right) for left, right in self._compared(bound))

    def _compared(self, bound: Bound) -> list[tuple[float, float]]:
        if isinstance(bound.left, Statistic | Along):
            everyone = frozenset(range(len(self.operators)))
            found = [self._operator(bound.left, one, everyone) for one in range(len(self.operators))]
        elif isinstance(bound.left, OfNode):
            found = [self._of_node(bound.left, node) for node in self.nodes]
        elif (bound.left.fold, bound.relation) in _OF_EACH:
            found = self.parts(bound.left)
        else:
            found = [self.value(bound.left)]
        if isinstance(bound.right, Statistic):
            limits = [figures.get(bound.right.name) for figures in self.operators]
        else:
            limits = [bound.right] * len(found)
        pairs = zip(found, limits, strict=True)
        return [(left, right) for left, right in pairs if left is not None and right is not None]


@dataclass(frozen=True, slots=True)
class Broken:
    """A bound that a plan does not keep, and by which share of it."""

    bound: Bound
    excess: float


def evaluate(metric: Metric, plan: Plan, network: Network, choices: Choices) -> float:
    """What a metric comes to for a plan, whether or not its bounds hold."""
    return measure(plan, network, choices).value(metric.cost)


def broken_bounds(metric: Metric, plan: Plan, network: Network, choices: Choices) -> tuple[Broken, ...]:
    """The bounds of a metric that a plan does not keep."""
    found = measure(plan, network, choices)
    return tuple(Broken(bound, excess) for bound in metric.where if (excess := found.excess(bound)) > 0)


def measure(plan: Plan, network: Network, choices: Choices) -> Measures:
    """All statistics of a plan; `choices` say what each content is and where it arises."""
    work = _Survey(network, {content.key: content for content in choices.contents}, Prices.of_dollars(network))
    work.walk(plan)
    queries = {goal.query: work.above[work.deliver(goal)] for goal in plan.goals}
    at_node: list[set[int]] = [set() for _ in network.places]
    for number, site in enumerate(work.sites):
        at_node[site].add(number)
    responses = {goal.query: work.arrivals[goal.content, goal.site].response_ms for goal in plan.goals}
    return Measures(
        tuple(work.operators),
        tuple(work.above),
        tuple(_node_figures(plan, network, work.prices)),
        tuple(map(frozenset, at_node)),
        queries,
        responses,
    )


def _node_figures(plan: Plan, network: Network, prices: Prices) -> list[Figures]:
    found: list[Figures] = []
    busy, carried = plan.at_sites(network), plan.on_links(network)
    charged = carried * prices.per_byte
    arriving, leaving, dollars = ([0.0] * len(network) for _ in range(3))
    for link in carried.nonzero()[0]:
        arriving[network.end[link]] += float(carried[link])
        leaving[network.start[link]] += float(carried[link])
        dollars[network.start[link]] += float(charged[link])
    for site, place in enumerate(network.places):
        cores = float(busy[site])
        found.append(
            {
                "cores": cores,
                "load": _share(cores, place.cores),
                "bytes_in": arriving[site],
                "bytes_out": leaving[site],
                "dollars": dollars[site] + cores * place.usd_per_core_hour,
            }
        )
    return found


def _share(cores: float, of: float) -> float:
    if cores == 0:
        return 0.0
    return cores / of if of > 0 else inf


@dataclass(slots=True)
class _Survey:
    """The walk over a plan from its origins on, in which every operator finds its inputs measured."""

    network: Network
    contents: Mapping[str, Content]
    prices: Prices
    arrivals: dict[tuple[str, int], Arrival] = field(default_factory=dict)
    operators: list[dict[str, float]] = field(default_factory=list)
    above: list[frozenset[int]] = field(default_factory=list)
    sites: list[int] = field(default_factory=list)

    def walk(self, plan: Plan) -> None:
        """Measure every step and every arrival."""
        origins = {content.key: content.origins for content in self.contents.values()}
        numbers: dict[Step, int] = {}
        # What provides something was found after what it rests on, so one pass in this order is enough.
        for (key, site), provider in providers(plan, self.network, origins).items():
            if isinstance(provider, Hop):
                self.arrivals[key, site] = self._moved(provider)
            elif isinstance(provider, Step):
                number = numbers[provider] = self._step(provider)
                self.arrivals[key, site] = Arrival(self.operators[number]["response_ms"], number)
            else:
                self.arrivals[key, site] = Arrival()
        for step in sorted(plan.steps - numbers.keys(), key=lambda s: (s.output, s.site, s.inputs, s.kind)):
            self._step(step)

    def deliver(self, goal: Goal) -> int:
        """Add the delivery of a query."""
        return self._operator((goal.content,), goal.site)

    def _moved(self, hop: Hop) -> Arrival:
        before = self.arrivals[hop.content, int(self.network.start[hop.link])]
        ms = float(self.network.ms[hop.link])
        return Arrival(
            before.response_ms + ms,
            before.maker,
            before.ms + ms,
            min(before.capacity, float(self.network.bytes_per_second[hop.link])),
            before.dollars + hop.bytes_per_second * float(self.prices.per_byte[hop.link]),
        )

    def _step(self, step: Step) -> int:
        number = self._operator(step.inputs, step.site)
        made, place = self.contents[step.output], self.network.places[step.site]
        figures = self.operators[number]
        figures["cores"] = step.cores
        figures["load"] = _share(step.cores, place.cores)
        figures["bytes_out"], figures["rows_out"] = made.bytes_per_second, made.rows_per_second
        figures["dollars"] += step.cores * place.usd_per_core_hour
        return number

    def _operator(self, inputs: tuple[str, ...], site: int) -> int:
        if missing := [key for key in inputs if (key, site) not in self.arrivals]:
            raise InternalError(f"the plan never brings {missing[0]!r} to {self.network.name(site)!r}.")
        # An operator that reads one content twice receives it once.
        keys = dict.fromkeys(inputs)
        came = [self.arrivals[key, site] for key in keys]
        read = [self.contents[key] for key in keys]
        number = len(self.operators)
        self.operators.append(
            {
                "bytes_in": sum(content.bytes_per_second for content in read),
                "rows_in": sum(content.rows_per_second for content in read),
                "ms": max((one.ms for one in came), default=0.0),
                "response_ms": max((one.response_ms for one in came), default=0.0),
                "capacity": min((one.capacity for one in came), default=inf),
                "dollars": sum(one.dollars for one in came),
            }
        )
        self.above.append(frozenset({number}).union(*(self.above[one.maker] for one in came if one.maker is not None)))
        self.sites.append(site)
        return number


def profile(measures: Measures, cost: SystemCost) -> tuple[float, ...]:
    """A metric as something to descend on: its value; for a maximum also all lesser parts, in falling order.

    While two sites are loaded most, moving an operator away from one of them leaves the maximum as it is, but is a step
    on the way to a smaller one.
    """
    if cost.fold is not Fold.MAX:
        return (measures.value(cost),)
    return tuple(sorted((part or 0.0 for part in measures.parts(cost)), reverse=True))
