"""One question asked in SQL, in Python and as boxes is one graph; each comes back from JSON and from `flow:`."""

import json

import pytest
import yaml

import tradewind as tw
from tradewind.algebra.graph import Graph
from tradewind.frontends.deployment.check import load
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.deployment.yaml import read_yaml
from tradewind.frontends.flow.write import write_flow

HEAD = """
sites: {ams: {cores: 1}, hq: {cores: 2}}
links: [{between: [ams, hq], mbps: 10}]
streams:
  requests:
    schema: ts TIMESTAMP, domain STRING, url STRING, bytes BIGINT, status INT
    time: ts
    late_by: 10 seconds
    at: {ams: {rows_per_second: 10}}
  clicks:
    schema: at TIMESTAMP, domain STRING, user STRING
    time: at
    at: {hq: {rows_per_second: 1}}
"""

QUESTIONS = {
    "filter and map": (
        "SELECT domain, bytes * 8 AS bits FROM requests WHERE status < 500 AND url LIKE '/a%'",
        lambda d: d.stream("requests").where("status < 500 AND url LIKE '/a%'").select("domain", bits="bytes * 8"),
        """
        ok: {box: filter, in: requests, where: status < 500 AND url LIKE '/a%'}
        bits: {box: map, in: ok, columns: {domain: domain, bits: bytes * 8}}
        """,
    ),
    "everything": (
        "SELECT * FROM requests", lambda d: d.stream("requests"), "same: {box: map, in: requests, keep: all}",
    ),
    "top per window": (
        """SELECT window.start AS minute, domain, count(*) AS hits FROM requests WHERE status < 500
           GROUP BY window(ts, '1 minute'), domain
           QUALIFY row_number() OVER (PARTITION BY window ORDER BY hits DESC, domain) <= 10""",
        lambda d: (
            d.stream("requests")
            .where("status < 500")
            .group_by("domain", window=tw.tumbling("1 minute"))
            .agg(hits="count(*)")
            .top(10, by="hits DESC, domain")
            .select("window.start AS minute", "domain", "hits")
        ),
        """
        ok: {box: filter, in: requests, where: status < 500}
        counted: {box: aggregate, in: ok, by: [domain], window: {size: 1 minute}, functions: {hits: count(*)}}
        best: {box: top, in: counted, k: 10, by: "hits DESC, domain"}
        shown: {box: map, in: best, columns: {minute: window.start, domain: domain, hits: hits}}
        """,
    ),
    "several aggregates, sliding, having": (
        """SELECT domain, window, sum(bytes) AS total, approx_percentile(bytes, 0.95) AS p95 FROM requests
           GROUP BY domain, window(ts, '10 minutes', '1 minute') HAVING total > 100""",
        lambda d: (
            d.stream("requests")
            .group_by("domain", window=tw.sliding("10 minutes", "1 minute"))
            .agg(total="sum(bytes)", p95="approx_percentile(bytes, 0.95)")
            .where("total > 100")
        ),
        """
        sums:
          {box: aggregate, in: requests, by: domain, window: {size: 10 minutes, step: 1 minute},
           functions: {total: sum(bytes), p95: "approx_percentile(bytes, 0.95)"}}
        large: {box: filter, in: sums, where: total > 100}
        """,
    ),
    "session": (
        "SELECT domain, window, count(*) AS n FROM requests GROUP BY domain, session_window(ts, '30 seconds')",
        lambda d: d.stream("requests").group_by("domain", window=tw.session("30 seconds")).agg(n="count(*)"),
        "visits: {box: aggregate, in: requests, by: domain, window: {session: 30 seconds}, functions: {n: count(*)}}",
    ),
    "computed key": (
        "SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM requests GROUP BY date_trunc('hour', ts)",
        lambda d: d.stream("requests").group_by(hour="date_trunc('hour', ts)").agg(n="count(*)"),
        """
        hourly: {box: aggregate, in: requests, by: {hour: "date_trunc('hour', ts)"}, functions: {n: count(*)}}
        """,
    ),
    "band join": (
        """SELECT r.url, c.user FROM requests r JOIN clicks c
           ON r.domain = c.domain AND c.at BETWEEN r.ts AND r.ts + INTERVAL 5 MINUTES""",
        lambda d: (
            d.stream("requests")
            .join(d.stream("clicks"), on="domain", within=("0 seconds", "5 minutes"), suffix="c")
            .select("url", "user")
        ),
        """
        both: {box: join, in: [requests, clicks], on: domain, suffix: c,
               band: {left: ts, right: at, low: 0 seconds, high: 5 minutes}}
        shown: {box: map, in: both, keep: [url, user]}
        """,
    ),
    "left join": (
        "SELECT * FROM requests r LEFT JOIN clicks c ON r.domain = c.domain AND c.at = r.ts",
        lambda d: (
            d.stream("requests").join(d.stream("clicks"), on={"domain": "domain", "ts": "at"}, how="left", suffix="c")
        ),
        "both: {box: join, in: [requests, clicks], on: {domain: domain, ts: at}, how: left, suffix: c}",
    ),
    "union of maps": (
        "SELECT domain FROM requests UNION ALL SELECT domain FROM clicks",
        lambda d: d.stream("requests").select("domain").union(d.stream("clicks").select("domain")),
        """
        a: {box: map, in: requests, keep: [domain]}
        b: {box: map, in: clicks, keep: [domain]}
        all: {box: union, in: [a, b]}
        """,
    ),
    "distinct": (
        "SELECT DISTINCT domain FROM requests",
        lambda d: d.stream("requests").select("domain").distinct(),
        "names: {box: map, in: requests, keep: [domain]}\n        all: {box: distinct, in: names}",
    ),
    "ranked sub-select": (
        """SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY domain ORDER BY bytes DESC) AS place FROM requests)
           WHERE place <= 3""",
        lambda d: d.stream("requests").top(3, by="bytes", per="domain", rank="place"),
        "best: {box: top, in: requests, k: 3, by: bytes, per: domain, rank: place}",
    ),
    "order by and limit": (
        "SELECT domain, bytes FROM requests ORDER BY bytes DESC LIMIT 5",
        lambda d: d.stream("requests").top(5, by="bytes").select("domain", "bytes"),
        "best: {box: top, in: requests, k: 5, by: bytes}\n        shown: {box: map, in: best, keep: [domain, bytes]}",
    ),
}  # fmt: skip


def deployed(sql: str, flow: str) -> Deployment:
    """A deployment that asks the question twice."""
    # Our own reader: to YAML 1.1, `on` would be a boolean.
    boxes = read_yaml("\n".join(line.removeprefix("        ") for line in flow.splitlines())).data
    data = yaml.safe_load(HEAD)
    data["queries"] = {
        "asked": {"sql": sql, "deliver": {"site": "hq"}},
        "drawn": {"flow": boxes, "deliver": {"site": "hq"}},
    }
    return load(yaml.safe_dump(data, sort_keys=False))


@pytest.mark.parametrize("question", QUESTIONS)
def test_all_ways_to_ask_give_one_graph(question: str) -> None:
    sql, fluent, flow = QUESTIONS[question]
    d = deployed(sql, flow)
    asked, drawn, called = d.queries["asked"].operator, d.queries["drawn"].operator, fluent(d).operator
    assert asked == called, f"\n{asked!r}\n{called!r}"
    assert drawn == called
    given = d.sql(sql)
    assert type(given) is type(fluent(d))
    assert given.graph("asked") == d.graph("asked")


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_comes_back_from_json_and_from_flow(question: str) -> None:
    sql, _, flow = QUESTIONS[question]
    d = deployed(sql, flow)
    graph = d.graph("asked")
    assert Graph.from_json(json.loads(json.dumps(graph.to_json()))) == graph
    written = write_flow(graph)
    again = yaml.safe_load(HEAD) | written
    again["queries"] = {
        name: {**query, "deliver": {"site": "hq"}} for name, query in written.get("queries", {}).items()
    }
    assert load(yaml.safe_dump(again, sort_keys=False)).graph("asked") == graph
