"""Everything is shipped to where the answer is wanted, and computed there.

Idea
----
Each base stream goes, as it arises, to the goal's site on its cheapest route, and all operators run there, in the order
that costs least there. Given what runs, a base stream sets out from the nearest site that it reaches already, so that
it crosses no link twice; what others derive from it is not looked at. Operators that must run elsewhere, such as those
on a table that is kept there, run there, and all others at the goal's site.

Guarantee
---------
None but the obvious one: it is what a central installation pays, and so the measure of what a plan saves. Where a
stream may not leave its region it has no plan.

Complexity
----------
O(r) for the r recipes, and one sweep for each base stream.

References
----------
The central node of Seshadri, Kumar, Cooper: Multi-query optimization in distributed stream systems, section 1.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from tradewind.errors import NoPlanError
from tradewind.placement.choices import Choices, Recipe
from tradewind.placement.exact import exact
from tradewind.placement.ground import Ground
from tradewind.placement.plan import Goal, Plan, step_of
from tradewind.placement.running import Running
from tradewind.placement.trees import lightest_tree


def ship_all(ground: Ground, choices: Choices, goal: Goal, running: Running | None = None) -> Plan:
    """The plan that brings all base streams to the goal's site and computes the answer there."""
    number = choices.numbers[goal.content]

    def work_there(recipe: Recipe) -> float:
        within = choices.contents[recipe.output].within
        return inf if within is not None and goal.site not in within else float(ground.work(recipe)[goal.site])

    tree = lightest_tree(choices, number, work_there)
    if tree is None and any(recipe.at is not None for recipe in choices.recipes):
        there = frozenset([goal.site])
        bound = tuple(replace(one, at=there if one.at is None else one.at) for one in choices.recipes)
        return exact(ground, Choices(choices.contents, bound), goal)
    if tree is None:
        raise NoPlanError(
            f"the answer may not be computed at {ground.network.name(goal.site)!r}.", where=f"query {goal.query}"
        )
    keys = [content.key for content in choices.contents]
    made = {recipe.output for recipe in tree}
    base = {i for recipe in tree for i in recipe.inputs} - made or {number} - made
    bare, whole = Choices(choices.contents, ()), Plan(goals=(goal,))
    for one in sorted(base):
        shipped = exact(ground, bare, Goal(goal.query, keys[one], goal.site), running)
        whole = Plan(whole.steps | shipped.steps, whole.hops | shipped.hops, whole.goals)
    return Plan(whole.steps.union(step_of(choices, recipe, goal.site) for recipe in tree), whole.hops, whole.goals)
