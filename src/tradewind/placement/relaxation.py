"""Lagrangean relaxation of limits: what is overfull becomes dearer until plans avoid it.

Idea
----
Each site, link and path with a deadline has a multiplier: what using all of its limit is charged on top of the cost.
The exact planner runs at these prices, where a content pays for the milliseconds of its own hops, and is not let on
links, nor an operator at sites, that are too small for it alone. Multipliers then move along the subgradient, which is
by how much the plan passes each limit, with the steps of Polyak. Plans that keep all limits are candidates.

Guarantee
---------
A plan that keeps the limits pays, in charges, no more than the multipliers are worth. So the least cost at the charged
prices, less that worth, is a lower bound, provided that no derivation uses a content twice. A content that is
re-used is charged for the milliseconds that it has taken until it is there.

Complexity
----------
For each round, that of `exact` with one search of the network for each content.

References
----------
Held, Wolfe, Crowder: Validation of subgradient optimization (1974). Geoffrion: Lagrangean relaxation for integer
programming (1974).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tradewind.cost.prices import Prices
from tradewind.errors import InputError
from tradewind.network.network import Indices, Numbers
from tradewind.network.routes import Routes
from tradewind.placement.choices import Choices, Content, Recipe
from tradewind.placement.deadlines import weights
from tradewind.placement.exact import tables_for
from tradewind.placement.ground import Ground
from tradewind.placement.limits import TOLERANCE, Limits, Violation, newly_broken, since
from tradewind.placement.plan import Goal, Plan
from tradewind.placement.running import Running, added
from tradewind.placement.tables import collect

_CLOSE = 1e-9
_PATIENCE = 8


class _Searched(Routes):
    """Routes at prices that are used once: all distances would be too much work."""

    @property
    def dense(self) -> bool:
        return False


@dataclass(frozen=True, eq=False)
class _Charged(Ground):
    """A ground where each content pays a charge of its own for a byte on a link, infinite where it does not fit."""

    charges: Mapping[str, Numbers] = field(default_factory=dict)
    reuse: Mapping[tuple[str, int], float] = field(default_factory=dict)
    _own: dict[str, Routes] = field(default_factory=dict)

    def routes_of(self, content: Content) -> Routes:
        if content.key not in self._own:
            price = self.prices.per_byte + self.charges[content.key]
            self._own[content.key] = _Searched(self.network, price, content.within)
        return self._own[content.key]

    def part(self, sites: Indices) -> Ground:
        network, links = self.network.part(sites)
        numbers = {site: number for number, site in enumerate(sites.tolist())}
        return _Charged(
            network,
            self.prices.part(sites, links),
            charges={key: charge[links] for key, charge in self.charges.items()},
            reuse={(key, numbers[site]): cost for (key, site), cost in self.reuse.items() if site in numbers},
        )

    def again(self, content: Content, sites: Sequence[int]) -> Numbers:
        return np.array([self.reuse.get((content.key, site), 0.0) for site in sites])


@dataclass(frozen=True, eq=False, slots=True)
class _Multipliers:
    """One number for each link, site and path with a deadline."""

    links: Numbers
    sites: Numbers
    paths: Numbers

    def moved(self, slope: _Multipliers, reach: float) -> _Multipliers:
        """After a step so long that a linear function of that slope would rise by `reach`."""
        own = np.concatenate([self.links, self.sites, self.paths])
        along = np.concatenate([slope.links, slope.sites, slope.paths])
        along = np.where((along > 0) | (own > 0), along, 0.0)
        length = float(along @ along)
        found = np.maximum(own + (reach / length if length > 0 else 0.0) * along, 0.0)
        return _Multipliers(*np.split(found, [len(self.links), len(self.links) + len(self.sites)]))


class Relaxation:
    """The search for multipliers; the best bound, the best plan, and the closest to keeping the limits, are kept."""

    def __init__(self, ground: Ground, choices: Choices, goal: Goal, limits: Limits, running: Running | None) -> None:
        self.best: Plan | None = None
        self.cost = np.inf
        self.bound = -np.inf
        self.conflict: list[Violation] = []
        self._excess = np.inf
        network = ground.network
        self._ground, self._goal, self._limits, self._running = ground, goal, limits, running
        self._whole = Plan() if running is None else running.whole
        left = limits.left(network, self._whole)
        self._choices = _only_where_there_is_room(choices, left.cores, len(network))
        self._link_unit, self._link_left = _in_units(limits.bytes_per_second, left.bytes_per_second, len(network.start))
        self._site_unit, self._site_left = _in_units(limits.cores, left.cores, len(network))
        self._banned = {content.key: self._too_thin(content) for content in choices.contents}
        self._deadline = limits.deadline_ms.get(goal.query, np.inf)
        late = 0 < self._deadline < np.inf
        self._paths = weights(choices, choices.numbers[goal.content]) if late else []
        self._since = _times(choices, running) if running is not None and late else {}

    def _too_thin(self, content: Content) -> Numbers:
        """Infinite for links that have no room for a content, unless it is on them already."""
        rate = content.bytes_per_second / self._link_unit
        found = np.where(rate > self._link_left * (1 + TOLERANCE), np.inf, 0.0)
        found[[hop.link for hop in self._whole.hops if hop.content == content.key]] = 0.0
        return found

    def solve(self, rounds: int, candidates: list[Plan]) -> None:
        """Some rounds, or fewer if the best is found before."""
        for plan in candidates:
            self._consider(plan)
        guess = 2 * added(candidates[0], self._running, self._ground.prices)
        at = _Multipliers(*(np.zeros(len(some)) for some in (self._link_unit, self._site_unit, self._paths)))
        stride, stale = 1.0, 0
        for number in range(rounds):
            try:
                value, plan = self._at(at)
            except InputError:
                # Some operator or content fits nowhere.
                return
            stale = 0 if value > self.bound else stale + 1
            self.bound = max(self.bound, value)
            self._consider(plan)
            if self.best is not None and self.cost - self.bound <= _CLOSE * self.cost:
                return
            if stale > _PATIENCE:
                stride, stale = stride / 2, 0
            # Without a candidate, to keep the limits matters more than the bound: steps get longer, not shorter.
            target = self.cost if self.best is not None else max(guess, 1.5 * self.bound, 1e-12)
            share = stride if self.best is not None else 1.0 + number / 10
            at = at.moved(self._slope(plan), share * max(target - value, _CLOSE * target))

    def _at(self, at: _Multipliers) -> tuple[float, Plan]:
        """The lower bound at some multipliers, and the plan that it belongs to."""
        network, prices = self._ground.network, self._ground.prices
        dearer = Prices(
            prices.per_byte + at.links / self._link_unit,
            prices.per_core + at.sites / self._site_unit,
            prices.per_operator,
        )
        hurry = {content.key: self._hurry(content.key, at) for content in self._choices.contents}
        charges = {}
        for content in self._choices.contents:
            in_bytes = hurry[content.key] / content.bytes_per_second if content.bytes_per_second > 0 else 0.0
            charges[content.key] = self._banned[content.key] + in_bytes * network.ms
        again = {place: ms * hurry[place[0]] if ms <= self._deadline else np.inf for place, ms in self._since.items()}
        ground = _Charged(network, dearer, charges=charges, reuse=again)
        tables = tables_for(ground, self._choices, self._goal, self._running)
        least = float(tables[self._choices.numbers[self._goal.content]].swept.cost[self._goal.site])
        worth = _product(at.links, self._link_left) + _product(at.sites, self._site_left) + float(at.paths.sum())
        return least - worth, collect(ground, self._choices, self._goal, tables, self._running)

    def _hurry(self, key: str, at: _Multipliers) -> float:
        """What a content is charged for a millisecond."""
        charged = zip(self._paths, at.paths.tolist(), strict=True)
        total: float = sum(path.get(key, 0.0) * multiplier for path, multiplier in charged)
        return total / self._deadline

    def _slope(self, plan: Plan) -> _Multipliers:
        """By which shares a plan passes each limit; below zero where there is room."""
        network = self._ground.network
        new = Plan(plan.steps - self._whole.steps, plan.hops - self._whole.hops)
        taken = [
            math.fsum(path.get(hop.content, 0.0) * float(network.ms[hop.link]) for hop in plan.hops)
            for path in self._paths
        ]
        paths = np.array(taken) / self._deadline - 1.0
        late = newly_broken(plan, network, Limits(deadline_ms=self._limits.deadline_ms))
        if late and not (paths > 0).any():
            # The factors say less than the plan itself does.
            paths = np.full(len(paths), late[0].excess)
        return _Multipliers(
            new.on_links(network) / self._link_unit - self._link_left,
            new.at_sites(network) / self._site_unit - self._site_left,
            paths,
        )

    def _consider(self, plan: Plan) -> None:
        conflict = newly_broken(plan, self._ground.network, self._limits, self._running)
        cost = added(plan, self._running, self._ground.prices)
        if not conflict and cost < self.cost:
            self.best, self.cost = plan, cost
        excess = sum(one.excess for one in conflict)
        if excess < self._excess:
            self.conflict, self._excess = conflict, excess


def _times(choices: Choices, running: Running) -> dict[tuple[str, int], float]:
    """After how many milliseconds each content is there where it runs."""
    keys = [content.key for content in choices.contents]
    return {(key, site): since(running, key, site) for key in keys for site in running.sites(key)}


def _product(multipliers: Numbers, left: Numbers) -> float:
    """What some limits are worth; what is not limited has no multiplier."""
    some = multipliers > 0
    return float(multipliers[some] @ left[some])


def _in_units(allowed: Numbers | None, left: Numbers | None, count: int) -> tuple[Numbers, Numbers]:
    """The unit of each limit, which is the limit itself, and what is left in that unit; infinite where unlimited."""
    if allowed is None or left is None:
        return np.ones(count), np.full(count, np.inf)
    unit = np.where((allowed > 0) & np.isfinite(allowed), allowed, 1.0)
    return unit, left / unit


def _only_where_there_is_room(choices: Choices, left: Numbers | None, sites: int) -> Choices:
    """The same choices, each recipe only at sites that have the cores for it."""
    if left is None:
        return choices

    def fitting(recipe: Recipe) -> Recipe:
        room = frozenset(site for site in range(sites) if recipe.cores <= left[site] * (1 + TOLERANCE))
        return replace(recipe, at=room if recipe.at is None else recipe.at & room) if len(room) < sites else recipe

    return Choices(choices.contents, tuple(map(fitting, choices.recipes)))
