"""Plans cut at the borders of sites: nothing is lost, nothing waits for itself, every row crosses a link once."""

from collections import Counter
from pathlib import Path

import pytest

from tests.placement.random_plans import contents, random_case
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.core import Source
from tradewind.algebra.operators.stored import Read, Update
from tradewind.errors import InputError
from tradewind.fragments.cut import cut
from tradewind.fragments.deployed import Deployed, above
from tradewind.fragments.differences import difference
from tradewind.fragments.triggers import intervals, levels_of, queries_of
from tradewind.frontends.deployment.file import deployment
from tradewind.placement.built import built
from tradewind.placement.fusing import fused
from tradewind.placement.many import one_by_one, together
from tradewind.placement.planners import choose
from tradewind.placement.report import Report
from tradewind.placement.ship_all import ship_all

EXAMPLES = Path(__file__).parents[2] / "examples"


def planned(file: Path, planner: str = "exact") -> Deployed:
    report = Report(choose(deployment(file), planner))
    return cut(report.plan, report.network, report.contents)


def check(deployed: Deployed, graph: Graph, sinks: dict[str, str]) -> None:
    """What must hold of every cut of a plan that means a graph."""
    answers = {name: (one, one.graph[name]) for one in deployed.fragments for name in one.answers}
    assert {name: node for name, (_, node) in answers.items()} == dict(graph.results)
    assert {name: one.site for name, (one, _) in answers.items()} == sinks
    given: set[str] = set()
    for one in deployed.fragments:
        assert given.issuperset(one.inputs), "those that give come before those that take"
        given.update(one.outputs)
        for name, node in one.inputs.items():
            assert deployed.channels[name].operator == node
            assert one.site in deployed.channels[name].sites
        for stream, origin in one.sources:
            assert origin == one.site, f"{stream} is read where it arises"
        for node in one.operators:
            assert all(child in one.operators or child in one.inputs.values() for child in node.inputs)
    assert set(deployed.channels) == given, "no channel without a writer, no writer without a channel"
    for channel in deployed.channels.values():
        had = {channel.site}
        for start, end in channel.hops:
            assert start in had
            assert end not in had, "a row crosses a link once"
            had.add(end)
        assert deployed.readers(channel.name)
    whole = {node for node in graph if not isinstance(node, Source) or node.origins}
    assert whole == {node for one in deployed.fragments for node in one.operators}


def test_random_plans_are_cut_so_that_all_of_them_runs_somewhere() -> None:
    seen: Counter[str] = Counter()
    for seed in range(40):
        case = random_case(seed)
        if case is None:
            continue
        network = case.ground.network
        known = {content.key: content for content in contents(case)}
        sinks = {one.goal.query: network.name(one.goal.site) for one in case.asked}
        plan = fused(together(case.ground, case.asked, case.shared, offers=3).whole, network, known)
        for one in (plan, one_by_one(case.ground, case.asked, ship_all).whole):
            deployed = cut(one, network, known)
            check(deployed, built(one, network, known.values()), sinks)
            seen["channels"] += len(deployed.channels)
            seen["relayed"] += any(len(channel.hops) > 1 for channel in deployed.channels.values())
            sites = Counter(fragment.site for fragment in deployed.fragments)
            seen["several at a site"] += any(count > 1 for count in sites.values())
    assert min(seen["channels"], seen["relayed"], seen["several at a site"]) > 0


@pytest.mark.parametrize("planner", ["exact", "ship-all"])
@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.yaml")), ids=lambda file: file.stem)
def test_examples_are_cut(file: Path, planner: str) -> None:
    found = deployment(file)
    if planner == "ship-all" and any(stream.leave_region != "free" for stream in found.streams.values()):
        with pytest.raises(InputError, match="its rows may not reach"):
            choose(found, planner)
        return
    report = Report(choose(found, planner))
    deployed = cut(report.plan, report.network, report.contents)
    graph = built(report.plan, report.network, report.contents.values())
    check(deployed, graph, {name: query.deliver.site for name, query in found.queries.items()})


def test_rows_that_go_away_and_come_back_make_two_fragments_of_one_site() -> None:
    """At hq a stream is sent to a site that alone may join it, and what comes back is joined with it once more."""
    found = deployment(Path(__file__).with_name("there_and_back.yaml"))
    report = Report(choose(found))
    deployed = cut(report.plan, report.network, report.contents)
    at_hq = [one for one in deployed.fragments if one.site == "hq"]
    assert len(at_hq) == 2
    assert at_hq[0].outputs
    assert at_hq[1].answers == ("busy",)
    assert {*levels_of(deployed).values()} == {0, 1, 2}


def test_what_is_given_is_not_run_again() -> None:
    deployed = planned(EXAMPLES / "cdn.yaml")
    root = next(one for one in deployed.fragments if one.inputs and one.answers)
    node = next(iter(root.inputs.values()))
    assert node in set(root.graph)
    assert node not in set(above(root.graph, [node]))
    assert deployed.channels[next(iter(root.inputs))].origins


def test_equal_deployments_differ_in_nothing_and_what_is_equal_goes_on() -> None:
    one, other = planned(EXAMPLES / "cdn.yaml"), planned(EXAMPLES / "cdn.yaml")
    assert difference(one, other).nothing
    one, shipped = planned(EXAMPLES / "rss_mashup.yaml"), planned(EXAMPLES / "rss_mashup.yaml", "ship-all")
    changed = difference(one, shipped)
    assert not changed.nothing
    assert {f.name for f in (*changed.kept, *changed.started)} == {f.name for f in shipped.fragments}
    assert {f.name for f in (*changed.kept, *changed.stopped)} == {f.name for f in one.fragments}
    assert {c.name for c in changed.opened}.isdisjoint(one.channels)
    assert set(changed.carried).isdisjoint(changed.dropped)


def test_fresher_answers_are_worked_on_more_often() -> None:
    deployed = planned(EXAMPLES / "cdn.yaml")
    names = [name for one in deployed.fragments for name in one.answers]
    hasty, slow = (intervals(deployed, dict.fromkeys(names, seconds)) for seconds in (3.0, 60.0))
    leaves = [one.name for one in deployed.fragments if not one.inputs]
    assert all(hasty[name] == 1.0 and slow[name] == 20.0 for name in leaves)
    assert all(hasty[name] < slow[name] for name in hasty)
    depth = max(levels_of(deployed).values())
    inner = [one.name for one in deployed.fragments if one.inputs]
    assert all(hasty[name] * depth <= 1.0 for name in inner)
    unwished = intervals(deployed, {})
    assert all(unwished[name] <= 60.0 for name in leaves)


def test_a_fragment_serves_all_queries_behind_it() -> None:
    deployed = planned(EXAMPLES / "cdn.yaml")
    leaf = next(one for one in deployed.fragments if not one.inputs and one.site == "ams")
    assert len(queries_of(deployed, leaf)) > 1


def test_tables_are_used_at_one_site(tmp_path: Path) -> None:
    text = (EXAMPLES / "payments.yaml").read_text()
    file = tmp_path / "payments.yaml"
    file.write_text(text)
    deployed = planned(file)
    assert table_sites(deployed) == {"limits": {"bank"}}
    moved = text.replace("  over_limit:\n", "  over_limit:\n    pin: {read: acquirer_us}\n")
    assert moved != text
    file.write_text(moved)
    assert table_sites(planned(file))["limits"] == {"acquirer_us"}, "a pin moves all boxes of its table"
    split = moved.replace("from: limits_kept\n", "from: limits_kept\n    pin: {update: bank}\n")
    assert split != moved
    file.write_text(split)
    with pytest.raises(InputError, match=r"table .* would be used at"):
        planned(file)


def table_sites(deployed: Deployed) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in deployed.fragments:
        for node in one.operators:
            if isinstance(node, Read | Update):
                found.setdefault(node.table.name, set()).add(one.site)
    return found
