"""Limits on sites, links and time: kept, at a stated distance from the best, or refused with the conflict's name."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tests.placement.random_cases import Case, random_case
from tradewind.cost.prices import Prices
from tradewind.errors import InputError
from tradewind.network.network import Network, Place, Wire, both_ways
from tradewind.placement.choices import Choices, Content, Recipe
from tradewind.placement.constrained import constrained
from tradewind.placement.exact import exact
from tradewind.placement.ground import Ground
from tradewind.placement.limits import Limits, arising, broken, latency, newly_broken
from tradewind.placement.plan import Goal, Plan
from tradewind.placement.running import Running, added

LARGE = {"small": 0}
"""Makes every query one that is too large for the mixed-integer programme."""
BOTH = pytest.mark.parametrize("options", [{}, LARGE], ids=["programme", "relaxation"])


def diamond() -> Ground:
    """From src to sink over a cheap slow site or over a dear fast one."""
    places = [Place(name, cores=4.0) for name in ("src", "slow", "fast", "sink")]
    wires = [
        Wire("src", "slow", 100.0, 50.0, 1.0),
        Wire("slow", "sink", 100.0, 50.0, 1.0),
        Wire("src", "fast", 100.0, 5.0, 2.0),
        Wire("fast", "sink", 100.0, 5.0, 2.0),
    ]
    network = Network.of(places, both_ways(wires))
    return Ground(network, Prices.of_links(network, network.usd_per_gb))


CHOICES = Choices((Content("S", 10.0, origins=(0,)), Content("small", 1.0)), (Recipe(1, (0,), "filter", 1.0),))
GOAL = Goal("q", "small", 3)
SRC, SLOW, FAST, SINK = range(4)


def cores(*each: float) -> Limits:
    return Limits(cores=np.array(each))


def only(ground: Ground, **widths: float) -> Limits:
    """Links named start_end carry so many bytes per second; all others carry anything."""
    network = ground.network
    allowed = np.full(len(network.start), 1e9)
    for name, width in widths.items():
        start, end = (network.number(one) for one in name.split("_"))
        allowed[(network.start == start) & (network.end == end)] = width
    return Limits(bytes_per_second=allowed)


def test_limits_that_are_not_reached_change_nothing():
    ground = diamond()
    found = constrained(ground, CHOICES, GOAL, Limits.of(ground.network, {"q": 200.0}))
    assert found.cost == found.bound == pytest.approx(2.0)
    assert "without limits" in found.note
    assert found.plan == exact(ground, CHOICES, GOAL)


@BOTH
def test_an_operator_moves_to_where_there_are_cores(options):
    ground = diamond()
    found = constrained(ground, CHOICES, GOAL, cores(0.5, 1.0, 1.0, 1.0), **options)
    assert {step.site for step in found.plan.steps} == {SLOW}
    assert found.cost == pytest.approx(10 * 1 + 1 * 1)
    assert found.bound == pytest.approx(found.cost)
    assert found.gap == pytest.approx(0.0)


@BOTH
def test_what_runs_already_keeps_its_cores(options):
    ground = diamond()
    running = Running(ground.network)
    other = Choices((Content("T", 10.0, origins=(0,)), Content("other", 1.0)), (Recipe(1, (0,), "map", 3.5),))
    goal = Goal("before", "other", SRC)
    running.add("before", exact(ground, other, goal), {"T": (SRC,)})
    limits = cores(4.0, 4.0, 4.0, 4.0)
    found = constrained(ground, CHOICES, GOAL, limits, running, **options)
    assert {step.site for step in found.plan.steps} == {SLOW}
    assert newly_broken(found.plan, ground.network, limits, running) == []
    # What is overfull already is nobody's fault who leaves it alone.
    tight = cores(1.0, 4.0, 4.0, 4.0)
    again = constrained(ground, CHOICES, GOAL, tight, running, **options)
    assert again.cost == pytest.approx(found.cost)


@BOTH
def test_a_link_that_is_too_thin_is_gone_round(options):
    ground = diamond()
    found = constrained(ground, CHOICES, GOAL, only(ground, slow_sink=0.5), **options)
    assert found.cost == pytest.approx(4.0)
    assert broken(found.plan, ground.network, only(ground, slow_sink=0.5)) == []
    assert found.bound == pytest.approx(4.0)


@BOTH
def test_a_deadline_takes_the_dearer_faster_way(options):
    ground = diamond()
    limits = Limits(deadline_ms={"q": 60.0})
    cheapest = exact(ground, CHOICES, GOAL)
    (missed,) = broken(cheapest, ground.network, limits)
    assert (missed.kind, missed.name, missed.used, missed.allowed) == ("deadline", "q", 100.0, 60.0)
    found = constrained(ground, CHOICES, GOAL, limits, **options)
    assert latency(found.plan, ground.network, GOAL, {"S": (SRC,)}) == pytest.approx(10.0)
    assert found.cost == pytest.approx(4.0)
    assert found.bound <= found.cost


@BOTH
def test_a_slow_stream_that_runs_is_not_reused_where_a_deadline_forbids_it(options):
    ground = diamond()
    running = Running(ground.network)
    goal = Goal("before", "small", SINK)
    running.add("before", exact(ground, CHOICES, goal), {"S": (SRC,)})
    assert constrained(ground, CHOICES, GOAL, Limits(), running).cost == 0.0
    found = constrained(ground, CHOICES, GOAL, Limits(deadline_ms={"q": 60.0}), running, **options)
    assert latency(found.plan, ground.network, GOAL, {"S": (SRC,)}) == pytest.approx(10.0)
    # The filter runs already; only the hops are new.
    assert found.cost == pytest.approx(4.0)


@BOTH
def test_a_deadline_that_nothing_keeps_is_named(options):
    ground = diamond()
    with pytest.raises(
        InputError, match=r"query q: no plan keeps all limits: query 'q' needs 10 ms and may take 9 ms\."
    ):
        constrained(ground, CHOICES, GOAL, Limits(deadline_ms={"q": 9.0}), **options)


def test_the_smallest_conflict_of_cores_is_named():
    ground = diamond()
    with pytest.raises(InputError, match=r"no plan keeps all limits: site 'fast' needs 1 cores and has 0\.9\."):
        constrained(ground, CHOICES, GOAL, cores(0.2, 0.5, 0.9, 0.3))


def test_the_smallest_conflict_of_links_is_named():
    ground = diamond()
    limits = only(ground, slow_sink=0.5, fast_sink=0.8)
    with pytest.raises(InputError, match=r"limits: link 'fast' to 'sink' needs 1 bytes/s and has 0\.8\."):
        constrained(ground, CHOICES, GOAL, limits)


@BOTH
def test_large_queries_name_a_conflict_too(options):
    ground = diamond()
    with pytest.raises(InputError, match=r"no plan keeps all limits: site '\w+' needs 1 cores and has 0\.\d"):
        constrained(ground, CHOICES, GOAL, cores(0.2, 0.5, 0.9, 0.3), **options)


def test_a_conflict_of_two_kinds_of_limits():
    """The fast way has no room and the slow one no time: neither limit alone is impossible."""
    ground = diamond()
    thin = only(ground, fast_sink=0.8).bytes_per_second
    assert constrained(ground, CHOICES, GOAL, Limits(bytes_per_second=thin)).cost == pytest.approx(2.0)
    with pytest.raises(InputError, match=r"link 'fast' to 'sink' needs 1 bytes/s and has 0\.8"):
        constrained(ground, CHOICES, GOAL, Limits(bytes_per_second=thin, deadline_ms={"q": 60.0}))


def narrowed(seed: int) -> tuple[Case, Limits]:
    """A random case whose cheapest plan is kept from some of what it uses."""
    case, random = random_case(seed, sites=10, streams=3, most=None), Random(seed)
    network = case.ground.network
    plan = exact(case.ground, case.choices, case.goal, case.running)
    before = case.running.whole if case.running is not None else Plan()
    new = Plan(plan.steps - before.steps, plan.hops - before.hops)
    shares = np.array([random.choice([0.5, 2.0, 2.0]) for _ in network.start])
    links = before.on_links(network) + np.maximum(new.on_links(network) * shares, 20.0)
    sites = before.at_sites(network) + np.array([random.choice([0.0, 0.5, 1.0]) for _ in network.places])
    if seed % 2:
        return case, Limits(sites, links)
    late = latency(plan, network, case.goal, arising(plan, network))
    return case, Limits(None, links, {case.goal.query: late * 0.9})


def test_the_relaxation_is_as_near_the_best_as_it_says():
    compared, near = 0, 0
    for seed in range(40):
        case, limits = narrowed(seed)
        problem = case.ground, case.choices, case.goal, limits, case.running
        try:
            best = constrained(*problem)
        except InputError:
            with pytest.raises(InputError, match="no plan keeps all limits"):
                constrained(*problem, small=0, rounds=20)
            continue
        if "without limits" in best.note:
            continue
        found = constrained(*problem, small=0, rounds=60)
        compared += 1
        assert newly_broken(best.plan, case.ground.network, limits, case.running) == []
        assert newly_broken(found.plan, case.ground.network, limits, case.running) == []
        assert best.cost == pytest.approx(added(best.plan, case.running, case.ground.prices))
        assert found.bound * (1 - 1e-9) <= best.cost <= found.cost * (1 + 1e-9), f"seed {seed}"
        near += found.gap < 0.05
    assert compared >= 12
    assert near >= compared / 2
