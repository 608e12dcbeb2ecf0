"""Several queries: one after the other with re-use, then each against all others until none gains.

Idea
----
Queries are planned in the order in which they come, each given what runs already, and what runs costs nothing more. Then
each query in turn is taken out and planned again against the others; the cheaper of its two plans stays. That alone
never finds a plan that is worse for every query by itself and better for all: so contents that several queries could use
are offered at a share of their cost, as if the others would pay the rest, and the outcome is kept if all queries
together cost less when everything is counted in full.

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tradewind.placement.choices import Choices
from tradewind.placement.exact import exact
from tradewind.placement.ground import Ground
from tradewind.placement.plan import Goal, Plan
from tradewind.placement.running import Running
from tradewind.placement.tables import tabulate

OFFERS = 40
"""At most so many contents are offered at a share of their cost, those first that most queries could use."""
FEW = 6
"""Of so few queries, all are planned anew for each thing that is tried."""
PLACES = 8
"""So many sites are tried for a content that several queries could use."""
MOST_PLANS = 4000
"""So many plans of single queries are tried out for a set of queries: the larger the set, the fewer its trials."""
ROUNDS = 6
"""At most so many rounds of planning each query again."""
_GAIN = 1e-9

Shares = Mapping[str, float]
Planner = Callable[[Ground, Choices, Goal, Running | None], Plan]


@dataclass(frozen=True, slots=True)
class Asked:
    """A query to be planned: what it wants, and the ways to make it."""

    goal: Goal
    choices: Choices

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


def together(
    ground: Ground, asked: Sequence[Asked], shared: Sequence[frozenset[str]] = (), *, offers: int = OFFERS
) -> Running:
    """All queries planned together: in order, then improved, with shared contents tried out.

    `shared` are contents that only pay together, such as the partials of one grouping at several sites.
    """
    best = improved(ground, asked, one_by_one(ground, asked))
    if len(asked) < 2:
        return best
    trials = MOST_PLANS // (2 * len(asked))
    reach = {one.goal.query: one.reach for one in asked}
    for order in _orders(asked) if trials > OFFERS else ():
        best = _cheaper(ground, best, improved(ground, asked, one_by_one(ground, order)))
    groups = [_shares(group, asked, reach) for group in shared]
    for group in [*([{k: v for one in groups for k, v in one.items()}] if groups else []), *groups[:trials]]:
        best = _cheaper(ground, best, _with_offers(ground, asked, group, reach, best))
    common = _common(asked, reach)
    keys = sorted(common, key=lambda one: common[one])[: min(offers, trials)]
    if common:
        best = _cheaper(ground, best, _with_offers(ground, asked, common, reach))
    for key in keys:
        best = _cheaper(ground, best, _with_offers(ground, asked, {key: common[key]}, reach, best))
    best = _with_meetings(ground, asked, keys[: (trials - len(keys)) // PLACES], reach, best)
    return improved(ground, asked, best)


Reach = Mapping[str, frozenset[str]]
"""For each query the contents that it could use."""


def _shares(group: frozenset[str], asked: Sequence[Asked], reach: Reach) -> dict[str, float]:
    """The contents of a group, each with the share that one of the queries that could use it would pay."""
    users = sum(1 for one in asked if group & reach[one.goal.query])
    return dict.fromkeys(group, 1 / max(1, users))


def _with_meetings(ground: Ground, asked: Sequence[Asked], keys: Sequence[str], reach: Reach, best: Running) -> Running:
    """Contents brought, one by one, to sites where several queries could meet them, until none of that gains."""
    places = {key: _meeting_places(ground, asked, key, reach) for key in keys}
    gained = True
    while gained:
        gained = False
        for key in keys:
            for site in places[key]:
                # The queries that could use it are planned anew, and, where there are few, all others too.
                for anew in [False, True] if len(asked) <= FEW else [False]:
                    found = _with_brought(ground, asked, key, site, reach, None if anew else best)
                    if found is _cheaper(ground, best, found):
                        best, gained = found, True
    return best


def _settled(ground: Ground, asked: Sequence[Asked], concerned: Sequence[Asked], running: Running) -> Running:
    """What was tried, improved: all queries where there are few, else once those that it is about."""
    if len(asked) <= FEW:
        return improved(ground, asked, running)
    return improved(ground, concerned, running, rounds=1)


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


def _orders(asked: Sequence[Asked]) -> list[Sequence[Asked]]:
    """Other orders of arrival that are worth a try: backwards, and by size."""
    by_size = sorted(asked, key=lambda one: len(one.reach))
    return [list(reversed(asked)), by_size, list(reversed(by_size))] if len(asked) <= OFFERS else []


def _common(asked: Sequence[Asked], reach: Reach) -> dict[str, float]:
    """Contents that several queries could use, each with the share of its cost that one of them would pay."""
    counts = Counter(key for one in asked for key in reach[one.goal.query])
    return {key: 1 / count for key, count in counts.items() if count > 1}


def _with_offers(
    ground: Ground, asked: Sequence[Asked], shares: Shares, reach: Reach, start: Running | None = None
) -> Running:
    """The queries that could use what is offered planned anew at a share of its cost; then all improved in earnest."""
    running = Running(ground.network) if start is None else start.copy()
    concerned = [one for one in asked if not reach[one.goal.query].isdisjoint(shares)]
    for one in concerned if start is not None else ():
        running.remove(one.goal.query)
    for one in concerned if start is not None else asked:
        running.add(one.goal.query, exact(ground, one.choices, one.goal, running, shares), one.origins)
    return _settled(ground, asked, concerned, running)


def _meeting_places(ground: Ground, asked: Sequence[Asked], key: str, reach: Reach) -> list[int]:
    """The sites where a content is worth having for all queries that could use it: cheap to bring there and on from."""
    some = [one for one in asked if key in reach[one.goal.query]]
    choices = some[0].choices
    number = choices.numbers[key]
    found = tabulate(ground, choices, choices.needed(number))[number].swept.cost.copy()
    rate = choices.contents[number].bytes_per_second
    for one in some:
        found += rate * ground.routes(choices.contents[number].within).to_site(one.goal.site)
    order = np.argsort(found, kind="stable")[:PLACES]
    return [int(site) for site in order if np.isfinite(found[site])]


def _with_brought(
    ground: Ground, asked: Sequence[Asked], key: str, site: int, reach: Reach, start: Running | None
) -> Running:
    """A content brought to a site for nobody in particular, and queries planned anew that could use it, or all of them;
    it goes again where none does use it.
    """
    running = Running(ground.network) if start is None else start.copy()
    concerned = [one for one in asked if key in reach[one.goal.query]]
    for one in concerned if start is not None else ():
        running.remove(one.goal.query)
    first = concerned[0]
    running.add("", exact(ground, first.choices, Goal("", key, site), running), first.origins)
    for one in concerned if start is not None else asked:
        running.add(one.goal.query, exact(ground, one.choices, one.goal, running), one.origins)
    running.remove("")
    return _settled(ground, asked, concerned, running)


def _cheaper(ground: Ground, one: Running, other: Running) -> Running:
    return other if other.whole.cost(ground.prices) < one.whole.cost(ground.prices) * (1 - _GAIN) else one
