"""The planners by name, and the choice of a plan for a whole deployment under its objective."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tradewind.cost.prices import Prices
from tradewind.cost.utility import Benefit
from tradewind.errors import InputError, NoPlanError, unknown
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.metrics.grammar import read_metric
from tradewind.frontends.metrics.tree import Metric
from tradewind.network.network import Network
from tradewind.placement.bottom_up import bottom_up
from tradewind.placement.choices import Choices
from tradewind.placement.constrained import Bounded, constrained
from tradewind.placement.exact import exact
from tradewind.placement.exhaustive import exhaustive
from tradewind.placement.fastest import fastest
from tradewind.placement.fusing import fused
from tradewind.placement.limits import Limits, broken
from tradewind.placement.local_search import local_search
from tradewind.placement.many import Asked, Planner, one_by_one, together
from tradewind.placement.measures import broken_bounds, evaluate, measure
from tradewind.placement.mip import mip
from tradewind.placement.phased import phased
from tradewind.placement.plan import Plan
from tradewind.placement.planning import SUMS_OF_PRICES, Problem, problem
from tradewind.placement.residency import Residency
from tradewind.placement.running import Running
from tradewind.placement.scores import metric_score, utility, utility_score
from tradewind.placement.ship_all import ship_all
from tradewind.placement.top_down import top_down

PLANNERS: Mapping[str, str] = {
    "exact": "order, placement and re-use together; several queries improved until none gains (the default)",
    "exhaustive": "every tree at every site, one query after the other: for tiny cases",
    "phased": "the least intermediate data first, then the best placement of that tree",
    "top-down": "coordinators of clusters, from the top of their hierarchy down",
    "bottom-up": "coordinators of clusters, from the sink's upwards",
    "ship-all": "everything is brought to where the answer is wanted",
    "mip": "all queries at once by mixed-integer programming, with a proven bound: for small cases",
}
"""Every planner, and what it does."""

_ONE_BY_ONE: Mapping[str, Planner] = {
    "exhaustive": exhaustive,
    "phased": phased,
    "top-down": top_down,
    "bottom-up": bottom_up,
    "ship-all": ship_all,
}

JOINT = ("exact", "mip")
"""Planners that choose everything together, sharing and approximation too."""

_LOAD = "MAX(SUM(load, OPERATORS), NODES)"
_MIP_SECONDS = 60.0


@dataclass(frozen=True, eq=False)
class Chosen:
    """A plan for every query of a deployment, what it comes to, and what it can be compared with."""

    problem: Problem
    planner: str
    plans: Mapping[str, Plan]
    cost: float
    bound: float | None
    note: str
    shipped: Plan
    shipped_cost: float
    approximated: Mapping[str, str] = field(default_factory=dict)
    """For each query whose answer is within the error that it allows, and not exact: what was done, in words."""

    @property
    def plan(self) -> Plan:
        """All queries together; what they share is there once."""
        return Plan.of(self.plans.values())


def choose(deployment: Deployment, planner: str = "exact") -> Chosen:
    """Plan all queries of a deployment under its objective, with exact answers (see also `approximating`)."""
    if planner not in PLANNERS:
        raise unknown("planner", planner, PLANNERS)
    task = problem(deployment, prices_of(deployment), share=planner in JOINT)
    found = _by_prices(task, planner) if deployment.objective in SUMS_OF_PRICES else _by_score(task, planner)
    shipped = _everything_shipped(task)
    note = found.note
    if found.bound is not None and task.left_out:
        note = "; ".join([*([note] if note else []), f"not weighed: {', '.join(task.left_out)}"])
    return Chosen(task, planner, found.plans, found.cost, found.bound, note, shipped, _value(task, shipped))


def prices_of(deployment: Deployment) -> Callable[[Network], Prices]:
    """What an objective charges; those that are no sums of prices go by dollars."""
    return Prices.of_bytes if deployment.objective == "bytes" else Prices.of_dollars


@dataclass(frozen=True, slots=True)
class _Found:
    plans: Mapping[str, Plan]
    cost: float
    bound: float | None
    note: str


def limits(task: Problem) -> Limits:
    """The cores of sites, the bandwidths of links, and the wished freshness of queries.

    A third of that time is for waiting until partials are sent, a third for merging them, and a third for the way.
    """
    wishes = {name: query.fresh_within for name, query in task.deployment.queries.items()}
    return Limits.of(task.network, {name: wish / 3000 for name, wish in wishes.items() if wish is not None})


def _by_prices(task: Problem, planner: str) -> _Found:
    """Objectives that are sums of prices: dollars and bytes."""
    try:
        if planner == "mip":
            return _by_mip(task)
        running = (
            together(task.ground, task.asked, task.shared) if planner == "exact" else _each(task, _ONE_BY_ONE[planner])
        )
    except NoPlanError as error:
        raise _explained(task, error) from None
    if planner == "exact":
        running = _not_above_shipping(task, running)
    whole = fused(running.whole, task.network, task.contents)
    cost = whole.cost(task.ground.prices)
    violated = broken(whole, task.network, limits(task))
    if not violated:
        alone = planner == "exact" and len(task.asked) == 1 and task.asked[0].staged is None and _reads_once(whole)
        note = "optimal for its query, cross products aside" if alone else ""
        return _Found(running.plans, cost, cost if alone else None, note)
    if planner != "exact":
        return _Found(running.plans, cost, None, _passed(task, running.whole).removeprefix("; "))
    return _within_limits(task)


def _reads_once(plan: Plan) -> bool:
    """Whether no content is read by two operators: then the least cost that was found is the least that there is."""
    counts = Counter(key for step in plan.steps for key in step.inputs)
    return all(count == 1 for count in counts.values())


def _not_above_shipping(task: Problem, running: Running) -> Running:
    """Where a query reads one stream twice, shipping it once may be cheaper than what was counted twice."""
    try:
        shipped = _each(task, ship_all)
    except NoPlanError:
        return running
    prices = task.ground.prices
    return shipped if shipped.whole.cost(prices) < running.whole.cost(prices) else running


def _each(task: Problem, planner: Planner) -> Running:
    return one_by_one(task.ground, task.asked, planner)


def _by_mip(task: Problem) -> _Found:
    choices = next((one.staged.choices for one in task.asked if one.staged is not None), _merged(task))
    goals = [one.goal for one in task.asked]
    found = mip(task.ground, choices, goals, None, limits(task), time_limit=_MIP_SECONDS)
    plans = {goal.query: _rests_on(task, found.plan, one) for goal, one in zip(goals, task.asked, strict=True)}
    return _Found(plans, found.cost, found.bound, "optimal for all queries together within its bound")


def _rests_on(task: Problem, whole: Plan, one: Asked) -> Plan:
    """The part of a plan of many queries that one of them rests on."""
    running = Running(task.network)
    running.add("all", replace(whole, goals=()), one.origins)
    steps, hops = running.support(one.goal.content, one.goal.site)
    return Plan(frozenset(steps), frozenset(hops), (one.goal,))


def _within_limits(task: Problem) -> _Found:
    """Query after query within what the earlier ones leave; each with its own bound."""
    running = Running(task.network)
    kept: list[Bounded] = []
    for one in task.asked:
        try:
            found = constrained(task.ground, one.choices, one.goal, limits(task), running)
        except NoPlanError as error:
            raise _explained(task, error) from None
        kept.append(found)
        running.add(one.goal.query, found.plan, one.origins)
    cost = running.whole.cost(task.ground.prices)
    bound = kept[0].bound if len(kept) == 1 else None
    return _Found(running.plans, cost, bound, "; ".join(dict.fromkeys(one.note for one in kept)))


def _merged(task: Problem) -> Choices:
    """All queries were read into the same choices."""
    return task.asked[0].choices


def _metric(task: Problem) -> Metric:
    objective = task.deployment.objective
    return read_metric(_LOAD if objective == "load" else task.deployment.metrics[objective])


def _by_score(task: Problem, planner: str) -> _Found:
    """Objectives that no sum of prices says: latency, load, net utility, and metrics of the file."""
    if planner not in ("exact", "ship-all"):
        raise InputError(
            f"the planner {planner!r} works with sums of prices, not with the objective {task.deployment.objective!r}.",
            hint="objective: dollars or bytes, or leave --planner out.",
        )
    try:
        start = _each(task, exact if planner == "exact" else ship_all)
    except NoPlanError as error:
        raise _explained(task, error) from None
    if planner == "ship-all":
        return _Found(start.plans, _value(task, start.whole), None, "")
    if task.deployment.objective == "latency":
        plans = {one.goal.query: fastest(task.ground, one.choices, one.goal) for one in task.asked}
        whole = _at_work(task, plans).whole
        cost = _value(task, whole)
        note = "the least latency of each query; of equal ones a cheap plan"
        return _Found(plans, cost, cost, note + _passed(task, whole))
    return _searched(task, start)


def _passed(task: Problem, plan: Plan) -> str:
    """Which limits a plan passes, if any: objectives that are no sums of prices do not keep them by themselves."""
    violated = broken(fused(plan, task.network, task.contents), task.network, limits(task))
    return f"; limits are passed: {'; '.join(map(str, violated[:4]))}" if violated else ""


def _at_work(task: Problem, plans: Mapping[str, Plan]) -> Running:
    """Plans at work together."""
    running = Running(task.network)
    for one in task.asked:
        running.add(one.goal.query, plans[one.goal.query], one.origins)
    return running


def _searched(task: Problem, start: Running) -> _Found:
    choices, goals = _merged(task), [one.goal for one in task.asked]
    if task.deployment.objective == "utility":
        score = utility_score(_benefits(task), task.ground, choices)
    else:
        score = metric_score(_metric(task), task.ground, choices)
    plan = local_search(task.ground, choices, goals, score, start=start.whole)
    if task.deployment.objective != "utility":
        violated = broken_bounds(_metric(task), plan, task.network, choices)
        if violated:
            raise InputError(
                f"no plan was found that keeps {violated[0].bound}.",
                where=f"metrics.{task.deployment.objective}",
                hint="loosen the bound, or add capacity.",
            )
    plans = {one.goal.query: _rests_on(task, plan, one) for one in task.asked}
    return _Found(plans, _value(task, plan), None, "found by local search: no bound" + _passed(task, plan))


def _benefits(task: Problem) -> dict[str, Benefit]:
    queries = task.deployment.queries.items()
    wishes = {n: None if q.fresh_within is None else q.fresh_within / 1000 for n, q in queries}
    return {name: Benefit.of_wishes(wishes[name], query.priority) for name, query in queries}


def _value(task: Problem, plan: Plan) -> float:
    """What a plan comes to under the deployment's objective."""
    objective = task.deployment.objective
    if objective in SUMS_OF_PRICES:
        return plan.cost(task.ground.prices)
    choices = _merged(task)
    if objective == "latency":
        times = measure(plan, task.network, choices).response_ms
        return sum(times.values()) / len(times)
    if objective == "utility":
        return utility(plan, _benefits(task), task.ground, choices)
    return evaluate(_metric(task), plan, task.network, choices)


def _everything_shipped(task: Problem) -> Plan:
    """What it would take to bring all rows to where answers are wanted, if they were allowed to go there."""
    choices = _merged(task)
    contents = tuple(replace(content, within=None) for content in choices.contents)
    free = Choices(contents, tuple(replace(recipe, at=None) for recipe in choices.recipes))
    return one_by_one(task.ground, [Asked(one.goal, free) for one in task.asked], ship_all).whole


def _explained(task: Problem, error: NoPlanError) -> InputError:
    """An error with the smallest set of wishes that stands in the way, if it is wishes that do."""
    bound = [name for name, wish in task.residency.wishes.items() if wish != "free"]
    if not bound or not _solvable(task, Residency(task.network, {})):
        return error
    for name in bound:
        if _solvable(task, task.residency.without(name)):
            bound = [name]
            break
    wishes = " and ".join(f"{name!r} (leave_region: {task.residency.wishes[name]})" for name in bound)
    return NoPlanError(
        f"{error.what.rstrip('.')} because of {wishes}: its rows may not reach where the answer is wanted.",
        where=error.where,
        hint="deliver in the stream's region, aggregate before the rows leave it, or allow them to leave.",
    )


def _solvable(task: Problem, residency: Residency) -> bool:
    try:
        free = problem(task.deployment, prices_of(task.deployment), share=False, residency=residency)
        _each(free, exact)
    except InputError:
        return False
    return True
