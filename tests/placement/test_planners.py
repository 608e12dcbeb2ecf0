"""Whole deployments: what is chosen, what it costs, what is shared, what is refused."""

import json

import pytest

from tradewind.algebra.operators.base import walk
from tradewind.errors import InputError
from tradewind.frontends.deployment.check import load
from tradewind.placement.built import built
from tradewind.placement.planners import PLANNERS, choose
from tradewind.placement.report import Report

NETWORK = """
sites:
  ams: {cores: 2, region: eu}
  dc: {cores: 8, region: eu}
  hq: {cores: 8, region: us}
links:
  - {between: [ams, dc], mbps: 100, ms: 10, usd_per_gb: 0.02}
  - {between: [dc, hq], mbps: 1000, ms: 80, usd_per_gb: 0.08}
"""
JOIN = (
    NETWORK
    + """
streams:
  a: {schema: "k INT, x INT", at: {ams: {rows_per_second: 100, row_bytes: 10}}}
  b: {schema: "k INT, y INT", at: {dc: {rows_per_second: 200, row_bytes: 20}}}
queries:
  q:
    sql: SELECT a.x, b.y FROM a JOIN b ON a.k = b.k
    selectivity: {"a,b": 0.001}
    deliver: {site: hq}
"""
)


def test_a_join_costs_what_can_be_worked_out_by_hand():
    """a goes to dc, and 100 × 200 × 0.001 = 20 rows/s of half the width go on to hq."""
    report = Report(choose(load(JOIN)))
    (join,) = [line for line in report.lines if line.kind == "join"]
    assert join.site == "dc"
    assert join.rows_per_second == pytest.approx(20)
    sent = {(link.start, link.end): link.bytes_per_second for link in report.links()}
    assert sent["ams", "dc"] == pytest.approx(1000)
    price = (1000 * 0.02 + join.bytes_per_second * 0.08) * 3600 / 1e9
    assert report.chosen.cost == pytest.approx(price)
    assert report.chosen.bound == pytest.approx(price)
    shipped = (1000 * (0.02 + 0.08) + 4000 * 0.08) * 3600 / 1e9
    assert report.chosen.shipped_cost == pytest.approx(shipped)


@pytest.mark.parametrize("planner", PLANNERS)
def test_every_planner_gives_a_plan_that_answers(planner):
    deployment = load(JOIN)
    chosen = choose(deployment, planner)
    graph = built(chosen.plan, chosen.problem.network, chosen.problem.contents.values())
    assert graph["q"].schema.columns == deployment.queries["q"].operator.schema.columns
    assert chosen.cost >= choose(deployment).cost * (1 - 1e-9)


def test_unknown_planner():
    with pytest.raises(InputError, match="unknown planner 'best'"):
        choose(load(JOIN), "best")


def test_the_plan_as_data_keeps_the_contract():
    data = Report(choose(load(JOIN))).as_data(0.5)
    json.dumps(data)
    assert data["objective"] == "dollars"
    assert data["seconds"] == 0.5
    ids = {one["id"] for one in data["operators"]}
    for one in data["operators"]:
        assert {"id", "kind", "site", "inputs", "rows_per_second", "bytes_per_second", "queries"} <= set(one)
        assert set(one["inputs"]) <= ids
        assert one["queries"] == ["q"]
    assert sum(link["usd_per_hour"] for link in data["links"]) == pytest.approx(data["cost"])
    assert data["ship_everything"]["cost"] > data["cost"]


COUNTS = (
    NETWORK
    + """
streams:
  hits:
    schema: ts TIMESTAMP, url STRING, status INT
    time: ts
    leave_region: WISH
    distinct: {url: 1000, status: 10}
    at:
      ams: {rows_per_second: 5000, row_bytes: 40}
      dc: {rows_per_second: 5000, row_bytes: 40}
queries:
  counts:
    sql: SELECT window.start AS at, url, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), url
    deliver: {site: SINK}
  rows:
    sql: SELECT ts, url FROM hits WHERE status = 200
    deliver: {site: OTHER}
"""
)


def counts(wish="free", sink="hq", other="dc"):
    return load(COUNTS.replace("WISH", wish).replace("SINK", sink).replace("OTHER", other))


def test_rows_that_may_not_leave_are_aggregated_where_they_are():
    report = Report(choose(counts("aggregated")))
    places = {line.kind: line.site for line in report.lines if "counts" in line.queries}
    assert places["partial"] in ("ams", "dc")
    for line in report.lines:
        if line.kind in ("source", "filter"):
            assert line.residency == "rows of hits stay at ams, dc"
        if line.kind in ("partial", "combine", "merge"):
            assert line.residency == "aggregates of hits may leave"
    crossing = [hop for hop in report.plan.hops if report.network.name(report.network.end[hop.link]) == "hq"]
    assert crossing
    for hop in crossing:
        node = report.contents[hop.content].operator
        assert node is not None
        assert "stay" not in report.chosen.problem.residency.told(node)


@pytest.mark.parametrize(("wish", "sink", "other"), [("aggregated", "hq", "hq"), ("never", "hq", "dc")])
def test_an_impossible_wish_names_the_stream(wish, sink, other):
    with pytest.raises(InputError, match=rf"'hits' \(leave_region: {wish}\)"):
        choose(counts(wish, sink, other))


def test_never_is_kept_where_it_can_be():
    report = Report(choose(counts("never", "dc", "ams")))
    assert {line.site for line in report.lines} <= {"ams", "dc"}


def test_a_pinned_operator_is_where_it_was_pinned():
    text = JOIN.replace("deliver: {site: hq}", "deliver: {site: hq}\n    pin: {join: ams}")
    chosen = choose(load(text))
    assert {chosen.problem.network.name(step.site) for step in chosen.plan.steps if step.kind == "join"} == {"ams"}
    assert chosen.cost > choose(load(JOIN)).cost


def test_a_site_that_is_too_small_is_not_used():
    busy = JOIN.replace("rows_per_second: 100,", "rows_per_second: 900000,").replace('"a,b": 0.001', '"a,b": 0.0000001')
    free = choose(load(busy.replace("dc: {cores: 8", "dc: {cores: 64")))
    assert {free.problem.network.name(step.site) for step in free.plan.steps if step.kind == "join"} == {"dc"}
    full = choose(load(busy.replace("dc: {cores: 8", "dc: {cores: 1").replace("mbps: 100,", "mbps: 1000,")))
    assert {full.problem.network.name(step.site) for step in full.plan.steps if step.kind == "join"} != {"dc"}
    assert full.cost > free.cost


def test_no_room_anywhere_is_an_error_that_says_how_much_is_missing():
    text = JOIN.replace("mbps: 100,", "mbps: 0.001,").replace("rows_per_second: 200", "rows_per_second: 20000")
    with pytest.raises(InputError, match=r"needs .* and has"):
        choose(load(text))


SHARED = (
    NETWORK
    + """
streams:
  hits:
    schema: ts TIMESTAMP, url STRING, status INT
    time: ts
    distinct: {url: 2000, status: 10}
    at: {ams: {rows_per_second: 5000, row_bytes: 40}}
queries:
  by_minute:
    sql: SELECT window.start AS at, url, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), url
    deliver: {site: hq}
    fresh_within: 30 seconds
  by_hour:
    sql: SELECT window.start AS at, url, count(*) AS n FROM hits GROUP BY window(ts, '1 hour'), url
    deliver: {site: hq}
    fresh_within: 30 seconds
"""
)


def test_short_windows_feed_long_ones():
    report = Report(choose(load(SHARED)))
    sent = {hop.content for hop in report.plan.hops if report.network.name(report.network.start[hop.link]) == "ams"}
    assert len(sent) == 1
    (partial,) = [line for line in report.lines if line.kind == "partial"]
    assert partial.queries == ("by_hour", "by_minute")
    minutes = choose(load(SHARED.split("  by_hour:")[0]))
    both = sum(link.bytes_per_second for link in report.links())
    assert both == pytest.approx(sum(link.bytes_per_second for link in Report(minutes).links()), rel=0.01)


CONTAINED = (
    NETWORK
    + """
streams:
  hits: {schema: "ts TIMESTAMP, x INT, y INT, z STRING", time: ts, at: {ams: {rows_per_second: 1000, row_bytes: 60}}}
queries:
  many: {sql: SELECT * FROM hits WHERE y < 400, deliver: {site: hq}}
  few: {sql: "SELECT ts, z FROM hits WHERE y < 400 AND x < 3", deliver: {site: hq}}
"""
)


def test_what_is_contained_in_another_answer_crosses_no_link_again():
    report = Report(choose(load(CONTAINED)))
    assert len({hop.content for hop in report.plan.hops}) == 1
    graph = built(report.plan, report.network, report.contents.values())
    written = load(CONTAINED).queries
    assert all(graph[name].schema.columns == written[name].operator.schema.columns for name in written)


def test_a_pin_is_kept_though_others_could_share():
    text = SHARED.replace(
        "fresh_within: 30 seconds\n  by_hour", "fresh_within: 30 seconds\n    pin: {merge: dc}\n  by_hour"
    )
    assert text != SHARED
    report = Report(choose(load(text)))
    assert {line.site for line in report.lines if line.kind == "merge" and line.queries == ("by_minute",)} == {"dc"}


def test_missing_figures_are_warned_of_with_what_is_assumed():
    text = SHARED.replace("rows_per_second: 5000, row_bytes: 40", "path: data").replace(", status: 10", "")
    warnings = " ".join(choose(load(text)).problem.warnings)
    assert "stream 'hits' at 'ams' has no rows_per_second: 1,000 rows/s are assumed." in warnings
    assert "has no row_bytes" in warnings


def test_links_without_a_price_are_warned_of():
    warnings = choose(load(JOIN.replace(", usd_per_gb: 0.02", ""))).problem.warnings
    assert warnings[0] == "links without usd_per_gb (ams-dc): 0.01 is assumed."


@pytest.mark.parametrize("objective", ["bytes", "latency", "load", "utility"])
def test_other_objectives(objective):
    chosen = choose(load(JOIN + f"objective: {objective}\n"))
    assert chosen.plan.goals
    if objective == "latency":
        assert chosen.cost == pytest.approx(90)
    if objective == "load":
        assert chosen.cost <= max(chosen.problem.network.cores)


def test_a_metric_of_the_file():
    text = f"""{JOIN}
metrics:
  worst:
    cost: MAX(SUM(cores, OPERATORS), NODES)
    where: ["SUM(SUM(ms, OPERATORS), QUERIES) <= 500"]
objective: worst
"""
    assert choose(load(text)).cost > 0
    with pytest.raises(InputError, match="no plan was found that keeps"):
        choose(load(text.replace("500", "1")))


def test_nothing_to_plan():
    with pytest.raises(InputError, match="nothing to plan"):
        choose(load(JOIN.split("queries:")[0]))


WINDOWS = SHARED.replace("'1 hour'", "'5 minutes'").replace("    fresh_within: 30 seconds\n", "")


def test_a_plan_tidied_up_keeps_every_window():
    report = Report(choose(load(WINDOWS)))
    graph = built(report.plan, report.network, report.contents.values())
    assert graph["by_minute"] != graph["by_hour"]
    windows = {name: {getattr(node, "window", None) for node in walk(graph[name])} for name in graph.names}
    assert any(window is not None and window.size == 300_000_000 for window in windows["by_hour"])


BANDS = """
sites: {s0: {cores: 8}, s1: {cores: 8}}
links: [{between: [s0, s1], mbps: 1000, ms: 5, usd_per_gb: 0.459}]
streams:
  A: {schema: "ta TIMESTAMP, ka STRING", time: ta, at: {s0: {rows_per_second: 100, row_bytes: 265}}}
  B: {schema: "tb TIMESTAMP, kb STRING", time: tb, at: {s1: {rows_per_second: 100, row_bytes: 231}}}
  C: {schema: "tc TIMESTAMP, kc STRING", time: tc, at: {s1: {rows_per_second: 20, row_bytes: 290}}}
queries:
  q:
    sql: SELECT * FROM A JOIN FIRST JOIN SECOND
    deliver: {site: s1}
    selectivity: {'A,B': 3.44e-05, 'A,C': 5.85e-05, 'B,C': 0.149}
"""
WITH_B = "B ON A.ka = B.kb AND B.tb BETWEEN A.ta AND A.ta + INTERVAL 5 MINUTES"
WITH_C = "C ON A.ka = C.kc AND C.tc BETWEEN A.ta AND A.ta + INTERVAL 5 MINUTES"


@pytest.mark.parametrize(("first", "second"), [(WITH_B, WITH_C), (WITH_C, WITH_B)])
def test_the_order_in_which_joins_are_written_does_not_matter(first, second):
    """C goes to A, where few rows are left, and these go to B."""
    chosen = choose(load(BANDS.replace("FIRST", first).replace("SECOND", second)))
    left = 100 * 20 * 5.85e-05
    price = (5800 + left * (265 + 290)) * 0.459 * 3600 / 1e9
    assert chosen.cost == pytest.approx(price)


def test_a_stream_that_is_joined_with_itself_travels_once():
    text = (
        NETWORK
        + """
streams:
  a: {schema: "ts TIMESTAMP, k INT, x INT, y STRING", time: ts, at: {ams: {rows_per_second: 1000, row_bytes: 50}}}
queries:
  q:
    sql: SELECT l.ts, l.k, r.x FROM a l JOIN a r ON l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 10 SECONDS
    deliver: {site: hq}
"""
    )
    chosen = choose(load(text))
    assert len({hop.content for hop in chosen.plan.hops}) == 1
    assert chosen.cost < chosen.shipped_cost


def test_a_small_stream_is_brought_to_the_origins_of_a_large_one():
    text = (
        NETWORK
        + """
streams:
  large:
    schema: k INT, x INT
    at: {ams: {rows_per_second: 9000, row_bytes: 50}, dc: {rows_per_second: 9000, row_bytes: 50}}
  small: {schema: "j INT, y INT", at: {hq: {rows_per_second: 1, row_bytes: 20}}}
queries:
  q:
    sql: SELECT x, y FROM large JOIN small ON k = j
    selectivity: {"large,small": 0.000001}
    deliver: {site: hq}
"""
    )
    report = Report(choose(load(text)))
    assert {line.site for line in report.lines if line.kind == "join"} == {"ams", "dc"}


THREE = (
    NETWORK
    + """
streams:
  A: {schema: "ta TIMESTAMP, ka STRING", time: ta, at: {ams: {rows_per_second: 100, row_bytes: 10}}}
  B: {schema: "tb TIMESTAMP, kb STRING", time: tb, at: {ams: {rows_per_second: 100, row_bytes: 10}}}
  C: {schema: "tc TIMESTAMP, kc STRING", time: tc, at: {ams: {rows_per_second: 100, row_bytes: 10}}}
queries:
  q:
    sql: SELECT * FROM A JOIN B ON A.ka = B.kb JOIN C ON A.ka = C.kc AND C.tc BETWEEN A.ta AND A.ta + INTERVAL 5 MINUTES
      AND C.tc BETWEEN B.tb AND B.tb + INTERVAL 5 MINUTES
    deliver: {site: dc}
    selectivity: DECLARED
objective: bytes
"""
)


@pytest.mark.parametrize(
    ("declared", "rows"),
    [('{"A,B": 0.01, "A,C": 0.01, "B,C": 0.01}', 1.0), ('{"A,B": 0.01, "A,C": 0.001}', 10.0)],
)
def test_declared_selectivities_cover_all_that_is_asked_between_two_streams(declared, rows):
    """100³ rows times the selectivities of all pairs; a pair that is not named beside others keeps all its rows."""
    chosen = choose(load(THREE.replace("DECLARED", declared)))
    (goal,) = chosen.plan.goals
    found = chosen.problem.contents[goal.content].rows_per_second
    assert found == pytest.approx(rows)
