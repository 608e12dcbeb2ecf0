"""Plans answer what was asked: random graphs, planned on random networks, against the interpreter."""

import random
from collections import Counter

import pytest

from tests.placement.random_plans import contents, random_case
from tests.random_data import random_data
from tests.rewrites.comparing import same_answers
from tradewind.placement.built import built
from tradewind.placement.fusing import fused
from tradewind.placement.many import one_by_one, together
from tradewind.placement.ship_all import ship_all

CHUNK = 40
CHUNKS = 6


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_plan_gives_the_answers_that_were_asked_for(chunk):
    kinds: Counter[str] = Counter()
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        case = random_case(seed)
        if case is None:
            continue
        known = {content.key: content for content in contents(case)}
        data = random_data(case.graph, random.Random(seed))
        plan = together(case.ground, case.asked, case.shared, offers=3).whole
        tidy = fused(plan, case.ground.network, known)
        shipped = one_by_one(case.ground, case.asked, ship_all).whole
        for what, one in (("planned", plan), ("fused", tidy), ("shipped", shipped)):
            graph = built(one, case.ground.network, known.values())
            same_answers(case.graph, graph, data, f"seed {seed}, {what}")
        kinds.update(step.kind for step in plan.steps)
    assert {"partial", "combine", "merge", "join"} <= set(kinds)
