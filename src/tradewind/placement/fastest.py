"""The plan of one query whose answers come soonest; of those that come equally soon, a cheap one.

Idea
----
T[c][v] is the least latency after which content c can be at site v: none where it arises; where a recipe makes it, that
of the slowest input; and links add theirs on the quickest route. So it is the exact planner's programme with a maximum
in place of a sum (see `earliest`). A local search then makes the plan cheaper without making it later: off the slowest
way there is time for cheaper routes and places.

Guarantee
---------
The response time, counted as latency on links, is the least that there is, up to one part in 10⁹. The cost is not
proved least among plans of that response time; it is never above that of the programme's own plan.

Complexity
----------
O(r·n + c·sweep) for r recipes, c contents and n sites, as for `exact`; then a local search.

References
----------
Dreyfus, Wagner: The Steiner problem in graphs, for the programme; Seshadri, Kumar, Cooper, section 3.2, for why one may
want it: lower delay may cost more.
"""

from __future__ import annotations

from tradewind.placement.choices import Choices
from tradewind.placement.derivations import quick_ground
from tradewind.placement.earliest import earliest
from tradewind.placement.exact import exact
from tradewind.placement.ground import Ground
from tradewind.placement.local_search import ROUNDS, local_search
from tradewind.placement.plan import Goal, Plan
from tradewind.placement.scores import response_score
from tradewind.placement.tables import collect

MOST = 80
"""So many plans are weighed at most to find a cheap one among those of least latency."""


def fastest(ground: Ground, choices: Choices, goal: Goal, seed: int = 0, rounds: int = ROUNDS) -> Plan:
    """The plan of least response time for one goal.

    What runs already could not make it less, so it is not looked at.
    """
    # Whether there is any way at all does not depend on prices, and the exact planner says so where there is none.
    exact(ground, choices, goal)
    quick = quick_ground(ground)
    tables = earliest(quick, choices, choices.needed(choices.numbers[goal.content]))
    start = collect(quick, choices, goal, tables)
    score = response_score(ground, choices)
    return local_search(ground, choices, (goal,), score, start=start, seed=seed, rounds=rounds, most=MOST)
