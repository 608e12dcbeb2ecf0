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
        return {content.key: content.origins for content in self.choices.contents if content.origins}


def one_by_one(
    ground: Ground, asked: Sequence[Asked], planner: Planner = exact, running: Running | None = None
) -> Running:
    """All queries, each planned when it comes, given what runs by then."""
    running = Running(ground.network) if running is None else running
    for one in asked:
        running.add(one.goal.query, planner(ground, one.choices, one.goal, running), one.origins)
    return running


def together(ground: Ground, asked: Sequence[Asked], *, offers: int = OFFERS) -> Running:
    """All queries planned together: in order, then improved, with shared contents tried out."""
    best = improved(ground, asked, one_by_one(ground, asked))
    if len(asked) < 2:
        return best
    for order in _orders(asked):
        best = _cheaper(ground, best, improved(ground, asked, one_by_one(ground, order)))
    common = _common(asked)
    if common:
        best = _cheaper(ground, best, _with_offers(ground, asked, common))
    trials = MOST_PLANS // (2 * len(asked))
    keys = sorted(common, key=lambda one: common[one])[: min(offers, trials)]
    for key in keys:
        best = _cheaper(ground, best, _with_offers(ground, asked, {key: common[key]}, best))
    return _with_meetings(ground, asked, keys[: (trials - len(keys)) // PLACES], best)


def _with_meetings(ground: Ground, asked: Sequence[Asked], keys: Sequence[str], best: Running) -> Running:
    """Contents brought, one by one, to sites where several queries could meet them, until none of that gains."""
    places = {key: _meeting_places(ground, asked, key) for key in keys}
    gained = True
    while gained:
        gained = False
        for key in keys:
            for site in places[key]:
                # The queries that could use it are planned anew, and, where there are few, all others too.
                for anew in ([False, True] if len(asked) <= FEW else [False]):
                    found = _with_brought(ground, asked, key, site, None if anew else best)
                    if found is _cheaper(ground, best, found):
                        best, gained = found, True
    return best


def improved(ground: Ground, asked: Sequence[Asked], running: Running) -> Running:
    """Each query planned again against all others, until none gains."""
    for _ in range(ROUNDS):
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
    by_size = sorted(asked, key=lambda one: len(one.choices.contents))
    return [list(reversed(asked)), by_size, list(reversed(by_size))] if len(asked) <= OFFERS else []


def _common(asked: Sequence[Asked]) -> dict[str, float]:
    """Contents that several queries could use, each with the share of its cost that one of them would pay."""
    counts = Counter(
        content.key
        for one in asked
        for number, content in enumerate(one.choices.contents)
        if content.key != one.goal.content
    )
    goals = Counter(one.goal.content for one in asked)
    return {key: 1 / (count + goals[key]) for key, count in counts.items() if count + goals[key] > 1}


def _with_offers(ground: Ground, asked: Sequence[Asked], shares: Shares, start: Running | None = None) -> Running:
    """The queries that could use what is offered planned anew at a share of its cost; then all improved in earnest."""
    running = Running(ground.network) if start is None else start.copy()
    concerned = [one for one in asked if any(key in one.choices.numbers for key in shares)]
    for one in concerned:
        if one.goal.query in running.plans:
            running.remove(one.goal.query)
    rest = [one for one in asked if one not in concerned and one.goal.query not in running.plans]
    for one in [*concerned, *rest]:
        plan = exact(ground, one.choices, one.goal, running, shares)
        running.add(one.goal.query, plan, one.origins)
    return improved(ground, asked, running)


def _meeting_places(ground: Ground, asked: Sequence[Asked], key: str) -> list[int]:
    """The sites where a content is worth having for all queries that could use it: cheap to bring there and on from."""
    some = [one for one in asked if key in one.choices.numbers]
    choices = some[0].choices
    number = choices.numbers[key]
    found = tabulate(ground, choices, choices.needed(number))[number].swept.cost.copy()
    rate = choices.contents[number].bytes_per_second
    for one in some:
        found += rate * ground.routes(choices.contents[number].within).to_site(one.goal.site)
    order = np.argsort(found, kind="stable")[:PLACES]
    return [int(site) for site in order if np.isfinite(found[site])]


def _with_brought(ground: Ground, asked: Sequence[Asked], key: str, site: int, start: Running | None) -> Running:
    """A content brought to a site for nobody in particular, and queries planned anew that could use it, or all of them;
    it goes again where none does use it.
    """
    running = Running(ground.network) if start is None else start.copy()
    concerned = [one for one in asked if key in one.choices.numbers]
    for one in concerned if start is not None else ():
        running.remove(one.goal.query)
    first = concerned[0]
    running.add("", exact(ground, first.choices, Goal("", key, site), running), first.origins)
    for one in concerned if start is not None else asked:
        running.add(one.goal.query, exact(ground, one.choices, one.goal, running), one.origins)
    running.remove("")
    return improved(ground, asked, running)


def _cheaper(ground: Ground, one: Running, other: Running) -> Running:
    return other if other.whole.cost(ground.prices) < one.whole.cost(ground.prices) * (1 - _GAIN) else one
