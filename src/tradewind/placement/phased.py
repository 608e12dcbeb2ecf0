"""Order first, places second: what a planner does that does not know the network while it orders the operators.

Idea
----
First the tree of recipes that makes the fewest bytes: the sum over all that its operators put out, without a look at
the network or at what runs. Then the best sites for exactly these operators, by the dynamic programme of `exact` over
the one tree. Given what runs, contents of that tree that are to be had already are re-used; contents of other trees,
though they might be at hand, are not.

Guarantee
---------
Each of the two steps is optimal; together they may be as bad as one likes, because the tree with the fewest bytes may
join streams that arise far from each other. A tree that residency forbids is not avoided, but reported.

Complexity
----------
O(r) for the r recipes, then O(t·sweep) for the t contents of the tree.

References
----------
Seshadri, Kumar, Cooper: Multi-query optimization in distributed stream systems; the baseline of section 5.1.
"""

from __future__ import annotations

from tradewind.errors import NoPlanError
from tradewind.placement.choices import Choices
from tradewind.placement.exact import exact
from tradewind.placement.ground import Ground
from tradewind.placement.plan import Goal, Plan
from tradewind.placement.running import Running
from tradewind.placement.trees import lightest_tree


def phased(ground: Ground, choices: Choices, goal: Goal, running: Running | None = None) -> Plan:
    """The best deployment of the tree that makes the fewest bytes."""
    contents = choices.contents
    tree = lightest_tree(choices, choices.numbers[goal.content], lambda r: contents[r.output].bytes_per_second)
    if tree is None:
        raise NoPlanError("the answer cannot be made from any stream.", where=f"query {goal.query}")
    return exact(ground, Choices(contents, tree), goal, running)
