"""The best plan of one query under limits on sites, links and time: exact where small, with a stated bound where not.

Idea
----
First the exact planner, without limits: if its plan keeps them, no other is better. If not, and the query is small
(recipes times sites plus contents times links, of all that it may use, at most `SMALL`), a mixed-integer programme with
the limits as rows. If it is large, Lagrangean relaxation. What runs already is subtracted from the capacities first.

Guarantee
---------
Small: optimal. Large: no plan that keeps the limits costs less than `bound`; see `relaxation`. That no plan keeps them
is shown for small queries, and for deadlines by themselves; for large queries it is only said that none was found.

Complexity
----------
Small: that of `mip`. Large: that of `relaxation`.

References
----------
Those of `exact`, `mip` and `relaxation`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tradewind.errors import InputError
from tradewind.placement.choices import Choices
from tradewind.placement.derivations import quick_ground
from tradewind.placement.earliest import earliest
from tradewind.placement.exact import exact
from tradewind.placement.ground import Ground
from tradewind.placement.limits import Limits, Violation, newly_broken
from tradewind.placement.mip import mip
from tradewind.placement.plan import Goal, Plan
from tradewind.placement.relaxation import Relaxation
from tradewind.placement.running import Running, added
from tradewind.placement.tables import collect

SMALL = 12_000
"""Queries of at most this size are given to the mixed-integer programme."""

_NAMED = 4
"""So many limits of a conflict are named."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A plan that keeps all limits, what it adds to the cost, what any such plan adds at least, and why."""

    plan: Plan
    cost: float
    bound: float
    note: str

    @property
    def gap(self) -> float:
        """By which share of its cost the plan may be dearer than the best."""
        return (self.cost - self.bound) / self.cost if self.cost > 0 else 0.0


def constrained(
    ground: Ground,
    choices: Choices,
    goal: Goal,
    limits: Limits,
    running: Running | None = None,
    *,
    small: int = SMALL,
    rounds: int = 150,
) -> Bounded:
    """The cheapest plan for one goal that keeps the limits, or one with a bound on how much cheaper another can be."""
    plan = exact(ground, choices, goal, running)
    free = added(plan, running, ground.prices)
    if not newly_broken(plan, ground.network, limits, running):
        return Bounded(plan, free, free, "optimal: without limits there is no cheaper plan")
    quickest = _quickest(ground, choices, goal, limits)
    if size(ground, choices, goal) <= small:
        return _by_mip(ground, choices, goal, limits, running)
    search = Relaxation(ground, choices, goal, limits, running)
    search.solve(rounds, [plan, quickest])
    if search.best is None:
        raise _impossible(goal, search.conflict, "this is the closest plan that was found; there may be a closer one.")
    found = Bounded(search.best, search.cost, min(search.bound, search.cost), "")
    return replace(found, note=f"at most {found.gap:.1%} of its cost above the best, by Lagrangean relaxation")


def size(ground: Ground, choices: Choices, goal: Goal) -> int:
    """How many operators at sites and contents on links there are to choose from."""
    wanted = choices.needed(choices.numbers[goal.content])
    recipes = sum(len(choices.ways[number]) for number in wanted)
    return recipes * len(ground.network) + len(wanted) * len(ground.network.start)


def _quickest(ground: Ground, choices: Choices, goal: Goal, limits: Limits) -> Plan:
    """The plan of the least latency; an error if even that misses the deadline."""
    quick = quick_ground(ground)
    found = collect(quick, choices, goal, earliest(quick, choices, choices.needed(choices.numbers[goal.content])))
    missed = newly_broken(found, ground.network, Limits(deadline_ms=limits.deadline_ms))
    if missed:
        raise _impossible(goal, missed, "no plan is quicker.")
    return found


def _impossible(goal: Goal, conflict: list[Violation], hint: str) -> InputError:
    said = "; ".join(map(str, conflict[:_NAMED])) + (f"; and {len(conflict) - _NAMED} more" * (len(conflict) > _NAMED))
    return InputError(f"no plan keeps all limits: {said}.", where=f"query {goal.query}", hint=hint)


def _by_mip(ground: Ground, choices: Choices, goal: Goal, limits: Limits, running: Running | None) -> Bounded:
    try:
        found = mip(ground, choices, [goal], running, limits)
    except InputError:
        closest = mip(ground, choices, [goal], running, limits, objective="excess")
        conflict = newly_broken(closest.plan, ground.network, limits, running)
        raise _impossible(goal, conflict, "every other plan is above its limits by more.") from None
    return Bounded(found.plan, found.cost, found.bound, "optimal under the limits, by a mixed-integer programme")
