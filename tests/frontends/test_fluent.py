"""Each method of a stream against the graph it stands for, built by hand."""

import pickle
import re
from pathlib import Path

import pytest

import tradewind as tw
from tradewind.algebra.aggregates import parse_aggregate, user_aggregate
from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.expressions.typing import parse_expression
from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.operators.core import Band, ConnectionPoint, Filter, Join, Map, Source, Top, Union
from tradewind.algebra.operators.derived import Distinct, Sample, Split, Superbox
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor, pair_schema
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.tables import Table
from tradewind.algebra.windows import CountedWindow, SessionWindow, TimeWindow, ValueWindow
from tradewind.frontends.catalog import Catalog

SECOND = 1_000_000
MINUTE = 60 * SECOND
REQUESTS = Source(
    "requests",
    parse_schema("ts TIMESTAMP, domain STRING, url STRING, bytes BIGINT, status INT", time="ts"),
    10 * SECOND,
)
QUOTES = Source("quotes", parse_schema("ts TIMESTAMP, domain STRING, price DOUBLE, day DATE", time="ts"))
TIMELESS = Source("timeless", parse_schema("k INT, v DOUBLE"))
NAMES = Table("names", parse_schema("domain STRING, owner STRING"), ("domain",))
SPREAD = user_aggregate("spread", over="x BIGINT", lift="x", merge="greatest(a, b)", finish="state")
CATALOG = Catalog({"requests": REQUESTS, "quotes": QUOTES, "timeless": TIMELESS}, {"names": NAMES}, {"spread": SPREAD})


@pytest.fixture
def requests():
    return tw.Stream.named("Requests", CATALOG)


@pytest.fixture
def quotes():
    return tw.Stream.named("quotes", CATALOG)


@pytest.fixture
def timeless():
    return tw.Stream.named("timeless", CATALOG)


def expression(text, node):
    return parse_expression(text, node.schema)


def kept(node, *names):
    return tuple((name, Column(name)) for name in names)


def counted(node, text="count(*)"):
    return parse_aggregate(text, node.schema)


def test_the_question_of_the_design(requests):
    top = (
        requests.where("status < 500")
        .group_by("domain", window=tw.tumbling("1 minute"))
        .agg(hits="count(*)")
        .top(10, by="hits")
    )
    fine = Filter(REQUESTS, expression("status < 500", REQUESTS))
    hits = Aggregate(fine, ("domain",), (("hits", counted(fine)),), TimeWindow("ts", MINUTE, MINUTE))
    assert top.operator == Top(hits, 10, (("hits", True),), ("window",))
    assert top.graph("top_domains") == tw.Graph.of(top_domains=top.operator)
    assert top.schema.names == ("domain", "window", "hits")


def test_select(requests):
    made = requests.select("Domain", "bytes * 8 AS bits", at="ts")
    columns = (
        ("domain", Column("domain")),
        ("bits", expression("bytes * 8", REQUESTS)),
        ("at", Column("ts")),
    )
    assert made.operator == Map(REQUESTS, columns)
    assert requests.select("*") == requests
    assert requests.select("*", "status % 2 AS odd") == requests.with_columns(odd="status % 2")
    counts = requests.group_by(window=tw.tumbling("1 minute")).agg(n="count(*)")
    assert counts.select("window.start", "n").schema.names == ("start", "n")


def test_a_column_with_an_odd_name_is_selected_by_that_name(requests):
    odd = requests.rename({"url": "the url, in full"})
    assert odd.select("the url, in full").schema.names == ("the url, in full",)


def test_with_columns_replaces_and_adds(requests):
    made = requests.with_columns("upper(url) AS loud", Bytes="bytes + 1")
    wanted = [*kept(REQUESTS, *REQUESTS.schema.names), ("loud", expression("upper(url)", REQUESTS))]
    wanted[3] = ("bytes", expression("bytes + 1", REQUESTS))
    assert made.operator == Map(REQUESTS, tuple(wanted))


def test_rename_and_drop(requests):
    renamed = requests.rename(url="page", domain="host")
    names = {"url": "page", "domain": "host"}
    assert renamed.operator == Map(REQUESTS, tuple((names.get(n, n), Column(n)) for n in REQUESTS.schema.names))
    assert requests.rename({"url": "page"}, domain="host") == renamed
    assert requests.drop("URL", "bytes").operator == Map(REQUESTS, kept(REQUESTS, "ts", "domain", "status"))


def test_union(requests):
    slow, fast = requests.where("status = 1"), requests.where("status = 2")
    assert requests.union(slow, fast).operator == Union((REQUESTS, slow.operator, fast.operator))


@pytest.mark.parametrize(
    ("on", "keys"),
    [
        ("domain", (("domain", "domain_right"),)),
        (["domain"], (("domain", "domain_right"),)),
        ({"url": "domain"}, (("url", "domain_right"),)),
        ([("url", "domain"), "domain"], (("url", "domain_right"), ("domain", "domain_right"))),
    ],
)
def test_join_keys(requests, quotes, on, keys):
    apart = quotes.rename(ts="ts_right", domain="domain_right").operator
    assert requests.join(quotes, on=on).operator == Join(REQUESTS, apart, "inner", keys)


def test_join_within(requests, quotes):
    apart = quotes.rename(ts="ts_q", domain="domain_q").operator
    keys = (("domain", "domain_q"),)
    near = Band("ts", "ts_q", -5 * MINUTE, 5 * MINUTE)
    after = Band("ts", "ts_q", -MINUTE, 5 * MINUTE)
    assert requests.join(quotes, "domain", "left", within="5 minutes", suffix="q").operator == Join(
        REQUESTS, apart, "left", keys, near
    )
    assert requests.join(quotes, "domain", within=("-1 minute", "5 minutes"), suffix="q").operator == Join(
        REQUESTS, apart, "inner", keys, after
    )
    named = tw.band("ts", "ts", low="-1 minute", high="5 minutes")
    assert requests.join(quotes, "domain", band=named, suffix="q") == requests.join(
        quotes, "domain", within=("-1 minute", "5 minutes"), suffix="q"
    )


def test_join_by_a_band_on_numbers(requests, timeless):
    made = requests.join(timeless, band=tw.band("bytes", "v", low=-3, high=3))
    assert made.operator == Join(REQUESTS, TIMELESS, "inner", (), Band("bytes", "v", -3, 3))


def test_group_by_expressions(requests):
    made = requests.group_by("domain", "upper(url) AS loud", odd="status % 2").agg(n="count(*)", m="max(loud)")
    wide = Map(
        REQUESTS,
        (
            *kept(REQUESTS, *REQUESTS.schema.names),
            ("loud", expression("upper(url)", REQUESTS)),
            ("odd", expression("status % 2", REQUESTS)),
        ),
    )
    functions = (("n", counted(wide)), ("m", counted(wide, "max(loud)")))
    assert made.operator == Aggregate(wide, ("domain", "loud", "odd"), functions)


def test_group_by_without_functions(requests):
    assert requests.group_by("domain").agg().operator == Aggregate(REQUESTS, ("domain",), ())


@pytest.mark.parametrize(
    ("window", "wanted"),
    [
        (tw.tumbling("1 minute"), TimeWindow("ts", MINUTE, MINUTE)),
        (tw.tumbling("1 minute", column="TS", offset="5 seconds"), TimeWindow("ts", MINUTE, MINUTE, 5 * SECOND)),
        (tw.sliding("1 minute", "10 seconds"), TimeWindow("ts", MINUTE, 10 * SECOND)),
        (tw.session("30s"), SessionWindow("ts", 30 * SECOND)),
        (tw.tuples(2), CountedWindow("ts", 2, 2)),
        (tw.tuples(4, 2, timeout="5s", slack=3), CountedWindow("ts", 4, 2, 5 * SECOND, 3)),
        (tw.tuples(2, step=1, order="price"), CountedWindow("price", 2, 1)),
        (tw.values("price", 2.5), ValueWindow("price", 2.5, 2.5)),
        (tw.values("price", 10, 5, timeout="1 minute", slack=2), ValueWindow("price", 10, 5, MINUTE, 2)),
        (tw.values("ts", "1 minute"), ValueWindow("ts", MINUTE, MINUTE)),
        (tw.values("day", "2 days", "1 day"), ValueWindow("day", 2, 1)),
        (tw.values("day", 7), ValueWindow("day", 7, 7)),
        (TimeWindow("ts", MINUTE, MINUTE), TimeWindow("ts", MINUTE, MINUTE)),
    ],
)
def test_windows(quotes, window, wanted):
    made = quotes.group_by("domain", window=window).agg(n="count(*)")
    assert made.operator == Aggregate(QUOTES, ("domain",), (("n", counted(QUOTES)),), wanted)


def test_user_aggregates_come_from_the_catalog_or_with_the_question(requests):
    declared = requests.group_by("domain").agg(s="SPREAD(bytes)")
    assert declared.operator.functions[0][1].user == SPREAD
    own = tw.aggregate("Widest", over="x BIGINT", lift="x", merge="greatest(a, b)", finish="state + 1")
    assert requests.group_by("domain").agg(own, w="widest(bytes)").operator.functions[0][1].user == own


@pytest.mark.parametrize(
    ("by", "order"),
    [
        ("bytes", (("bytes", True),)),
        ("BYTES DESC, domain", (("bytes", True), ("domain", False))),
        ("bytes asc", (("bytes", False),)),
        ("bytes, domain", (("bytes", False), ("domain", False))),
        (["bytes", "domain ASC"], (("bytes", True), ("domain", False))),
        ("`bytes` desc", (("bytes", True),)),
    ],
)
def test_top_order(requests, by, order):
    assert requests.top(3, by).operator == Top(REQUESTS, 3, order)


def test_top_per(requests):
    hits = requests.group_by("domain", window=tw.tumbling("1 minute")).agg(hits="count(*)")
    assert hits.top(3, "hits", rank="place").operator == Top(hits.operator, 3, (("hits", True),), ("window",), "place")
    assert hits.top(3, "hits", per="domain").operator == Top(hits.operator, 3, (("hits", True),), ("domain",))
    assert hits.top(3, "hits", per=[]).operator == Top(hits.operator, 3, (("hits", True),), ())


def test_order_and_resample(quotes, requests):
    assert quotes.order("TS", slack=4).operator == Order(QUOTES, "ts", 4)
    grid = quotes.resample(every="10 seconds", values=["price"], keys="domain", max_gap="1 minute")
    assert grid.operator == Resample(QUOTES, ("domain",), ("price",), "previous", 10 * SECOND, None, MINUTE)
    at = quotes.resample(at=requests, values="price", keys=["domain"], method="linear")
    assert at.operator == Resample(QUOTES, ("domain",), ("price",), "linear", None, REQUESTS)


def test_distinct_sample_split(requests):
    assert requests.distinct().operator == Distinct(REQUESTS)
    assert requests.sample(0.25).operator == Sample(REQUESTS, 0.25)
    assert requests.sample(1, by="DOMAIN", seed=7).operator == Sample(REQUESTS, 1.0, ("domain",), 7)
    predicates = (expression("status < 300", REQUESTS), expression("status < 500", REQUESTS))
    ways = requests.split("status < 300", "status < 500")
    assert [way.operator for way in ways] == [Split(REQUESTS, predicates, route) for route in range(3)]


def test_wait_for(requests, quotes):
    made = requests.wait_for(quotes, "domain = domain_signal AND price > 3", "1 minute")
    signal = quotes.rename(ts="ts_signal", domain="domain_signal").operator
    both = pair_schema(REQUESTS.schema, signal.schema)
    predicate = parse_expression("domain = domain_signal AND price > 3", both)
    assert made.operator == WaitFor(REQUESTS, signal, predicate, MINUTE)


def test_read_and_update(requests):
    select = "SELECT owner FROM names WHERE domain = :domain"
    assert requests.read("NAMES", select, keep=True).operator == Read(REQUESTS, NAMES, select, True)
    assert requests.read(NAMES, select).operator == Read(REQUESTS, NAMES, select)
    insert = "INSERT INTO names (domain, owner) VALUES (:domain, :url)"
    report = (("ts", Column("ts")), ("size", expression("bytes + 1", REQUESTS)))
    assert requests.update("names", insert, ["ts", "bytes + 1 AS size"]).operator == Update(
        REQUESTS, NAMES, insert, report
    )
    everything = Update(REQUESTS, NAMES, insert, kept(REQUESTS, *REQUESTS.schema.names))
    assert requests.update("names", insert).operator == everything


def test_connection_point(requests):
    assert requests.connection_point("all").operator == ConnectionPoint(REQUESTS, "all")
    assert requests.connection_point("all", keep="1 hour").operator == ConnectionPoint(REQUESTS, "all", 60 * MINUTE)
    assert requests.connection_point("all", keep=1000).operator == ConnectionPoint(REQUESTS, "all", None, 1000)


def errors_of(stream, limit=500, *, note="x"):
    return stream.where(f"status >= {limit}")


@tw.superbox
def paired(left, right, within="1 minute"):
    """Requests with the quotes around them."""
    return left.join(right, "domain", within=within)


def test_box(requests):
    body = requests.where("status >= 400").operator
    arguments = (("limit", "400"), ("note", "x"))
    assert requests.box("errors", errors_of, limit=400).operator == Superbox(body, (REQUESTS,), "errors", arguments)


def test_superbox_decorator(requests, quotes):
    body = requests.join(quotes, "domain", within="5 minutes").operator
    made = paired(requests, quotes, within="5 minutes")
    assert made.operator == Superbox(body, (REQUESTS, QUOTES), "paired", (("within", "5 minutes"),))
    assert paired.__doc__ == "Requests with the quotes around them."
    assert made.top(3, "bytes").operator.input == made.operator


def test_deliver(requests):
    made = requests.deliver("hq", format="parquet", path="out")
    assert made == tw.Delivery(requests, "hq", {"format": "parquet", "path": "out"})
    assert hash(made) == hash(requests.deliver("hq", path="elsewhere"))


def test_streams_are_values(requests):
    same = tw.Stream(REQUESTS, Catalog())
    assert same == requests
    assert hash(same) == hash(requests)
    assert requests != requests.where("status = 1")
    assert pickle.loads(pickle.dumps(requests.where("status = 1"))) == requests.where("status = 1")


def test_repr_shows_the_columns_and_the_tree(requests):
    assert repr(requests.where("status < 500").select("ts", "domain")) == (
        "Stream(ts TIMESTAMP, domain STRING, event time ts)\n"
        "keep ts, domain\n"
        "└─ filter status < 500\n"
        "   └─ stream requests, late by 10 seconds"
    )


def test_notebooks_get_a_picture(requests):
    assert requests._repr_svg_().startswith("<svg ")
    assert "<code>ts TIMESTAMP" in requests._repr_html_()
    assert "<svg " in requests._repr_html_()


@pytest.mark.parametrize(
    ("spark", "own"),
    [
        (lambda s: s.filter("status < 500"), lambda s: s.where("status < 500")),
        (lambda s: s.selectExpr("domain", "bytes * 8 AS bits"), lambda s: s.select("domain", bits="bytes * 8")),
        (lambda s: s.withColumn("bits", "bytes * 8"), lambda s: s.with_columns(bits="bytes * 8")),
        (lambda s: s.withColumn("Bytes", "bytes * 8"), lambda s: s.with_columns(bytes="bytes * 8")),
        (lambda s: s.withColumn("self", "bytes"), lambda s: s.with_columns("bytes AS self")),
        (
            lambda s: s.withColumns({"a": "bytes", "b": "status"}),
            lambda s: s.with_columns(a="bytes", b="status"),
        ),
        (lambda s: s.withColumnRenamed("url", "path"), lambda s: s.rename(url="path")),
        (
            lambda s: s.withColumnsRenamed({"url": "path", "bytes": "size"}),
            lambda s: s.rename(url="path", bytes="size"),
        ),
        (lambda s: s.unionAll(s), lambda s: s.union(s)),
        (lambda s: s.groupBy("domain").agg(n="max(bytes)"), lambda s: s.group_by("domain").agg(n="max(bytes)")),
        (lambda s: s.groupBy("domain").count(), lambda s: s.group_by("domain").agg(count="count(*)")),
        (
            lambda s: s.groupBy("domain", window=tw.tumbling("1 minute")).count(),
            lambda s: s.group_by("domain", window=tw.tumbling("1 minute")).agg(count="count(*)"),
        ),
    ],
)
def test_names_of_pyspark_mean_the_same(requests, spark, own):
    assert spark(requests) == own(requests)
    assert spark(requests).columns == list(own(requests).schema.names)


def test_the_table_of_pysparks_names_is_complete():
    text = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    table = text.partition("## Names of PySpark")[2].partition("What Spark means otherwise")[0]
    listed = set(re.findall(r"^\| `(\w+)", table, re.MULTILINE))
    camel = {name for name in dir(tw.Stream) if re.fullmatch(r"[a-z]+[A-Z]\w*", name)}
    assert camel | {"filter", "columns", "count"} == listed
    assert all(hasattr(tw.Stream, name) for name in listed - {"count"})
