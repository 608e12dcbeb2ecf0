"""The best plan of several queries together, by mixed-integer programming: the judge of the planners that share.

Idea
----
A whole-numbered column says whether a recipe is at work at a site, another whether a content crosses a link; each is
paid once. For each goal one unit of its answer flows backwards through the plan: what is used of a content at a site
must be made there, or come in over a link, or arise or run there already. The flows are kept below the columns that are
paid, so what several goals share is paid once, and nothing can support itself in a circle, because a circle brings no
flow in. For a single goal whose contents are used once the paid columns are the flow itself; that programme is a
Leontief system, whose linear relaxation has whole-numbered solutions.

With limits, cores and bytes per second are rows over the paid columns; what runs already is subtracted first. A
deadline is one row for each base stream: the hops of all contents that hold it lie on one path, so their milliseconds
add up. Where a stream is used twice that is not so: each content has a time of arrival at each site, which flows push.

Guarantee
---------
Optimal, over all recipes, sites, routes and what can be shared, unless the time limit is reached: then `bound` says how
good a plan could be at best.

Complexity
----------
Exponential in the worst case. About (r·n + c·m)·(goals + 1) columns for r recipes, c contents, n sites, m links.

References
----------
Wong: A dual ascent approach for Steiner tree problems on a directed graph (1984), for the strength of flows of single
goals. Huangfu, Hall: Parallelizing the dual revised simplex method (2018), HiGHS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tradewind.errors import InputError
from tradewind.placement.choices import Choices
from tradewind.placement.ground import Ground
from tradewind.placement.limits import Limits
from tradewind.placement.mip_model import Model, Objective
from tradewind.placement.plan import Goal, Plan
from tradewind.placement.running import Running, added


@dataclass(frozen=True, slots=True)
class Found:
    """A plan, what it comes to in its objective, and what the best plan comes to at least."""

    plan: Plan
    cost: float
    bound: float


def mip(
    ground: Ground,
    choices: Choices,
    goals: Sequence[Goal],
    running: Running | None = None,
    limits: Limits | None = None,
    *,
    time_limit: float | None = None,
    objective: Objective = "cost",
) -> Found:
    """The best plan for all goals together, given what runs already.

    The objective is what the plan adds to the cost; or the load, the largest share of its cores that is busy at any
    site, and among plans of equal load the cost; or the excess, by which shares of them limits are passed, added up.
    """
    model = Model(
        ground, choices, tuple(goals), running or Running(ground.network), limits or Limits(), objective=objective
    )
    solution = model.programme.solve(model.scale if objective == "cost" else 1e3, time_limit)
    if solution.values is None:
        raise InputError(
            "no plan keeps all limits." if solution.infeasible else "no plan was found in the given time.",
            where=", ".join(f"query {goal.query}" for goal in goals),
        )
    if objective == "cost":
        plan = model.plan(solution.values)
        cost = added(plan, running, ground.prices)
        return Found(plan, cost, min(cost, solution.bound))
    reached, values = float(np.dot(model.programme.costs, solution.values)), solution.values
    if objective == "load":
        cheapest = model.cheapest_at(reached, time_limit)
        values = solution.values if cheapest is None else cheapest
    return Found(model.plan(values), reached, min(reached, solution.bound))
