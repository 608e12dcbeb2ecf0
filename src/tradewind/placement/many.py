"""Several queries: one after the other with re-use, then each against all others until none gains.

Idea
----
Queries are planned in the order in which they come, each given what runs already, and what runs costs nothing more.
Then each query in turn is taken out and planned again against the others; the cheaper of its two plans stays. That
alone never finds a plan that is worse for every query by itself and better for all. So contents that several queries
could use are offered at a share of their cost, as if the others would pay the rest; and they are brought, one by one,
to sites where several queries could meet them. So are contents that a way to one answer uses in several places, which
the planner of single queries would count in each: one after the other to one site, as if they ran already. What comes
of it is kept if all queries together cost less when everything is counted in full.

Guarantee
---------
Never dearer than planning in order of arrival with re-use; no query can gain by being planned again alone. No bound
otherwise: `mip` gives the optimum of small sets.

Complexity
----------
One plan a query, and one more for each query in each round; rounds are few. Offers: so many rounds more as contents are
offered, at most `OFFERS`.

References
----------
Seshadri, Kumar, Cooper, section 3.3 (incremental and multi-query optimisation). Sellis 1988, Roy et al. 2000 for
multi-query optimisation by trial of shared parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from tradewind.errors import NoPlanError
from tradewind.placement.choices import Choices
from tradewind.placement.exact import exact
from tradewind.placement.ground import Ground
from tradewind.placement.plan import Goal, Plan
from tradewind.placement.running import Running
from tradewind.placement.tables import Shares, tabulate

OFFERS = 40
"""At most so many contents are offered at a share of their cost, those first that most queries could use."""
FEW = 6
"""Of so few queries, all are planned anew for each thing that is tried."""
PLACES = 8
"""So many sites are tried for a content that several queries could use."""
HUBS = 4
"""So many sites are tried for contents that one query could use in several places."""
MOST_PLANS = 4000
"""So many plans of single queries are tried out for a set of queries: the larger the set, the fewer its trials."""
ROUNDS = 6
"""At most so many rounds of planning each query again."""
MOST_TABLES = 60_000
"""So many contents are weighed at all sites in these trials: the more there is to choose from, the fewer."""
_GAIN = 1e-9

Planner = Callable[[Ground, Choices, Goal, Running | None], Plan]


@dataclass(frozen=True, slots=True)
class Staged:
    """More ways to a goal, which use some contents in several places: all choices, and these contents for each way,
    inputs first.
    """

    choices: Choices
    stages: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A query to be planned: what it wants, and the ways to make it."""

    goal: Goal
    choices: Choices
    staged: Staged | None = None

    @property
    def origins(self) -> dict[str, tuple[int, ...]]:
        """Where the base streams arise."""
        return self.choices.origins

    @property
    def reach(self) -> frozenset[str]:
        """The keys of all contents that some way to the goal uses."""
        numbers = self.choices.needed(self.choices.numbers[self.goal.content])
        return frozenset(self.choices.contents[number].key for number in numbers)


def one_by_one(
    ground: Ground, asked: Sequence[Asked], planner: Planner = exact, running: Running | None = None
) -> Running:
    """All queries, each planned when it comes, given what runs by then."""
    running = Running(ground.network) if running is None else running
    for one in asked:
        running.add(one.goal.query, planner(ground, one.choices, one.goal, running), one.origins)
    return running


def improved(ground: Ground, asked: Sequence[Asked], running: Running, *, rounds: int = ROUNDS) -> Running:
    """Each query planned again against all others, until none gains."""
    for _ in range(rounds):
        gained = False
        for one in asked:
            before = running.whole.cost(ground.prices)
            old = running.remove(one.goal.query)
            new = exact(ground, one.choices, one.goal, running)
            running.add(one.goal.query, new, one.origins)
            if running.whole.cost(ground.prices) < before * (1 - _GAIN):
                gained = True
            else:
                running.remove(one.goal.query)
                running.add(one.goal.query, old, one.origins)
        if not gained:
            break
    return running


def together(
    ground: Ground, asked: Sequence[Asked], shared: Sequence[frozenset[str]] = (), *, offers: int = OFFERS
) -> Running:
    """All queries planned together: in order, then improved, with shared contents tried out.

    `shared` are contents that only pay together, such as the partials of one grouping at several sites.
    """
    best = one_by_one(ground, asked)
    if len(asked) < 2:
        return _in_stages(ground, asked, best)
    best = improved(ground, asked, best)
    tables = sum(len(one.reach) for one in asked)
    trials = min(MOST_PLANS // (2 * len(asked)), MOST_TABLES // (2 * tables))
    work = _Trials(ground, asked, best)
    if trials > OFFERS:
        work.in_other_orders()
    groups = [work.shares_of(group) for group in shared]
    if groups:
        work.offer({key: share for group in groups for key, share in group.items()})
    for group in groups[: max(trials, OFFERS)]:
        work.offer(group)
    common = work.common()
    keys = sorted(common, key=lambda one: (common[one], one))[: min(offers, trials)]
    if common:
        work.offer(common, anew=True)
    for key in keys:
        work.offer({key: common[key]})
    work.bring(keys[: (trials - len(keys)) // PLACES])
    return _in_stages(ground, asked, improved(ground, asked, work.best))


def _in_stages(ground: Ground, asked: Sequence[Asked], best: Running) -> Running:
    """The same, or better, with queries in stages where that is cheaper: one by one, and all of them together."""
    some = [one for one in asked if one.staged is not None]
    for changed in [*([one] for one in some), *([some] if len(some) > 1 else [])]:
        running = best.copy()
        for one in changed:
            running.remove(one.goal.query)
        for one in changed:
            running = min(_ways(ground, one, running), key=lambda found: found.whole.cost(ground.prices))
        if running.whole.cost(ground.prices) < best.whole.cost(ground.prices) * (1 - _GAIN):
            best = running
    return best


def _ways(ground: Ground, one: Asked, running: Running) -> Iterator[Running]:
    """What runs, with one more query: planned as others are, or its stages brought to one site first."""
    plain = running.copy()
    plain.add(one.goal.query, exact(ground, one.choices, one.goal, plain), one.origins)
    yield plain
    if one.staged is None:
        return
    choices = one.staged.choices
    for stages in one.staged.stages:
        for site in _Trials(ground, [Asked(one.goal, choices)], running).meeting_places(stages[-1])[:HUBS]:
            goals = [*(Goal(key, key, site) for key in stages), one.goal]
            found = running.copy()
            with suppress(NoPlanError):  # some of it may not come to this site
                for goal in goals:
                    found.add(goal.query, exact(ground, choices, goal, found), choices.origins)
                for key in stages:
                    found.remove(key)
                yield found


class _Trials:
    """Things that are tried with all queries, and the best outcome so far."""

    def __init__(self, ground: Ground, asked: Sequence[Asked], best: Running) -> None:
        self.ground, self.asked, self.best = ground, asked, best
        self._reach = {one.goal.query: one.reach for one in asked}

    def _take(self, running: Running) -> bool:
        """Keep the outcome of a trial if it is cheaper."""
        prices = self.ground.prices
        if running.whole.cost(prices) < self.best.whole.cost(prices) * (1 - _GAIN):
            self.best = running
            return True
        return False

    def _could_use(self, keys: Iterable[str]) -> list[Asked]:
        return [one for one in self.asked if not self._reach[one.goal.query].isdisjoint(keys)]

    def _settled(self, running: Running, concerned: Sequence[Asked]) -> Running:
        """What was tried, improved: all queries where there are few, else once those that it is about."""
        if len(self.asked) <= FEW:
            return improved(self.ground, self.asked, running)
        return improved(self.ground, concerned, running, rounds=1)

    def in_other_orders(self) -> None:
        """Other orders of arrival: backwards, and by size."""
        by_size = sorted(self.asked, key=lambda one: len(self._reach[one.goal.query]))
        for order in (list(reversed(self.asked)), by_size, list(reversed(by_size))):
            self._take(improved(self.ground, self.asked, one_by_one(self.ground, order)))

    def shares_of(self, group: frozenset[str]) -> dict[str, float]:
        """The contents of a group, each with the share that one of the queries that could use it would pay."""
        return dict.fromkeys(group, 1 / max(1, len(self._could_use(group))))

    def common(self) -> dict[str, float]:
        """Contents that several queries could use, each with the share of its cost that one of them would pay."""
        counts = Counter(key for one in self.asked for key in self._reach[one.goal.query])
        return {key: 1 / count for key, count in counts.items() if count > 1}

    def offer(self, shares: Shares, *, anew: bool = False) -> None:
        """Plan the queries that could use what is offered, or all, at a share of its cost; then improve in earnest."""
        concerned = self._could_use(shares)
        running = self._without(concerned, anew=anew)
        for one in self.asked if anew else concerned:
            plan = exact(self.ground, one.choices, one.goal, running, shares)
            running.add(one.goal.query, plan, one.origins)
        self._take(self._settled(running, concerned))

    def _without(self, concerned: Sequence[Asked], *, anew: bool) -> Running:
        if anew:
            return Running(self.ground.network)
        running = self.best.copy()
        for one in concerned:
            running.remove(one.goal.query)
        return running

    def bring(self, keys: Sequence[str]) -> None:
        """Bring contents, one by one, to sites where several queries could meet them, until none of that gains."""
        places = {key: self.meeting_places(key) for key in keys}
        gained = True
        while gained:
            # The queries that could use it are planned anew, and, where there are few, all others too.
            tries = [
                self._brought(key, site, anew=anew)
                for key in keys
                for site in places[key]
                for anew in ([False, True] if len(self.asked) <= FEW else [False])
            ]
            gained = any(tries)

    def meeting_places(self, key: str) -> list[int]:
        """Sites where a content is worth having for all queries that could use it: cheap to bring there, and on."""
        some = self._could_use([key])
        choices = some[0].choices
        number = choices.numbers[key]
        content = choices.contents[number]
        found = tabulate(self.ground, choices, choices.needed(number))[number].swept.cost.copy()
        for one in some:
            found += content.bytes_per_second * self.ground.routes(content.within).to_site(one.goal.site)
        order = np.argsort(found, kind="stable")[:PLACES]
        return [int(site) for site in order if np.isfinite(found[site])]

    def _brought(self, key: str, site: int, *, anew: bool) -> bool:
        """A content brought to a site for nobody in particular; it goes again where no query comes to use it."""
        concerned = self._could_use([key])
        running = self._without(concerned, anew=anew)
        first = concerned[0]
        running.add("", exact(self.ground, first.choices, Goal("", key, site), running), first.origins)
        for one in self.asked if anew else concerned:
            running.add(one.goal.query, exact(self.ground, one.choices, one.goal, running), one.origins)
        running.remove("")
        return self._take(self._settled(running, concerned))
