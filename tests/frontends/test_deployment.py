"""What a deployment file declares, and where its problems are said to be."""

import pickle
import subprocess
import sys

import pytest

import tradewind as tw
from tradewind.algebra.operators.core import Filter, Source
from tradewind.algebra.operators.derived import Split
from tradewind.algebra.operators.stored import Read
from tradewind.errors import (
    DeploymentError,
    ForbiddenError,
    GraphError,
    InputError,
    Problem,
    QueryError,
    UnknownNameError,
)
from tradewind.frontends.deployment.check import load, load_bytes
from tradewind.frontends.deployment.questions import Questions
from tradewind.runtime.asked import asking

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
    idle_after: 2 minutes
    leave_region: aggregated
    on_bad: dead_letter
    distinct: {domain: 20000}
    at:
      ams: {format: parquet, path: data/ams, rows_per_second: 2000, row_bytes: 90, options: {max_files_per_batch: 8}}
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
  egress: SUM(SUM(dollars, OPERATORS), NODES)
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
    assert stream.origins["ams"].options == {"max_files_per_batch": 8}
    assert stream.origins["eu-dc"].format is None
    assert stream.idle_after == 120_000_000
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


BASE = "sites: {hq: {}, a: {}}\nlinks: [{between: [a, hq], mbps: 1}]\n"
BASE += "streams: {s: {schema: 'ts TIMESTAMP, x INT', time: ts, at: {a: {}}}}\n"
QUERY = "queries: {q: {sql: SELECT x FROM s, deliver: {site: hq}}}\n"


def told(text):
    """Where the problems of a text are, what they are, and what to do."""
    with pytest.raises(DeploymentError) as caught:
        load(text, "f.yaml")
    return [(problem.where.partition(" ")[2], problem.what, problem.hint or "") for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (BASE + "queries: {q: {sql: , deliver: {site: hq}}}", "queries.q.sql"),
        (BASE + "queries: {q: {from: , deliver: {site: hq}}}", "queries.q.from"),
        (BASE + "queries: {q: {flow: , deliver: {site: hq}}}", "queries.q.flow"),
        (BASE + "queries: {q: {flow: {f: {box: distinct, in: s}}, output: , deliver: {site: hq}}}", "queries.q.output"),
        (BASE + "queries: {q: {from: s, deliver: }}", "queries.q.deliver"),
        (BASE + "queries: {q: {from: s, deliver: {site: hq, path: }}}", "queries.q.deliver.path"),
        (BASE + "queries: {q: {from: s, deliver: {site: hq}, fresh_within: ~}}", "queries.q.fresh_within"),
        (BASE + "queries: {q: {sql: '', deliver: {site: hq}}}", "queries.q.sql"),
        (BASE + "queries: {q: }", "queries.q"),
        (BASE + "queries:", "queries"),
        (BASE + "flow: {f: {box: top, in: s, k: 1, by: x, per: }}", "flow.f.per"),
        (BASE + "boxes: {b: {parameters: , flow: {f: {box: distinct, in: input}}}}", "boxes.b.parameters"),
        (BASE.replace("time: ts", "time: ") + QUERY, "streams.s.time"),
        (BASE.replace("at: {a: {}}", "at: ") + QUERY, "streams.s.at"),
        (BASE.replace("a: {}}\n", "a: }\n", 1) + QUERY, "sites.a"),
        (BASE.replace("mbps: 1", "mbps: 1, ms: ") + QUERY, "links.0.ms"),
    ],
)
def test_a_key_without_a_value_is_a_problem(text, key):
    [(where, what, hint)] = told(text)
    assert (where, what) == (key, f"{key.rpartition('.')[2]!r} is empty.")
    assert hint


def test_what_cannot_be_built_is_told_even_when_nobody_knows_why(monkeypatch):
    monkeypatch.setattr(Questions, "read", lambda *_: {})
    assert [what for _, what, _ in told(BASE + QUERY)] == ["'q' cannot be read."]


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ("['*']", "'*' cannot be the name of a parameter."),
        ("['']", "'' cannot be the name of a parameter."),
        ("{'a b': 1}", "'a b' cannot be the name of a parameter."),
        ("[1]", "a parameter's name is a text, not 1."),
        ("[[w]]", "a parameter's name is a text, not a list."),
        ("[w, w]", "'w' stands here twice."),
        ("w", "a list or a mapping is wanted here, not 'w'."),
        ("{w: [1]}", "a parameter's value is a text, a number, true or false."),
    ],
)
def test_parameters_of_superboxes(parameters, what):
    flow = "flow: {f: {box: filter, in: input, where: x > 1}}"
    text = BASE + f"boxes: {{b: {{parameters: {parameters}, {flow}}}}}\nflow: {{u: {{box: b, in: s, with: {{w: 1}}}}}}"
    [(where, said, _)] = told(text)
    assert where.startswith("boxes.b.parameters")
    assert said == what


def test_superboxes_that_nobody_uses_are_checked():
    text = BASE + 'boxes: {bx: {inputs: [], parameters: [w], flow: {f: {box: filter, in: u, where: "x > 1"}}}}'
    assert [(where, what) for where, what, _ in told(text)] == [
        ("boxes.bx.inputs", "a superbox reads at least one input."),
        ("boxes.bx.flow.f.in", "unknown stream or box 'u'."),
    ]


def test_a_superbox_with_a_wrong_key_is_not_blamed_on_those_who_use_it():
    flow = "flow: {r: {box: split, in: input, routes: {a: x > 1}}}"
    text = BASE + f"boxes: {{b: {{ouput: r.a, {flow}}}}}\nflow: {{u: {{box: b, in: s}}}}"
    assert [where for where, _, _ in told(text)] == ["boxes.b.ouput"]


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        (BASE + QUERY.replace("{site: hq}", "hq"), "queries.q.deliver", "deliver: {site: hq}."),
        (BASE + "queries: {q: SELECT x FROM s}", "queries.q", "q: {sql: SELECT x FROM s}."),
        (
            BASE.replace("between: [a, hq]", "from: a, to: hq") + QUERY,
            "links.0.from",
            "between: [a, b], one_way: true.",
        ),
        (
            BASE + "queries:\n  q:\n    sql: |\n    SELECT x\n    FROM s\n    deliver: {site: hq}\n",
            "",
            "indent the text",
        ),
        (BASE + "queries:\n  q:\n    sql: |\n    deliver: {site: hq}\n", "queries.q.sql", "below a '|' and indented"),
        (BASE + QUERY.replace("sql:", "sqll:"), "queries.q.sqll", "did you mean 'sql'?"),
        (BASE + "queries: {q: {form: s, deliver: {site: hq}}}", "queries.q.form", "did you mean 'from'?"),
        (BASE.replace("sites:", "site:") + QUERY, "site", "did you mean 'sites'?"),
        (BASE.replace("streams:", "stream:") + QUERY, "stream", "did you mean 'streams'?"),
        (
            BASE + "flwo: {f: {box: distinct, in: s}}\nqueries: {q: {from: f, deliver: {site: a}}}",
            "flwo",
            "mean 'flow'?",
        ),
        (BASE.replace("at:", "att:") + QUERY, "streams.s.att", "did you mean 'at'?"),
        (BASE.replace("time:", "tme:") + "flow: {f: {box: aggregate, in: s, window: 1s}}", "streams.s.tme", "'time'?"),
        (BASE.replace("x INT", "x INT NOT NULL"), "streams.s.schema", "columns may always be NULL; leave it out."),
        (BASE.replace("ts TIMESTAMP", "ts DATETIME"), "streams.s.schema", "did you mean TIMESTAMP?"),
        (BASE.replace("ts TIMESTAMP", "ts TIMESTAMP_NTZ"), "streams.s.schema", "did you mean TIMESTAMP?"),
    ],
)
def test_the_first_problem_says_what_to_do(text, where, says):
    [(place, _, hint)] = told(text)
    assert place == where
    assert says in hint


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        (BASE + "queries: {q: {flow: {}, deliver: {site: hq}}}", "queries.q.flow", "at least one box is wanted here."),
        (BASE + "boxes: {b: {flow: {}}}", "boxes.b.flow", "at least one box is wanted here."),
        (BASE + "flow: {f: {box: union, in: []}}", "flow.f.in", "at least one input is wanted here."),
        (BASE.replace("x INT", "x, y INT"), "streams.s.schema", "column 'x' has no type in 'ts TIMESTAMP, x, y INT'."),
        (BASE.replace("x INT", "x"), "streams.s.schema", "column 'x' has no type in 'ts TIMESTAMP, x'."),
        (BASE + "flow: {f: {box: aggregate, in: s, by: [1]}}", "flow.f.by", "a column's name is a text, not 1."),
    ],
)
def test_problems_in_words(text, where, what):
    assert [one[:2] for one in told(text)] == [(where, what)]


@pytest.mark.parametrize(
    "text", ["SELECT x FROM s", "SELECT 'a: b' AS x, y\n    FROM s", "-- why\n    SELECT x FROM s"]
)
@pytest.mark.parametrize("sign", ["|", "|-", ">", "|  # the question"])
def test_a_text_that_is_not_indented(text, sign):
    [(_, what, _)] = told(f"queries:\n  q:\n    sql: {sign}\n    {text}\n    deliver: {{site: hq}}\n")
    assert what == "the text below '|' is not indented."


def test_texts_with_a_length_are_texts():
    text = BASE.replace("x INT", "x INT, c CHAR(3), v VARCHAR(10), l ARRAY<VARCHAR(2)>")
    columns = load(text).streams["s"].source.schema
    assert str(columns) == "ts TIMESTAMP, x INT, c STRING, v STRING, l ARRAY<STRING>"


def test_names_are_texts(declared):
    for ask in (lambda: declared.stream(None), lambda: declared.graph([])):
        with pytest.raises(InputError) as caught:
            ask()
        assert caught.value.where in ("stream", "graph")


def test_the_error_says_everything_and_can_be_pickled():
    with pytest.raises(DeploymentError) as caught:
        load("sites: {a: {coers: 1}}", "f.yaml")
    error = caught.value
    assert str(error).splitlines() == [
        "f.yaml has 2 problems.",
        "  f.yaml:1:1: 'streams' is missing. Hint: declare at least one under `streams:`.",
        (
            "  f.yaml:1:13 sites.a.coers: unknown key 'coers'. Hint: did you mean 'cores'? "
            "The keys here are cores, region, spark, usd_per_core_hour, workers, memory, tables."
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


def test_sql_in_python_is_a_stream_like_any_other() -> None:
    d = load(CONTRACT)
    served = d.sql("SELECT domain, bytes FROM requests WHERE status < 500")
    assert served == d.stream("requests").where("status < 500").select("domain", "bytes")
    assert served.where("bytes > 5").deliver("hq").stream.schema.names == ("domain", "bytes")
    assert served.union(d.stream("requests").select("domain", "bytes")).schema == served.schema


@pytest.mark.parametrize(
    ("sql", "kind", "where", "says"),
    [
        ("SELECT domain,\n  byts FROM requests", UnknownNameError, "sql: line 2, column 3", "did you mean 'bytes'"),
        ("SELECT domain FROM request", UnknownNameError, "sql: line 1, column 20", "did you mean 'requests'"),
        ("SELECT domain FROM requests WHERE", QueryError, "sql: line 1, column 33", "cannot read"),
        ("SELECT domain AS _final FROM requests", InputError, "sql", "begins with an underscore"),
        ("DROP TABLE requests", ForbiddenError, "sql", ""),
        (5, InputError, "sql", "expected a SELECT, not 5 (int)"),
    ],
)
def test_wrong_sql_in_python_says_where(sql, kind, where, says) -> None:
    with pytest.raises(kind) as caught:
        load(CONTRACT).sql(sql)
    assert caught.value.where == where
    assert says in str(caught.value)


def test_columns_of_tradewinds_own_names_are_refused_however_they_are_asked_for() -> None:
    d = load(CONTRACT)
    with pytest.raises(InputError, match="query q: column '_final' begins with an underscore"):
        asking(d, {"q": d.stream("requests").select(_final="domain").deliver("hq")})
