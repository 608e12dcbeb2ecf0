"""What a deployment file declares, and where its problems are said to be."""

import pickle
import subprocess
import sys

import pytest

import tradewind as tw
from tradewind.algebra.operators.core import Filter, Source
from tradewind.algebra.operators.derived import Split
from tradewind.algebra.operators.stored import Read
from tradewind.errors import DeploymentError, GraphError, Problem, UnknownNameError
from tradewind.frontends.deployment.check import load, load_bytes

CONTRACT = """
sites:
  ams:   {cores: 2, region: eu}          # optional: spark: "local[2]" | "spark://…" | "k8s://…"
  eu-dc: {cores: 8, region: eu}
  hq:    {cores: 8, region: us, spark: "local[2]", usd_per_core_hour: 0.05}
links:
  - {between: [ams, eu-dc], mbps: 50, ms: 9, usd_per_gb: 0.02}
  - {between: [eu-dc, hq], mbps: 200, ms: 85, usd_per_gb: 0.08, one_way: true}
streams:
  requests:
    schema: ts TIMESTAMP, domain STRING, url STRING, bytes BIGINT, status INT
    time: ts
    late_by: 10 seconds
    leave_region: aggregated
    on_bad: dead_letter
    distinct: {domain: 20000}
    at:
      ams: {format: parquet, path: data/ams, rows_per_second: 2000, row_bytes: 90, options: {mergeSchema: true}}
      eu-dc: {rows_per_second: 10}
tables:
  limits: {schema: "domain STRING, most BIGINT", key: domain}
aggregates:
  total: {over: x BIGINT, lift: x, merge: a + b, finish: state}
flow:
  failing: {box: filter, in: requests, where: status >= 500}
  kind: {box: split, in: requests, routes: {good: status < 400, rest: else}}
queries:
  top_domains:
    sql: |
      SELECT window.start AS minute, domain, count(*) AS hits
      FROM requests WHERE status < 500
      GROUP BY window(ts, '1 minute'), domain
      QUALIFY row_number() OVER (PARTITION BY window ORDER BY hits DESC, domain) <= 10
    deliver: {site: hq, format: parquet, path: out/top_domains}
    fresh_within: 30 seconds
    error: 0.01
    priority: 3
    revise_within: 1 hour
    tentative: false
  bad_bytes: {sql: SELECT total(bytes) AS bytes FROM failing, deliver: {site: hq}}
  good: {from: kind.good, deliver: {site: hq}}
  all: {from: requests, deliver: {site: hq}}
  limited:
    flow:
      looked_up: {box: read, in: failing, table: limits, sql: SELECT most FROM limits WHERE domain = :domain}
      too_many: {box: filter, in: looked_up, where: bytes > most}
    output: looked_up
    deliver: {site: hq}
objective: egress
metrics:
  egress: {sum: dollars, over: links}
"""


@pytest.fixture(scope="module")
def declared():
    return load(CONTRACT, "cdn.yaml")


def test_sites_links_and_streams(declared):
    assert declared.sites["hq"].cores == 8
    assert declared.sites["ams"].spark is None
    assert [link.between for link in declared.links] == [("ams", "eu-dc"), ("eu-dc", "hq")]
    assert [link.one_way for link in declared.links] == [False, True]
    stream = declared.streams["requests"]
    assert stream.source == declared.catalog.streams["requests"]
    assert isinstance(stream.source, Source)
    assert (stream.source.late_by, stream.source.origins, stream.source.revisions) == (
        10_000_000,
        ("ams", "eu-dc"),
        False,
    )
    assert stream.origins["ams"].options == {"mergeSchema": True}
    assert stream.origins["eu-dc"].format is None
    assert (stream.leave_region, stream.on_bad, dict(stream.distinct)) == (
        "aggregated",
        "dead_letter",
        {"domain": 20000},
    )
    assert declared.tables["limits"].key == ("domain",)
    assert declared.aggregates["total"].name == "total"
    assert declared.objective == "egress"


def test_queries_and_their_wishes(declared):
    top = declared.queries["top_domains"]
    assert (top.fresh_within, top.error, top.priority) == (30_000_000, 0.01, 3.0)
    assert (top.revise_within, top.tentative) == (3_600_000_000, False)
    assert (top.deliver.site, top.deliver.format, top.deliver.path) == ("hq", "parquet", "out/top_domains")
    assert declared.queries["all"].tentative


def test_queries_in_sql_by_name_and_in_boxes(declared):
    operators = {name: query.operator for name, query in declared.queries.items()}
    assert isinstance(operators["good"], Split)
    assert operators["all"] == declared.streams["requests"].source
    assert isinstance(operators["limited"], Read)
    assert isinstance(operators["bad_bytes"].inputs[0], Filter)


def test_the_graph_shares_what_queries_share(declared):
    graph = declared.graph()
    assert set(graph.names) == set(declared.queries)
    assert sum(isinstance(node, Filter) and node == declared.catalog.streams["failing"] for node in graph) == 1
    assert declared.graph("good", "all").names == ("good", "all")
    with pytest.raises(UnknownNameError, match="top_domain'"):
        declared.graph("top_domain")


def test_streams_and_boxes_can_be_asked_more_in_python(declared):
    asked = (
        declared.stream("requests")
        .where("status < 500")
        .group_by("domain", window=tw.tumbling("1 minute"))
        .agg(hits="count(*)")
        .top(10, by="hits DESC, domain")
        .select("window.start AS minute", "domain", "hits")
    )
    assert asked.operator == declared.queries["top_domains"].operator
    assert declared.stream("failing").operator == declared.catalog.streams["failing"]
    with pytest.raises(UnknownNameError, match="reqests"):
        declared.stream("reqests")


def test_queries_are_not_needed():
    found = load("sites: {a: {}}\nstreams: {s: {schema: x INT, at: {a: {}}}}")
    assert not found.queries
    with pytest.raises(GraphError, match="no queries"):
        found.graph()


def test_a_mark_of_byte_order_is_no_problem():
    assert load_bytes("\ufeffsites: {a: {}}\nstreams: {s: {schema: x INT, at: {a: {}}}}".encode()).sites


def test_declared_selectivity_is_found_by_both_names():
    text = "sites: {a: {}}\nstreams: {s: {schema: x INT, at: {a: {}}}, r: {schema: x INT, at: {a: {}}}}\n"
    text += 'queries: {q: {from: s, deliver: {site: a}, selectivity: {"s, r": 0.001}}}'
    assert load(text).queries["q"].selectivity == {("r", "s"): 0.001}


def problems(text):
    with pytest.raises(DeploymentError) as caught:
        load(text, "f.yaml")
    return [(problem.where, problem.what) for problem in caught.value.problems]


SHORT = "sites: {a: {}}\nstreams: {s: {schema: 'ts TIMESTAMP, x INT', time: ts, at: {a: {}}}}\nqueries:\n  q:\n"
DELIVER = "    deliver: {site: a}\n"


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("    sql: |\n      SELECT x,\n        yy\n      FROM s\n", "7:9"),
        ("    sql: |2\n        SELECT x,\n          yy FROM s\n", "7:11"),
        ("    sql: SELECT yy FROM s\n", "5:17"),
        ("    sql: 'SELECT yy FROM s'\n", "5:18"),
        ("    sql: >\n      SELECT\n      yy FROM s\n", "5:10"),
        ("    sql:\n      SELECT\n      yy FROM s\n", "6:7"),
        ("    sql: |\n\n\n      SELECT yy FROM s\n", "8:14"),
    ],
)
def test_a_problem_in_sql_is_shown_where_it_stands(sql, place):
    [(where, what)] = problems(SHORT + sql + DELIVER)
    assert what == "unknown column 'yy'."
    line, column = map(int, place.split(":"))
    found_line, found_column = map(int, where.split(" ")[0].split(":")[1:])
    assert where.endswith(" queries.q.sql")
    assert (found_line, found_column) == (line, column)


def test_a_query_over_a_broken_stream_is_not_blamed():
    text = "sites: {a: {}}\nstreams: {s: {schema: x INTT, at: {a: {}}}}\n"
    text += "flow: {f: {box: filter, in: s, where: y > 1}, g: {box: distinct, in: f}}\n"
    text += "queries:\n  one: {sql: SELECT y FROM s, deliver: {site: a}}\n  two: {from: g, deliver: {site: a}}\n"
    text += "  three: {sql: SELECT z FROM g, deliver: {site: a}}\n"
    text += "  four: {flow: {h: {box: distinct, in: f}}, deliver: {site: a}}\n"
    assert [what for _, what in problems(text)] == ["unknown type 'INTT' in 'x INTT'."]


def test_what_a_query_may_not_call_is_told_even_when_its_stream_is_broken():
    text = "sites: {a: {}}\nstreams: {s: {schema: x INTT, at: {a: {}}}}\nqueries:\n"
    text += "  one: {sql: SELECT reflect(x) FROM s, deliver: {site: a}}\n"
    text += "  two: {sql: SELECT FROM WHERE s, deliver: {site: a}}\n"
    text += "  three: {sql: SELECT count(*) FROM s GROUP BY upper(x), deliver: {site: a}}\n"
    assert [where.split(" ")[1] for where, _ in problems(text)] == [
        "streams.s.schema",
        "queries.one.sql",
        "queries.two.sql",
    ]


def test_a_broken_aggregate_table_or_superbox_is_blamed_once():
    text = SHORT.replace("queries:", "tables: {t: {schema: k STRING, key: q}}\nqueries:")
    text = text.replace("queries:", "aggregates: {m: {over: x INT, lift: y, merge: a, finish: state}}\nqueries:")
    text = text.replace("queries:", "boxes: {b: {flow: {}}}\nqueries:")
    text += "    sql: SELECT m(x) AS m FROM s\n" + DELIVER
    text += "flow:\n  r: {box: read, in: s, table: t, sql: SELECT k FROM t}\n"
    text += "  a: {box: aggregate, in: s, functions: {m: m(x)}}\n  u: {box: b, in: s}\n"
    assert sorted(where.split(" ")[1] for where, _ in problems(text)) == [
        "aggregates.m.lift",
        "boxes.b.flow",
        "tables.t.key",
    ]


def test_a_wrong_wish_does_not_hide_wrong_sql():
    found = problems(SHORT + "    sql: SELECT yy FROM s\n    fresh_within: soon\n")
    assert [where.split(" ")[1] for where, _ in found] == ["queries.q", "queries.q.sql", "queries.q.fresh_within"]


def test_the_error_says_everything_and_can_be_pickled():
    with pytest.raises(DeploymentError) as caught:
        load("sites: {a: {coers: 1}}", "f.yaml")
    error = caught.value
    assert str(error).splitlines() == [
        "f.yaml has 2 problems.",
        "  f.yaml:1:1: 'streams' is missing. Hint: declare at least one under `streams:`.",
        (
            "  f.yaml:1:13 sites.a.coers: unknown key 'coers'. Hint: did you mean 'cores'? "
            "The keys here are cores, region, spark, usd_per_core_hour."
        ),
    ]
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.problems) == (DeploymentError, str(error), error.problems)
    assert str(error.at("here")).startswith("here: f.yaml has 2 problems.")
    assert isinstance(again.problems[0], Problem)


def test_importing_tradewind_does_not_load_what_only_files_need():
    code = "import sys, tradewind; print([m for m in ('pydantic', 'yaml', 'pyspark', 'nats') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
