"""What is said when a stream is asked for something that it cannot be."""

import pickle
from typing import Any

import pytest

import tradewind as tw
from tradewind.algebra.operators.core import Source
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.tables import Table
from tradewind.errors import ExpressionError, ForbiddenError, GraphError, InputError, UnknownNameError
from tradewind.frontends.catalog import Catalog

COLUMNS = "ts TIMESTAMP, domain STRING, url STRING, bytes BIGINT, status INT"
CATALOG = Catalog(
    {"requests": Source("requests", parse_schema(COLUMNS, time="ts"), 10_000_000)},
    {"names": Table("names", parse_schema("domain STRING, owner STRING"), ("domain",))},
)
REQUESTS = tw.Stream.named("requests", CATALOG)
ANY: Any = tw
"""The package to a caller that no type checker watches."""


def errors_of(stream, limit=500):
    return stream.where(f"status >= {limit}")


@pytest.mark.parametrize(
    ("ask", "kind", "where", "says"),
    [
        (lambda s: s.where("statsu < 5"), UnknownNameError, "where", "did you mean 'status'"),
        (lambda s: s.where("status"), ExpressionError, "where", "not BOOLEAN"),
        (lambda s: s.where(5), InputError, "where", "not 5 (int)"),
        (lambda s: s.where("reflect('a')"), ForbiddenError, "where", "allow-list"),
        (lambda s: s.select("bytes * 8"), ExpressionError, "select", "needs a name"),
        (lambda s: s.select("bytes FROM requests"), InputError, "select", ""),
        (lambda s: s.select(), GraphError, "select", "at least one column"),
        (lambda s: s.select("url", "url"), InputError, "select", "two columns are named 'url'"),
        (lambda s: s.with_columns(x="bytes +"), ExpressionError, "with_columns: x", "cannot read"),
        (lambda s: s.rename(nothing="x"), UnknownNameError, "rename", "'nothing'"),
        (lambda s: s.withColumnRenamed("nothing", "x"), UnknownNameError, "withColumnRenamed", "'nothing'"),
        (lambda s: s.withColumnsRenamed("url"), InputError, "withColumnsRenamed", "not 'url' (str)"),
        (lambda s: s.withColumn("x", 5), InputError, "withColumn", "not 5 (int)"),
        (lambda s: s.withColumn(5, "x"), InputError, "withColumn", "not 5 (int)"),
        (lambda s: s.withColumns("x"), InputError, "withColumns", "not 'x' (str)"),
        (lambda s: s.drop("nothing"), UnknownNameError, "drop", "'nothing'"),
        (lambda s: s.drop(*s.schema.names), GraphError, "drop", "at least one column"),
        (lambda s: s.union(s.drop("url")), GraphError, "union", "unlike schemas"),
        (lambda s: s.union(3), InputError, "union", "expected a stream, not int"),
        (lambda s: s.join(s), GraphError, "join", "equal keys or a band"),
        (lambda s: s.join(s, "x"), UnknownNameError, "join", "'x'"),
        (lambda s: s.join(s, ["a", ("a", "b", "c")]), InputError, "join", "pairs of a left and a right"),
        (lambda s: s.join(s, 3), InputError, "join", "not 3 (int)"),
        (lambda s: s.join(s, within=3), InputError, "join", "not 3 (int)"),
        (lambda s: s.rename(url=3), InputError, "rename", "not 3 (int)"),
        (lambda s: s.rename(-1), InputError, "rename", "not -1 (int)"),
        (lambda s: s.rename({1: "x"}), InputError, "rename", "not 1 (int)"),
        (lambda s: s.top(3, "bytes", rank=-1), InputError, "top", "not -1 (int)"),
        (lambda s: s.join(s, "url", suffix=3), InputError, "join", "not 3 (int)"),
        (lambda s: s.read("names", "SELECT owner FROM names", keep="no"), InputError, "read", "True or False"),
        (lambda s: s.graph([]), InputError, "graph", "not [] (list)"),
        (lambda s: s.deliver(None), InputError, "deliver", "not None (NoneType)"),
        (lambda s: s.box(None, errors_of), InputError, "box", "not None (NoneType)"),
        (lambda s: s.box("b", None), InputError, "box b", "a function of streams, not NoneType"),
        (lambda s: s.box("b", type), InputError, "box b", ""),
        (lambda s: tw.superbox(s.operator), InputError, "superbox", "a function of streams, not Source"),
        (lambda _: ANY.deployment(None), InputError, "deployment", "not 'None' (NoneType)"),
        (lambda _: ANY.deployment(b"a"), InputError, "deployment", "(bytes)"),
        (lambda _: ANY.session("1s", column=3), InputError, "session", "not 3 (int)"),
        (lambda _: ANY.aggregate(3, over="x INT", lift="x", merge="a", finish="a"), InputError, "aggregate", "not 3"),
        (lambda _: ANY.aggregate("z", over=3, lift="x", merge="a", finish="a"), InputError, "aggregate", "not 3"),
        (lambda _: ANY.Stream.named(None, CATALOG), InputError, "stream", "not None (NoneType)"),
        (lambda s: s.sample("some"), InputError, "sample", "not 'some' (str)"),
        (lambda s: s.group_by("url").agg(3), InputError, "agg", "without a name"),
        (lambda s: s.join(s, "url", "sideways"), GraphError, "join", "unknown kind of join"),
        (lambda s: s.join(s.drop("ts"), "url", within="1s"), GraphError, "join", "no event time"),
        (lambda s: s.join(s, within=("1s", "2s", "3s")), InputError, "join", "a length of time or two"),
        (lambda s: s.join(s, within="soon"), InputError, "join", "not a length of time"),
        (lambda s: s.join(s, within="1s", band=tw.band("ts", "ts", low="1s")), GraphError, "join", "either"),
        (lambda s: s.join(s, band=tw.band("ts", "ts", low=3)), GraphError, "join", "lengths of time"),
        (lambda s: s.join(s, band=tw.band("bytes", "bytes", low="3s")), GraphError, "join", "numbers"),
        (lambda s: s.group_by("nothing").agg(), UnknownNameError, "group_by", "'nothing'"),
        (lambda s: s.group_by("url", window="1 minute").agg(), InputError, "group_by", "tw.tumbling"),
        (lambda s: s.drop("ts").group_by(window=tw.session("1s")).agg(), GraphError, "group_by", "event time"),
        (lambda s: s.drop("ts").group_by(window=tw.tuples(2)).agg(), GraphError, "group_by", "give order="),
        (lambda s: s.group_by(window=tw.tumbling("1s", column="url")).agg(), GraphError, "agg", "not the event time"),
        (lambda s: s.group_by("url").agg(n="count("), ExpressionError, "agg: n", "cannot read"),
        (lambda s: s.group_by("url").agg(n="upper(url)"), ExpressionError, "agg: n", "not an aggregate"),
        (lambda s: s.group_by("url").agg(n="sum(url)"), ExpressionError, "agg: n", "does not fit"),
        (lambda s: s.group_by().agg(), GraphError, "agg", "keys or functions"),
        (lambda s: s.top(0, "bytes"), GraphError, "top", "at least one row"),
        (lambda s: s.top("3", "bytes"), InputError, "top", "whole number"),
        (lambda s: s.top(3, "bytes DOWN"), InputError, "top", "not an order"),
        (lambda s: s.top(3, "bytse"), UnknownNameError, "top", "did you mean 'bytes'"),
        (lambda s: s.order("ts", slack=-1), GraphError, "order", "slack"),
        (lambda s: s.resample(values="bytes"), GraphError, "resample", "either a grid"),
        (lambda s: s.resample(values="url", every="1s", method="linear"), GraphError, "resample", "a line"),
        (lambda s: s.sample(1.5), GraphError, "sample", "between 0 and 1"),
        (lambda s: s.wait_for(s, "url = url_signal", "0s"), GraphError, "wait_for", "longer than nothing"),
        (lambda s: s.read("nmaes", "SELECT 1"), UnknownNameError, "read", "did you mean 'names'"),
        (lambda s: s.read("names", "DROP TABLE names"), ForbiddenError, "read", "runs SELECT, not DROP"),
        (lambda s: s.update("names", "SELECT 1 FROM names"), ForbiddenError, "update", "INSERT, UPDATE or DELETE"),
        (lambda s: s.split(), GraphError, "split", "at least one predicate"),
        (lambda s: s.connection_point("x", keep=0), GraphError, "connection_point", "longer than nothing"),
        (lambda s: s.box("b", lambda s: 3), InputError, "box b", "gives a stream, not int"),
        (lambda s: s.box("b", errors_of, limti=3), InputError, "box b", "limti"),
        (lambda s: s.box("b", errors_of, limit="'"), ExpressionError, "box b: where", "cannot read"),
        (lambda _: tw.tumbling("1 mnth"), InputError, "tumbling", "unknown unit"),
        (lambda s: tw.tumbling(s.operator.late_by), InputError, "tumbling", "not 10000000 (int)"),
        (lambda s: tw.tuples(s.operator.stream), InputError, "tuples", "whole number"),
        (lambda _: tw.aggregate("sum", over="x INT", lift="x", merge="a", finish="a"), InputError, "aggregate", "name"),
        (lambda _: tw.aggregate("abs", over="x INT", lift="x", merge="a", finish="a"), InputError, "aggregate", "name"),
        (lambda _: tw.Stream.named("reqests", CATALOG), UnknownNameError, "stream", "did you mean 'requests'"),
    ],
)  # fmt: skip
def test_errors_say_where_and_what(ask, kind, where, says):
    with pytest.raises(kind) as caught:
        ask(REQUESTS)
    found = caught.value
    assert isinstance(found, InputError)
    assert isinstance(found, ValueError)
    assert (found.where or "").startswith(where or "")
    assert says in str(found)
    assert str(pickle.loads(pickle.dumps(found))) == str(found)


JUNK = [
    None, -1, 1.5, True, b"a", [], [[]], {}, {"a": 1}, {1: 2}, (), "", object(), float("nan"), REQUESTS, len,
    ["url", 3], "*", "ts", [("url", "url", "url")], set(), type,
]  # fmt: skip
CALLS: dict[str, dict] = {
    "where": {"predicate": "status > 1"},
    "join": {"other": REQUESTS, "on": "url", "how": "inner", "within": "1s", "suffix": "b"},
    "top": {"k": 3, "by": "bytes", "per": "url", "rank": "r"},
    "order": {"by": "ts", "slack": 1},
    "resample": {
        "values": "bytes", "every": "1s", "at": None, "keys": "url", "method": "previous", "max_gap": "1s",
    },
    "sample": {"fraction": 0.5, "by": "url", "seed": 1},
    "wait_for": {"signal": REQUESTS, "predicate": "url = url_signal", "timeout": "1s", "suffix": "signal"},
    "read": {"table": "names", "sql": "SELECT owner FROM names WHERE domain = :domain", "keep": False},
    "update": {"table": "names", "sql": "INSERT INTO names VALUES (:domain, :url)", "report": ("*",)},
    "connection_point": {"name": "x", "keep": "1 hour"},
    "box": {"name": "b", "function": errors_of, "limit": 3},
    "deliver": {"site": "hq"},
    "graph": {"name": "x"},
}  # fmt: skip


def place_of(method, /, *arguments, **named):
    """Where a method says that its arguments are wrong; the method itself when they are not."""
    try:
        return repr(getattr(REQUESTS, method)(*arguments, **named)) and method
    except InputError as error:
        return error.where or ""


@pytest.mark.parametrize("method", CALLS)
def test_no_argument_makes_anything_else_than_an_input_error(method):
    getattr(REQUESTS, method)(**CALLS[method])
    for name in CALLS[method]:
        for junk in JUNK:
            assert place_of(method, **{**CALLS[method], name: junk}).startswith(method)


@pytest.mark.parametrize("method", ["select", "with_columns", "rename", "drop", "union", "split"])
def test_nothing_else_in_a_list_of_arguments_either(method):
    for junk in JUNK:
        assert place_of(method, junk).startswith(method)
