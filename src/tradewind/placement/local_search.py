"""A good plan under any score: for objectives that are no sums of prices.

Idea
----
A solution is a tree for each goal that says by which recipe and at which site each content is made. From several
starts the search climbs: it takes any change of one operator (see `neighbourhood`) that makes the score less, until no
change does. The starts are the cheapest plan of each goal alone, the plans of the goals in turn with re-use, all
operators at their sinks, all as early as can be, and some with operators at drawn sites. Then the best of all is thrown
off by a few drawn changes and climbed from again, some times, and the best of everything is taken.

Guarantee
---------
None, but that it is never worse than the plan that it is given to start from, nor than the exact planner's plans of the
goals in turn. The same seed gives the same plan.

Complexity
----------
A round tries about k·(2n + r) + k²/2 changes, for k operators in all trees, n sites (of networks above 24 sites only
some) and r recipes a content; each works out one plan and its score, in time that grows with the plan. There are at
most 16 climbs, 17 with a given start, and each weighs a bounded number of plans.

References
----------
Papaemmanouil, Çetintemel, Jannotti: Supporting generic cost models for wide-area stream processing (XFlow), whose
migrations by hill climbing these are, done by one who sees the whole network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from tradewind.errors import InternalError
from tradewind.placement.choices import Choices
from tradewind.placement.derivations import CHEAPEST, QUICKEST, Deriver, best_tree, quick_ground
from tradewind.placement.earliest import earliest
from tradewind.placement.exact import exact
from tradewind.placement.ground import Ground
from tradewind.placement.neighbourhood import Neighbourhood, Trees, gathered, scattered
from tradewind.placement.plan import Goal, Plan
from tradewind.placement.running import Running
from tradewind.placement.scores import Score, better
from tradewind.placement.tables import Table, tabulate

ROUNDS = 30
MOST = 400
"""So many plans are weighed in one climb at most."""
DRAWN_STARTS = 2
KICKS, CHANGES_A_KICK = 8, 3
"""How often the best solution is thrown off, and by how many changes at once."""


def local_search(
    ground: Ground,
    choices: Choices,
    goals: Sequence[Goal],
    score: Score,
    *,
    start: Plan | None = None,
    seed: int = 0,
    rounds: int = ROUNDS,
    most: int = MOST,
) -> Plan:
    """A plan for all goals with a small score.

    A climb goes through the changes of its solution at most `rounds` times, and weighs at most `most` plans.
    `score` gives tuples of one length, the less the better; what must not be comes first.
    """
    in_turn = _in_turn(ground, choices, goals)
    search = _Search.of(Deriver(ground, choices, goals), score, Random(seed), (rounds, most))
    plans = [in_turn] if start is None else [replace(start, goals=tuple(goals)), in_turn]
    best, least = plans[0], score(plans[0])
    for plan in plans[1:]:
        if better(found := score(plan), least):
            best, least = plan, found
    climbed = search.best(plans)
    return climbed.plan if climbed is not None and better(climbed.score, least) else best


def _in_turn(ground: Ground, choices: Choices, goals: Sequence[Goal]) -> Plan:
    """The exact plan of each goal, given those before it."""
    running = Running(ground.network)
    origins = {content.key: content.origins for content in choices.contents if content.origins}
    for goal in goals:
        running.add(goal.query, exact(ground, choices, goal, running), origins)
    return running.whole


@dataclass(frozen=True, slots=True)
class _Found:
    trees: Trees
    plan: Plan
    score: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Search:
    deriver: Deriver
    tables: Mapping[int, Mapping[int, Table]]
    neighbourhood: Neighbourhood
    score: Score
    random: Random
    rounds: int
    most: int
    _plans: dict[Trees, Plan | None] = field(default_factory=dict)
    """What was weighed before: climbs meet, and different trees may stand for the same plan."""
    _scores: dict[Plan, tuple[float, ...]] = field(default_factory=dict)

    @staticmethod
    def of(deriver: Deriver, score: Score, random: Random, limits: tuple[int, int]) -> _Search:
        choices = deriver.choices
        wanted = tuple(sorted({n for goal in deriver.goals for n in choices.needed(choices.numbers[goal.content])}))
        tables = {
            CHEAPEST: tabulate(deriver.ground, choices, wanted),
            QUICKEST: earliest(quick_ground(deriver.ground), choices, wanted),
        }
        return _Search(deriver, tables, Neighbourhood.of(deriver, tables), score, random, *limits)

    def best(self, plans: Sequence[Plan]) -> _Found | None:
        """The best that climbing leads to, from every start and then from near the best."""
        best: _Found | None = None
        for trees in self._starts(plans):
            best = _less(self._climb(trees), best)
        for _ in range(KICKS):
            if best is not None:
                best = _less(self._climb(self._kicked(best.trees)), best)
        return best

    def _starts(self, plans: Sequence[Plan]) -> Iterator[Trees]:
        """The trees to climb from, each once."""
        cheap, quick = (self._alone(travels) for travels in (CHEAPEST, QUICKEST))
        at_sinks = tuple(gathered(tree, goal.site) for tree, goal in zip(cheap, self.deriver.goals, strict=True))
        drawn = (scattered(trees, self.deriver, self.random) for trees in (cheap, quick) for _ in range(DRAWN_STARTS))
        known = (self.deriver.trees(plan) for plan in plans)
        yield from dict.fromkeys([*(trees for trees in known if trees is not None), cheap, quick, at_sinks, *drawn])

    def _alone(self, travels: int) -> Trees:
        """For each goal by itself the tree that is cheapest, or quickest."""
        numbers, tables = self.deriver.choices.numbers, self.tables[travels]
        found = []
        for goal in self.deriver.goals:
            tree = best_tree(self.deriver.choices, tables, numbers[goal.content], goal.site, travels)
            if tree is None:
                raise InternalError(f"the answer of {goal.query!r} was brought by one planner and not by the other.")
            found.append(tree)
        return tuple(found)

    def _kicked(self, trees: Trees) -> Trees:
        for _ in range(CHANGES_A_KICK):
            for change in self.neighbourhood.changes(trees, self.random)[:1]:
                trees = change(trees)
        return trees

    def _climb(self, trees: Trees) -> _Found | None:
        """The best plan that changes of one operator lead to; None where the trees cannot be had."""
        best = self._weighed(trees)
        if best is None:
            return None
        tried = {trees}
        for _ in range(self.rounds):
            before = best
            for change in self.neighbourhood.changes(best.trees, self.random):
                changed = change(best.trees)
                if changed in tried:
                    continue
                if len(tried) > self.most:
                    return best
                tried.add(changed)
                found = self._weighed(changed)
                if found is not None and better(found.score, best.score):
                    best = found
            if best is before:
                break
        return best

    def _weighed(self, trees: Trees) -> _Found | None:
        """The plan of some trees, and its score; None where they cannot be had."""
        if trees not in self._plans:
            self._plans[trees] = self.deriver.plan(trees)
        plan = self._plans[trees]
        if plan is None:
            return None
        if plan not in self._scores:
            self._scores[plan] = self.score(plan)
        return _Found(trees, plan, self._scores[plan])


def _less(one: _Found | None, other: _Found | None) -> _Found | None:
    if one is None or other is None:
        return one or other
    return one if better(one.score, other.score) else other
