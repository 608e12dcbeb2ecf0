"""The programme that `mip` solves: what its columns and rows stand for, and the way back from values to a plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from tradewind.network.network import Numbers
from tradewind.placement.choices import Choices
from tradewind.placement.deadlines import chains
from tradewind.placement.exact import exact
from tradewind.placement.ground import Ground
from tradewind.placement.limits import Limits, arising, latency, since
from tradewind.placement.plan import Goal, Hop, Plan, Step, providers, step_of, support
from tradewind.placement.programme import Programme
from tradewind.placement.running import Running, added

Objective = Literal["cost", "load", "excess"]
Columns = Mapping[tuple[int, int], int]
Waits = Mapping[int, tuple[tuple[int, int], float]]
"""Columns that say that a content is re-used which takes its time: the content and the site, and the milliseconds."""


class Model:
    """The programme, and which column stands for what: keys are (recipe, site) for steps, (content, link) for hops."""

    def __init__(
        self,
        ground: Ground,
        choices: Choices,
        goals: tuple[Goal, ...],
        running: Running,
        limits: Limits,
        *,
        objective: Objective,
    ) -> None:
        self.ground, self.choices, self.goals, self.running, self.limits = ground, choices, goals, running, limits
        self.objective = objective
        self.whole = running.whole
        self.left = limits.left(ground.network, self.whole)
        self.programme = Programme()
        self.alone = {goal: exact(ground, choices, goal, running) for goal in goals}
        numbers = [choices.numbers[goal.content] for goal in goals]
        self.needed = sorted({one for number in numbers for one in choices.needed(number)})
        self.money: dict[int, float] = {}
        self.steps = {key: self._paid(self._step(*key)) for key in self._possible_steps()}
        self.hops = {key: self._paid(self._hop(*key)) for key in self._possible_hops()}
        self.used = [self._goal(goal, number) for goal, number in zip(goals, numbers, strict=True)]
        self._capacities()

    @property
    def scale(self) -> float:
        """Brings costs to some hundreds, so that a millionth is little."""
        cost = sum(added(plan, self.running, self.ground.prices) for plan in self.alone.values())
        return 1e3 / cost if cost > 0 else 1.0

    def _step(self, way: int, site: int) -> Step:
        return step_of(self.choices, self.choices.recipes[way], site)

    def _hop(self, number: int, link: int) -> Hop:
        content = self.choices.contents[number]
        return Hop(content.key, link, content.bytes_per_second)

    def _paid(self, part: Step | Hop) -> int:
        plan = Plan(frozenset({part})) if isinstance(part, Step) else Plan(hops=frozenset({part}))
        cost = 0.0 if self._runs(part) else plan.cost(self.ground.prices)
        column = self.programme.column(cost if self.objective == "cost" else 0.0, highest=1.0, whole=True)
        self.money[column] = cost
        return column

    def _runs(self, part: Step | Hop) -> bool:
        return part in self.whole.steps if isinstance(part, Step) else part in self.whole.hops

    def _possible_steps(self) -> Iterator[tuple[int, int]]:
        everywhere = frozenset(range(len(self.ground.network)))
        for number in self.needed:
            for way in self.choices.ways[number]:
                recipe = self.choices.recipes[way]
                sites = everywhere if recipe.at is None else recipe.at
                for one in (number, *recipe.inputs):
                    within = self.choices.contents[one].within
                    sites = sites if within is None else sites & within
                yield from ((way, site) for site in sorted(sites.difference(self.choices.contents[number].origins)))

    def _possible_hops(self) -> Iterator[tuple[int, int]]:
        ends = list(zip(self.ground.network.start.tolist(), self.ground.network.end.tolist(), strict=True))
        for number in self.needed:
            content = self.choices.contents[number]
            for link, (start, end) in enumerate(ends):
                if end not in content.origins and (content.within is None or content.within.issuperset((start, end))):
                    yield number, link

    def _goal(self, goal: Goal, number: int) -> tuple[Columns, Columns, Columns]:
        """The rows of one goal; returns the columns of the steps, the hops and the slow running contents it uses."""
        times = self._times(number)
        steps = {key: col for key, col in self.steps.items() if self.choices.recipes[key[0]].output in times}
        hops = {key: col for key, col in self.hops.items() if key[0] in times}
        alone = len(self.goals) == 1
        if goal.query in self.limits.deadline_ms and not alone:
            alone = True
            steps = {key: self._below(col, 1.0, whole=True) for key, col in steps.items()}
            hops = {key: self._below(col, 1.0, whole=True) for key, col in hops.items()}
        made, moved = steps, hops
        if not alone or max(times.values()) > 1:
            recipes = self.choices.recipes
            made = {key: self._below(col, times[recipes[key[0]].output]) for key, col in steps.items()}
            moved = {key: self._below(col, times[key[0]]) for key, col in hops.items()}
        sources = self._sources(goal, times)
        waits = {place: self.programme.column(highest=1.0, whole=True) for place, ms in sources.items() if ms > 0}
        taken = {place: self._below(column, times[place[0]]) for place, column in waits.items()}
        self._conserve((number, goal.site), sources, taken=taken, steps=made, hops=moved)
        if goal.query in self.limits.deadline_ms:
            paths = chains(self.choices, number)
            if paths is None:
                self._arrive(goal, {column: (place, sources[place]) for place, column in waits.items()}, steps, hops)
            else:
                self._add_up(goal, paths, {column: (place, sources[place]) for place, column in waits.items()}, hops)
        return steps, hops, waits

    def _add_up(self, goal: Goal, paths: Sequence[frozenset[int]], waits: Waits, hops: Columns) -> None:
        """Along the one path of each base stream, hops and what re-used contents have taken are within the deadline."""
        deadline, ms = self.limits.deadline_ms[goal.query], self.ground.network.ms.tolist()
        slack = self._slack(deadline)
        for path in paths:
            moved = [(column, ms[link]) for (content, link), column in hops.items() if content in path]
            taken = [(column, since) for column, ((content, _), since) in waits.items() if content in path]
            self.programme.row([*moved, *taken, *slack], high=deadline)

    def _times(self, goal: int) -> dict[int, int]:
        """For each content below a goal, how often one derivation of the goal can use it."""
        needed = self.choices.needed(goal)
        times = dict.fromkeys(needed, 0)
        for one in needed:
            often = dict.fromkeys(needed, 0)
            often[one] = 1
            for number in needed[needed.index(one) + 1 :]:
                recipes = [self.choices.recipes[way] for way in self.choices.ways[number]]
                often[number] = max((sum(often[i] for i in recipe.inputs) for recipe in recipes), default=0)
            times[one] = often[goal]
        return times

    def _below(self, column: int, factor: float, whole: bool = False) -> int:
        """A new column that is at most so many times another one."""
        found = self.programme.column(highest=factor, whole=whole)
        self.programme.row([(found, 1.0), (column, -factor)], high=0.0)
        return found

    def _sources(self, goal: Goal, times: Mapping[int, int]) -> dict[tuple[int, int], float]:
        """Where contents are to be had without doing anything more, and after how many milliseconds."""
        deadline = self.limits.deadline_ms.get(goal.query)
        found = {}
        for number in times:
            content = self.choices.contents[number]
            for site in self.running.sites(content.key):
                found[number, site] = 0.0 if deadline is None else since(self.running, content.key, site)
            found.update({(number, site): 0.0 for site in content.origins})
        longest = np.inf if deadline is None else self._horizon(goal)
        return {place: ms for place, ms in found.items() if ms <= longest}

    def _conserve(
        self,
        goal: tuple[int, int],
        sources: Mapping[tuple[int, int], float],
        *,
        taken: Columns,
        steps: Columns,
        hops: Columns,
    ) -> None:
        """At every place at least as much of a content comes in as is used; what is there at once needs not come."""
        terms: dict[tuple[int, int], dict[int, float]] = defaultdict(lambda: defaultdict(float))
        for (way, site), column in steps.items():
            recipe = self.choices.recipes[way]
            terms[recipe.output, site][column] += 1.0
            for one in recipe.inputs:
                terms[one, site][column] -= 1.0
        for (number, link), column in hops.items():
            terms[number, int(self.ground.network.end[link])][column] += 1.0
            terms[number, int(self.ground.network.start[link])][column] -= 1.0
        for place in terms.keys() | {goal}:
            if place in taken:
                terms[place][taken[place]] += 1.0
            if place in taken or place not in sources:
                self.programme.row(terms[place].items(), low=1.0 if place == goal else 0.0)

    def _horizon(self, goal: Goal) -> float:
        """The latest time that is looked at."""
        deadline = self.limits.deadline_ms[goal.query]
        if self.objective != "excess":
            return deadline
        plan = self.alone[goal]
        return max(deadline, latency(plan, self.ground.network, goal, arising(plan, self.ground.network)))

    def _arrive(self, goal: Goal, waits: Waits, steps: Columns, hops: Columns) -> None:
        """Nothing is somewhere before it has come there, and the answer is there at the deadline."""
        horizon, deadline = self._horizon(goal), self.limits.deadline_ms[goal.query]
        network, row = self.ground.network, self.programme.row
        times: dict[tuple[int, int], int] = {}

        def time(place: tuple[int, int]) -> int:
            if place not in times:
                times[place] = self.programme.column(highest=horizon)
            return times[place]

        for column, (place, ms) in waits.items():
            row([(time(place), 1.0), (column, -ms)], low=0.0)

        for (way, site), column in steps.items():
            recipe = self.choices.recipes[way]
            for one in recipe.inputs:
                terms = [(time((recipe.output, site)), 1.0), (time((one, site)), -1.0), (column, -horizon)]
                row(terms, low=-horizon)
        for (content, link), column in hops.items():
            ends = int(network.start[link]), int(network.end[link])
            ms = float(network.ms[link])
            before, after = (time((content, end)) for end in ends)
            row([(after, 1.0), (before, -1.0), (column, -(horizon + ms))], low=-horizon)
        row([(time((self.choices.numbers[goal.content], goal.site)), 1.0), *self._slack(deadline)], high=deadline)

    def _slack(self, allowed: float) -> list[tuple[int, float]]:
        """By which share a limit may be passed, where that is what is minimised."""
        return [(self.programme.column(1.0), -(allowed or 1.0))] if self.objective == "excess" else []

    def _capacities(self) -> None:
        """The rows of sites and links; what runs already has been taken off."""
        at: dict[int, list[tuple[int, float]]] = defaultdict(list)
        on: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for (way, site), column in self.steps.items():
            cores = self.choices.recipes[way].cores
            if cores > 0 and not self._runs(self._step(way, site)):
                at[site].append((column, cores))
        for (number, link), column in self.hops.items():
            if not self._runs(self._hop(number, link)):
                on[link].append((column, self.choices.contents[number].bytes_per_second))
        self._keep(at, self.limits.cores, self.left.cores)
        self._keep(on, self.limits.bytes_per_second, self.left.bytes_per_second)
        if self.objective == "load":
            self._level(at)

    def _keep(
        self, terms: Mapping[int, list[tuple[int, float]]], allowed: Numbers | None, left: Numbers | None
    ) -> None:
        if allowed is None or left is None:
            return
        for place, some in terms.items():
            # In units of the limit, so that the solver's tolerance is a share of it.
            unit = float(allowed[place]) or 1.0
            scaled = [(column, amount / unit) for column, amount in some]
            self.programme.row([*scaled, *self._slack(1.0)], high=float(left[place]) / unit)

    def _level(self, at: Mapping[int, list[tuple[int, float]]]) -> None:
        """One column for the largest load of all sites."""
        network = self.ground.network
        busy = self.whole.at_sites(network)
        load = self.programme.column(1.0)
        for site, cores in enumerate(network.cores.tolist()):
            self.programme.row([*at.get(site, ()), (load, -cores)], high=-float(busy[site]))

    def cheapest_at(self, load: float, time_limit: float | None) -> Numbers | None:
        """The cheapest plan of that load."""
        programme = self.programme
        programme.row([(column, cost) for column, cost in enumerate(programme.costs) if cost], high=load * (1 + 1e-9))
        programme.costs[:] = [self.money.get(column, 0.0) for column in range(len(programme.costs))]
        return programme.solve(self.scale, time_limit).values

    def plan(self, values: Numbers) -> Plan:
        """The plan that the values stand for, without what nobody uses."""
        found = Plan()
        for goal, (steps, hops, waits) in zip(self.goals, self.used, strict=True):
            chosen = Plan(
                frozenset(self._step(*key) for key, column in steps.items() if values[column] > 0.5),
                frozenset(self._hop(*key) for key, column in hops.items() if values[column] > 0.5),
            )
            unused = {place for place, column in waits.items() if values[column] <= 0.5}
            found |= self._supported(goal, chosen, unused)
        return found

    def _supported(self, goal: Goal, chosen: Plan, unused: set[tuple[int, int]]) -> Plan:
        network = self.ground.network
        places = self._sources(goal, dict.fromkeys(self.needed, 1))
        free: dict[str, set[int]] = defaultdict(set)
        for number, site in places.keys() - unused:
            free[self.choices.contents[number].key].add(site)
        found = providers(chosen, network, free)
        steps, hops = support(goal.content, goal.site, found, network)
        for key, sites in arising(Plan(frozenset(steps), frozenset(hops), (goal,)), network).items():
            for site in sites:
                more_steps, more_hops = self.running.support(key, site) if site in self.running.sites(key) else ((), ())
                steps.update(more_steps)
                hops.update(more_hops)
        return Plan(frozenset(steps), frozenset(hops), (goal,))
