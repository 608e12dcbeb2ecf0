"""The four scenarios of Seshadri et al., section 2: what a planner of many queries has to see, and when not.

Each scenario is planned as the paper describes it, and again with its condition reversed, on the same network. All
plans are set beside the optimum of the mixed-integer programme, and beside what each query would do alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tradewind.experiments.figure_1_network import Asks, Kept, Rates, ground
from tradewind.experiments.result import Result
from tradewind.placement.choices import merged
from tradewind.placement.exact import exact
from tradewind.placement.ground import Ground
from tradewind.placement.many import Asked, together
from tradewind.placement.mip import mip
from tradewind.placement.plan import Plan, Step
from tradewind.placement.running import Running

SHOWS = "When queries share an operator, duplicate it or filter late: four scenarios of the paper, and their opposites."

PUBLISHED = "Published: four scenarios in words, without prices and rates; ours are chosen to fit the words."

RATES = Rates()
Q1 = (Asks("Q1@Sink1", "ABC", "Sink1"), Asks("Q1@Sink5", "ABC", "Sink5"))


@dataclass(frozen=True, slots=True)
class Case:
    """Queries under a condition."""

    condition: str
    asks: tuple[Asks, ...]
    rates: Rates = RATES


@dataclass(frozen=True, slots=True)
class Scenario:
    """What the paper says: a case in which it holds, and cases in which the condition for it is reversed."""

    name: str
    claim: str
    described: Case
    reversed: tuple[Case, ...]


@dataclass(frozen=True, eq=False)
class Outcome:
    """The plan of a case, all queries together."""

    ground: Ground
    asked: tuple[Asked, ...]
    running: Running

    @property
    def cost(self) -> float:
        """What the plan costs; what is shared counts once."""
        return self.running.whole.cost(self.ground.prices)

    @cached_property
    def best(self) -> float:
        """What the best plan costs, by mixed-integer programming."""
        choices = merged([one.choices for one in self.asked])
        return mip(self.ground, choices, [one.goal for one in self.asked]).cost

    @cached_property
    def alone(self) -> Mapping[str, Plan]:
        """The best plan of each query if it were the only one."""
        return {one.goal.query: exact(self.ground, one.choices, one.goal) for one in self.asked}

    @property
    def summed(self) -> float:
        """What the queries cost if each is planned, and paid, alone."""
        return sum(plan.cost(self.ground.prices) for plan in self.alone.values())

    def users(self, step: Step) -> tuple[str, ...]:
        """The queries whose answers rest on a step."""
        return tuple(sorted(query for query, plan in self.running.plans.items() if step in plan.steps))

    def words(self) -> tuple[str, ...]:
        """Each operator: what it makes of what, where, and for whom."""
        steps = sorted(self.running.whole.steps, key=lambda step: (len(step.output), step.output, step.site))
        return tuple(f"{self._told(step)} for {', '.join(self.users(step))}" for step in steps)

    def _told(self, step: Step) -> str:
        made = " ⋈ ".join(f"({key})" if "⋈" in key else key for key in step.inputs)
        return f"{made if step.kind == 'join' else f'{step.kind} on {made}'} at {self.ground.network.name(step.site)}"


def planned(case: Case) -> Outcome:
    """All queries of a case, planned together."""
    own = ground()
    asked = tuple(one.on(own, case.rates) for one in case.asks)
    return Outcome(own, asked, together(own, asked))


def unique_operators() -> Scenario:
    """Data-decreasing operators near the sources, data-increasing ones near the sinks."""
    asks = (*Q1, Asks("Q2@Sink3", "AB", "Sink3"))
    return Scenario(
        "unique operators",
        "data-decreasing operators near the source, data-increasing ones near the sink",
        Case("A⋈B and A⋈C decrease the data, A⋈B⋈C increases it", asks),
        (
            Case("A⋈B⋈C decreases it too", asks, Rates(abc=5.0)),
            Case("A⋈B and A⋈C increase it", asks, Rates(ab=40.0, ac=30.0, abc=200.0)),
        ),
    )


def operator_reuse() -> Scenario:
    """A plan that is worse alone, and better because another query needs a part of it."""
    return Scenario(
        "operator re-use",
        "a worse plan of Q1 alone is the better one where it shares A⋈B with Q2",
        Case("Q2 is asked at Sink2", (*Q1, Asks("Q2@Sink2", "AB", "Sink2"))),
        (Case("Q2 is asked far away, at Sink3", (*Q1, Asks("Q2@Sink3", "AB", "Sink3"))),),
    )


def operator_duplication() -> Scenario:
    """The same operator twice, where its output would have a long way."""
    far = (*Q1, Asks("Q3@Sink4", "AC", "Sink4"))
    return Scenario(
        "operator duplication",
        "A⋈C runs twice, as its result would have a long way between its users",
        Case("Q3 is asked far away, at Sink4", far),
        (
            Case("Q3 is asked nearby, at Sink1", (*Q1, Asks("Q3@Sink1", "AC", "Sink1"))),
            Case("A⋈C is so small that the way does not matter", far, Rates(ac=0.5)),
        ),
    )


def delayed_filtering() -> Scenario:
    """Filters behind a join, so that queries with other filters can share it."""
    return Scenario(
        "delayed filtering",
        "filters that differ and keep much run behind A⋈B, which both queries share",
        Case("other filters on A and B in Q1 than in Q2, each keeps 90 %", _filtered(0.9)),
        (
            Case("they keep 50 %", _filtered(0.5)),
            Case("both queries have the same filters, each keeps 90 %", _filtered(0.9, same=True)),
        ),
    )


def _filtered(share: float, *, same: bool = False) -> tuple[Asks, ...]:
    first, second = ({"A": Kept(f"f{n}", share), "B": Kept(f"g{n}", share)} for n in (1, 1 if same else 2))
    return Asks("Q1@Sink1", "ABC", "Sink1", first), Asks("Q2@Sink2", "AB", "Sink2", second)


SCENARIOS = (unique_operators, operator_reuse, operator_duplication, delayed_filtering)


def run(seeds: int, out: Path) -> Result:
    """Plan all cases of all scenarios; nothing in them is drawn by chance, so seeds do not matter."""
    rows, told, data, gaps = [], [], [], []
    for scenario in (make() for make in SCENARIOS):
        told.append(f"{scenario.name}: {scenario.claim}")
        for case in (scenario.described, *scenario.reversed):
            found = planned(case)
            gaps.append(abs(found.cost - found.best) / found.best)
            name = scenario.name if case is scenario.described else "  reversed"
            rows.append((name, case.condition, f"{found.cost:.2f}", f"{found.best:.2f}", f"{found.summed:.2f}"))
            told += [f"  {case.condition}:", *(f"    {words}" for words in found.words())]
            data.append(_data(scenario, case, found))
    return Result(
        "Four scenarios on the network of Figure 1",
        ("scenario", "condition", "together", "optimum", "each alone"),
        tuple(rows),
        (PUBLISHED, f"Measured: {len(rows)} cases, the largest gap to the optimum is {max(gaps):.1g}."),
        "\n".join(told),
        data={"cases": data},
    )


def _data(scenario: Scenario, case: Case, found: Outcome) -> dict[str, Any]:
    return {
        "scenario": scenario.name,
        "claim": scenario.claim,
        "condition": case.condition,
        "as_described": case is scenario.described,
        "operators": list(found.words()),
        "cost": found.cost,
        "optimum": found.best,
        "each_alone": found.summed,
    }
