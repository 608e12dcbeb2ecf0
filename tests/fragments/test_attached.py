"""Queries that come later take what they can from channels that are there; what runs goes on as it is."""

import random
from collections import Counter
from dataclasses import replace

from tests.fragments.test_cut import check
from tests.placement.random_plans import contents, random_case
from tests.random_data import random_data
from tests.rewrites.comparing import same_answers
from tradewind.algebra.graph import Graph
from tradewind.fragments.cut import attached, cut
from tradewind.placement.attaching import attachable, besides, beyond
from tradewind.placement.fusing import fused
from tradewind.placement.limits import Limits
from tradewind.placement.many import one_by_one
from tradewind.placement.plan import Plan


def test_random_queries_attached_one_by_one_answer_as_the_interpreter_does() -> None:
    seen: Counter[str] = Counter()
    for seed in range(60):
        case = random_case(seed)
        if case is None or len(case.asked) < 2:
            continue
        network, first = case.ground.network, case.asked[0]
        known = {content.key: content for content in contents(case)}
        plans = dict(one_by_one(case.ground, [first]).plans)
        deployed = cut(fused(Plan.of(plans.values()), network, known), network, known)
        for later in case.asked[1:]:
            # Sometimes channels have forgotten what they held, and nobody can begin to read them.
            forgotten = later is case.asked[-1] and seed % 3 == 0
            runs = replace(deployed, had={}) if forgotten else deployed
            there = {(key, network.number(site)) for key, site in runs.had}
            running = attachable(network, plans, there, later.origins)
            plans |= besides(case.ground, running, [later], Limits())
            plan = beyond(plans[later.goal.query], network, known, there)
            more = attached(runs, plan, network, known)
            before = deployed
            deployed |= more
            assert deployed.fragments[: len(before.fragments)] == before.fragments
            for name, channel in before.channels.items():
                assert deployed.channels[name].hops[: len(channel.hops)] == channel.hops
            written = Counter(name for one in deployed.fragments for name in one.outputs)
            assert set(written.values()) <= {1}, "a channel has one writer"
            seen["anew"] += forgotten and any(name not in before.channels for name in more.channels)
            seen["attached"] += any(name in before.channels for one in more.fragments for name in one.inputs)
            seen["further"] += any(name in before.channels for name in more.channels)
        answers = {name: one.graph[name] for one in deployed.fragments for name in one.answers}
        graph = Graph(tuple(answers.items()))
        sinks = {one.goal.query: network.name(one.goal.site) for one in case.asked}
        check(deployed, graph, sinks)
        same_answers(case.graph, graph, random_data(case.graph, random.Random(seed)), f"seed {seed}")
    assert seen["attached"] > 3
    assert min(seen["further"], seen["anew"]) > 0
