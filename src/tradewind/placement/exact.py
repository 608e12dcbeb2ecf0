"""The best plan of one query: order, placement and re-use chosen together.

Idea
----
C[c][v] is the least that having content c at site v costs. A base stream costs nothing where it arises, and what runs
already costs nothing where it is to be had. Otherwise some recipe makes c at some site u from inputs that are there,
and c travels from u to v on the cheapest route. Contents are taken inputs first; for each, all its recipes are weighed
at all sites at once, and one shortest-path sweep from many starts spreads the result over the network. For a join of k
streams the contents are the sets of streams, so this is the dynamic programme of Dreyfus and Wagner (1971) for Steiner
trees, with a rate for each set; merging partial aggregates is the same step with another rate.

Guarantee
---------
Optimal over all recipes and sites where prices are linear and the answer uses each content once; where a query uses one
content twice, what both uses share is counted once in the plan's cost, which may then be below the bound, and another
plan may share more. Capacities and deadlines are not looked at here (see `constrained`).

Complexity
----------
O(r·n + c·sweep) for r recipes, c contents and n sites; a sweep is O(n²) up to 256 sites and one Dijkstra search above.
A join of k streams has 2^k contents and about 3^k / 2 recipes. In large networks the best plan over the
sites on the cheapest ways between the streams and the goal is found first; searches then end where a content, with its
way to the goal at the least rate that it can still come to, costs more: nothing of the optimum lies there.

References
----------
Seshadri, Kumar, Cooper: Multi-query optimization in distributed stream systems. Dreyfus, Wagner: The Steiner problem in
graphs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np

from tradewind.errors import NoPlanError
from tradewind.network.routes import Swept
from tradewind.placement.choices import Choices, over_part
from tradewind.placement.ground import Ground
from tradewind.placement.plan import Goal, Plan
from tradewind.placement.running import Running
from tradewind.placement.tables import Reach, Shares, Table, collect, tabulate

_FEW = 12
"""Of so many base streams at most, in large networks, the ways between all of them are looked at first."""
_MOST = 200
"""So many sites at most where something runs already are looked at there."""
_ROOM = 4_000_000
"""So many numbers are kept of tables on one ground."""

_Told = tuple[Choices, int, tuple[frozenset[int], ...]]
"""All that a query's tables on a ground follow from: its choices, its goal, and where what it could use runs."""


@dataclass
class _Lately:
    """The tables that were worked out on a ground, the oldest forgotten first: whoever plans several queries together
    plans each of them again and again, and mostly nothing has changed for it.
    """

    _kept: dict[_Told, dict[int, Table]] = field(default_factory=dict)
    _size: int = 0

    def find(self, told: _Told) -> dict[int, Table] | None:
        """The tables, if they are known."""
        return self._kept.get(told)

    def keep(self, told: _Told, tables: dict[int, Table], sites: int) -> None:
        """Know them from now on."""
        self._kept[told] = tables
        self._size += len(tables) * sites
        while self._size > _ROOM and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            self._size -= len(self._kept.pop(oldest)) * sites


_lately: WeakKeyDictionary[Ground, _Lately] = WeakKeyDictionary()


def exact(
    ground: Ground,
    choices: Choices,
    goal: Goal,
    running: Running | None = None,
    shares: Shares | None = None,
) -> Plan:
    """The cheapest plan for one goal, given what runs already.

    The plan holds all that the answer rests on, also what it re-uses. A content in `shares` is taken to cost only that
    share, because others are expected to pay the rest.
    """
    return collect(ground, choices, goal, tables_for(ground, choices, goal, running, shares), running)


def tables_for(
    ground: Ground,
    choices: Choices,
    goal: Goal,
    running: Running | None = None,
    shares: Shares | None = None,
) -> dict[int, Table]:
    """The tables behind the cheapest plan for one goal, which has a finite cost at the goal's site."""
    number = choices.numbers[goal.content]
    wanted = choices.needed(number)
    if shares:
        tables = tabulate(ground, choices, wanted, running, shares=shares)
    elif ground.routes(None).dense:
        tables = _once(ground, choices, wanted, running)
    else:
        reach = _reach(ground, choices, goal, wanted, running)
        tables = tabulate(ground, choices, wanted, running, reach=reach)
    if not np.isfinite(tables[number].swept.cost[goal.site]):
        raise NoPlanError(
            f"nothing can bring the answer to {ground.network.name(goal.site)!r}.",
            where=f"query {goal.query}",
            hint="a stream has no way there, or may not leave its region.",
        )
    return tables


def _once(ground: Ground, choices: Choices, wanted: tuple[int, ...], running: Running | None) -> dict[int, Table]:
    """Tables that are worked out unless they are known."""
    there = () if running is None else tuple(running.sites(choices.contents[number].key) for number in wanted)
    told = (choices, wanted[-1], there)
    lately = _lately.setdefault(ground, _Lately())
    tables = lately.find(told)
    if tables is None:
        tables = tabulate(ground, choices, wanted, running)
        lately.keep(told, tables, len(ground.network))
    return tables


def _reach(
    ground: Ground, choices: Choices, goal: Goal, wanted: tuple[int, ...], running: Running | None
) -> Reach | None:
    """In large networks, how far contents are worth following: no plan is dearer than the best one over few sites.

    These are the sites on the cheapest ways from each stream to the goal and to where the others arise.
    """
    bare = [number for number in wanted if not choices.ways[number]]
    if not 1 < len(bare) <= _FEW:
        return None
    known = tabulate(ground, choices, tuple(bare), running)
    towards = ground.routes(None).towards(goal.site)
    sites = np.array(sorted(_on_the_way(choices, goal, known, towards, running)), dtype=np.int64)
    part = over_part(choices, sites.tolist())
    numbers = {site: number for number, site in enumerate(sites.tolist())}
    tables = tabulate(ground.part(sites), part, wanted, _Seen(running, numbers) if running is not None else None)
    bound = float(tables[choices.numbers[goal.content]].swept.cost[numbers[goal.site]])
    return Reach(bound * (1 + 1e-9), known, _after(choices, wanted), towards.cost) if np.isfinite(bound) else None


def _on_the_way(
    choices: Choices, goal: Goal, known: Mapping[int, Table], towards: Swept, running: Running | None
) -> set[int]:
    """The sites on the ways between the origins of streams and the goal, and from what runs already to the goal."""
    origins = {site for number in known for site in choices.contents[number].origins}
    found = {goal.site}
    for table in known.values():
        ends = [end for end in (goal.site, *origins) if np.isfinite(table.swept.cost[end])]
        found.update(site for end in ends for site in table.swept.route(end))
    if running is not None:
        keys = [content.key for content in choices.contents]
        there = [site for key in keys for site in running.sites(key)][:_MOST]
        found.update(site for start in there if np.isfinite(towards.cost[start]) for site in towards.route(start))
    return found


@dataclass(frozen=True, eq=False, slots=True)
class _Seen:
    """Where contents are to be had already, among some sites that have numbers of their own."""

    running: Running
    numbers: Mapping[int, int]

    def sites(self, key: str) -> frozenset[int]:
        """Where a content is to be had."""
        return frozenset(self.numbers[site] for site in self.running.sites(key) if site in self.numbers)


def _after(choices: Choices, wanted: tuple[int, ...]) -> dict[int, float]:
    """The least rate among a content and all that is made of it."""
    found = {number: choices.contents[number].bytes_per_second for number in wanted}
    for number in reversed(wanted):
        for way in choices.ways[number]:
            for one in choices.recipes[way].inputs:
                found[one] = min(found[one], found[number])
    return found
