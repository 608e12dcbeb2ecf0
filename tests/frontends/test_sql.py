"""Each thing that SQL can ask, beside the graph built by hand."""

from __future__ import annotations

import pytest

from tests.frontends.relations import BY_MINUTE, MINUTE, REQUESTS, A, grouped, mapped, sql, where
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.core import Map, Top, Union
from tradewind.algebra.operators.derived import Distinct
from tradewind.algebra.windows import SessionWindow, TimeWindow
from tradewind.frontends.catalog import Catalog
from tradewind.frontends.sql.query import parse_query

HITS = grouped(REQUESTS, "domain", window=BY_MINUTE, hits="count(*)")


def test_all_columns_is_the_stream_itself():
    assert sql("SELECT * FROM requests") == REQUESTS
    assert sql("select R.* from REQUESTS as r") == REQUESTS
    assert sql("SELECT ts, domain, url, bytes, status FROM requests") == REQUESTS


def test_select_list_is_a_map_and_where_a_filter_below_it():
    rows = where(REQUESTS, "status < 500 AND bytes > 0")
    expected = mapped(rows, domain="domain", kb="bytes / 1024")
    assert sql("SELECT r.domain, bytes / 1024 AS kb FROM requests r WHERE r.status < 500 AND bytes > 0") == expected


def test_an_expression_without_a_name_is_called_by_its_text():
    assert sql("SELECT bytes+1, upper(domain) FROM requests").schema.names == ("bytes + 1", "upper(domain)")


def test_names_do_not_depend_on_case_and_come_out_as_declared():
    assert sql("SELECT DOMAIN, Requests.URL FROM Requests") == mapped(REQUESTS, domain="domain", url="url")


def test_not_like_is_not_like():
    assert sql("SELECT * FROM requests WHERE url NOT LIKE '/a%'") == where(REQUESTS, "NOT (url LIKE '/a%')")


# --- GROUP BY ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "by",
    ["domain", "r.domain", "1", "d"],
)
def test_group_by_name_position_and_alias(by):
    expected = mapped(grouped(REQUESTS, "domain", total="sum(bytes)"), d="domain", total="total")
    assert sql(f"SELECT domain AS d, sum(bytes) AS total FROM requests r GROUP BY {by}") == expected


def test_group_by_window_gives_a_window_column():
    assert sql("SELECT domain, window, count(*) AS hits FROM requests GROUP BY window(ts, '1 minute'), domain") == HITS


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("window(ts, '1 minute')", TimeWindow("ts", MINUTE, MINUTE)),
        ("window(ts, '5 minutes', '1 minute')", TimeWindow("ts", 5 * MINUTE, MINUTE)),
        ("window(ts, '5 minutes', '5 minutes', '30 seconds')", TimeWindow("ts", 5 * MINUTE, 5 * MINUTE, MINUTE // 2)),
        ("window(requests.ts, INTERVAL 5 MINUTES)", TimeWindow("ts", 5 * MINUTE, 5 * MINUTE)),
        ("session_window(ts, '5 minutes')", SessionWindow("ts", 5 * MINUTE)),
    ],
)
def test_kinds_of_windows(text, window):
    expected = mapped(grouped(REQUESTS, window=window, n="count(*)"), start="`window`.start", n="n")
    assert sql(f"SELECT window.start, count(*) AS n FROM requests GROUP BY {text}") == expected


def test_the_window_can_be_named_by_its_call_or_by_an_alias():
    expected = mapped(grouped(REQUESTS, window=BY_MINUTE, n="count(*)"), start="`window`.start", n="n")
    assert (
        sql("SELECT window(ts, '1 minute').start, count(*) n FROM requests GROUP BY window(ts, '1 minute')") == expected
    )
    assert sql("SELECT window(ts, '60s') AS w, count(*) AS n FROM requests GROUP BY w").schema.names == ("w", "n")


def test_session_window_is_the_window_column_too():
    groups = grouped(REQUESTS, "domain", window=SessionWindow("ts", 5 * MINUTE), n="count(*)")
    expected = mapped(groups, session_window="`window`", start="`window`.start", n="n")
    text = """SELECT session_window, session_window.start, count(*) AS n
              FROM requests GROUP BY session_window(ts, '5 minutes'), domain"""
    assert sql(text) == expected


def test_group_by_an_expression_computes_it_first_under_the_items_name():
    rows = Map(REQUESTS, (*mapped(REQUESTS, **{n: n for n in REQUESTS.schema.names}).columns,
                          *mapped(REQUESTS, hour="date_trunc('hour', ts)").columns))  # fmt: skip
    expected = grouped(rows, "hour", n="count(*)")
    assert (
        sql("SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM requests GROUP BY date_trunc('hour', ts)")
        == expected
    )
    assert sql("SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM requests GROUP BY hour") == expected
    assert sql("SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM requests GROUP BY 1") == expected


def test_a_key_does_not_hide_the_column_that_an_aggregate_reads():
    found = sql("SELECT lower(domain) AS domain, max(domain) AS last FROM requests GROUP BY 1")
    (aggregate,) = found.inputs
    assert aggregate.schema.names == ("lower(domain)", "last")
    assert found.schema.names == ("domain", "last")


def test_a_key_may_take_the_place_of_a_column_that_nobody_reads():
    assert sql("SELECT lower(domain) AS domain, count(*) AS n FROM requests GROUP BY lower(domain)").kind == "aggregate"


def test_aggregates_without_names_get_readable_ones_and_equal_ones_are_shared():
    text = (
        "SELECT count(*), sum(bytes), sum(bytes) / count(*) AS mean, count(status), max(bytes + status) FROM requests"
    )
    groups = grouped(
        REQUESTS,
        count="count(*)",
        sum_bytes="sum(bytes)",
        count_status="count(status)",
        max_bytes_status="max(bytes + status)",
    )
    expected = mapped(
        groups, count="count", sum_bytes="sum_bytes", mean="sum_bytes / count", count_status="count_status",
        max_bytes_status="max_bytes_status",
    )  # fmt: skip
    assert sql(text) == expected


def test_readable_names_are_made_unique():
    assert sql("SELECT percentile(bytes, 0.5), percentile(bytes, 0.9) FROM requests").schema.names == (
        "percentile_bytes", "percentile_bytes_2",
    )  # fmt: skip


def test_an_alias_that_a_key_has_already_is_given_by_the_map():
    expected = mapped(grouped(REQUESTS, "domain", count="count(*)"), d="domain", domain="count")
    assert sql("SELECT domain AS d, count(*) AS domain FROM requests GROUP BY domain") == expected


def test_totals_over_the_whole_stream():
    assert sql("SELECT sum(bytes) AS total FROM requests") == grouped(REQUESTS, total="sum(bytes)")


def test_filter_clause_distinct_and_user_defined_aggregates():
    expected = grouped(
        REQUESTS,
        "domain",
        bad="count(CASE WHEN status >= 500 THEN TRUE END)",
        urls="count(DISTINCT url)",
        spread="spread(bytes)",
    )
    text = """SELECT domain, count(*) FILTER (WHERE status >= 500) AS bad, count(DISTINCT url) AS urls,
                     SPREAD(bytes) AS spread
              FROM requests GROUP BY domain"""
    assert sql(text) == expected


def test_having_filters_the_groups_and_may_use_aliases_and_further_aggregates():
    groups = grouped(REQUESTS, "domain", hits="count(*)", max_bytes="max(bytes)")
    expected = mapped(where(groups, "hits > 10 AND max_bytes < 100"), domain="domain", hits="hits")
    assert (
        sql("SELECT domain, count(*) AS hits FROM requests GROUP BY domain HAVING hits > 10 AND max(bytes) < 100")
        == expected
    )


def test_group_by_without_aggregates():
    assert sql("SELECT domain FROM requests GROUP BY domain") == grouped(REQUESTS, "domain")


def test_grouping_the_windows_of_a_sub_select_again():
    inner = mapped(HITS, window="`window`", hits="hits")
    text = """SELECT window, max(hits) AS best
              FROM (SELECT window, count(*) AS hits FROM requests GROUP BY window(ts, '1 minute'), domain)
              GROUP BY window"""
    assert sql(text) == grouped(inner, "window", best="max(hits)")


# --- top k ---------------------------------------------------------------------------------------------------------


def test_the_query_of_the_design_page():
    top = Top(grouped(where(REQUESTS, "status < 500"), "domain", window=BY_MINUTE, hits="count(*)"), 10,
              (("hits", True), ("domain", False)), ("window",))  # fmt: skip
    expected = mapped(top, minute="`window`.start", domain="domain", hits="hits")
    text = """SELECT window.start AS minute, domain, count(*) AS hits
              FROM requests WHERE status < 500
              GROUP BY window(ts, '1 minute'), domain
              QUALIFY row_number() OVER (PARTITION BY window ORDER BY hits DESC, domain) <= 10"""
    assert sql(text) == expected


@pytest.mark.parametrize(
    "tail",
    [
        "QUALIFY row_number() OVER (PARTITION BY window ORDER BY hits DESC) <= 3",
        "QUALIFY row_number() OVER (PARTITION BY window ORDER BY count(*) DESC) < 4",
        "QUALIFY 3 >= row_number() OVER (PARTITION BY window(ts, '1 minute') ORDER BY hits DESC)",
        "QUALIFY (row_number() OVER (PARTITION BY window ORDER BY window.start, hits DESC) BETWEEN 1 AND 3)",
        "ORDER BY hits DESC LIMIT 3",
        "ORDER BY 3 DESC LIMIT 3",
        "ORDER BY window.start, hits DESC NULLS LAST LIMIT 3",
    ],
)
def test_all_ways_to_ask_for_the_top_of_each_window(tail):
    text = "SELECT domain, window, count(*) AS hits FROM requests GROUP BY window(ts, '1 minute'), domain "
    assert sql(text + tail) == Top(HITS, 3, (("hits", True),), ("window",))


def test_order_by_and_limit_over_rows_without_windows_is_over_all_of_them():
    assert sql("SELECT * FROM requests ORDER BY bytes DESC, ts LIMIT 5") == Top(
        REQUESTS, 5, (("bytes", True), ("ts", False))
    )


def test_a_top_stands_below_the_select_list_when_it_orders_by_columns():
    expected = mapped(Top(REQUESTS, 5, (("bytes", True),)), domain="domain")
    assert sql("SELECT domain FROM requests ORDER BY bytes DESC LIMIT 5") == expected


def test_a_top_by_a_computed_item_stands_above_the_select_list():
    expected = Top(mapped(REQUESTS, domain="domain", bits="bytes * 8"), 5, (("bits", True),))
    assert sql("SELECT domain, bytes * 8 AS bits FROM requests ORDER BY bits DESC LIMIT 5") == expected


def test_a_top_by_something_computed_and_not_selected_uses_a_hidden_column():
    found = sql("SELECT domain FROM requests ORDER BY length(url) DESC LIMIT 5")
    assert found.schema.names == ("domain",)
    (top,) = found.inputs
    assert isinstance(top, Top)
    assert top.by == (("length(url)", True),)


def test_row_number_in_a_sub_select_with_a_limit_around_it():
    ranked = Top(REQUESTS, 2, (("bytes", True),), ("domain",), "rn")
    inner = "SELECT *, row_number() OVER (PARTITION BY domain ORDER BY bytes DESC) AS rn FROM requests"
    assert sql(f"SELECT * FROM ({inner}) WHERE rn <= 2") == ranked
    assert sql(f"SELECT * FROM ({inner}) AS q WHERE q.rn < 3") == ranked
    assert sql(f"WITH q AS ({inner}) SELECT * FROM q WHERE 2 >= rn") == ranked
    assert sql(f"{inner} QUALIFY rn <= 2") == ranked
    expected = mapped(where(ranked, "status = 200"), url="url", rn="rn")
    assert sql(f"SELECT url, rn FROM ({inner}) WHERE status = 200 AND rn <= 2") == expected


def test_qualify_may_ask_more_of_the_first_rows():
    ranked = Top(A, 2, (("x", False),), ("k",), "rn")
    first = "row_number() OVER (PARTITION BY k ORDER BY x)"
    assert sql(f"SELECT * FROM A QUALIFY x > 3 AND ({first} <= 2 AND f < 1)") == where(
        Top(A, 2, (("x", False),), ("k",)), "x > 3 AND f < 1"
    )
    assert sql(f"SELECT *, {first} AS rn FROM A QUALIFY rn <= 2 AND rn > 1 AND {first} < 9") == where(ranked, "rn > 1")
    groups = grouped(A, "k", n="count(*)", max_x="max(x)")
    expected = mapped(where(Top(groups, 3, (("n", True),)), "n > 1 AND max_x < 4"), k="k", n="n")
    text = "SELECT k, count(*) AS n FROM A GROUP BY k QUALIFY row_number() OVER (ORDER BY n DESC) <= 3"
    assert sql(f"{text} AND n > 1 AND max(x) < 4") == expected


def test_a_qualified_name_is_a_column_whatever_items_are_called():
    expected = mapped(Top(A, 3, (("ts", True),)), a="x")
    assert sql("SELECT x AS a FROM A a ORDER BY a.ts DESC LIMIT 3") == expected


def test_the_best_row_of_each_group():
    expected = Top(REQUESTS, 1, (("ts", True),), ("domain", "url"))
    assert (
        sql("SELECT * FROM requests QUALIFY row_number() OVER (PARTITION BY domain, url ORDER BY ts DESC) = 1")
        == expected
    )


# --- DISTINCT, UNION ALL, WITH, sub-selects --------------------------------------------------------------------------


def test_distinct_is_last_but_for_order_by():
    distinct = Distinct(mapped(REQUESTS, domain="domain"))
    assert sql("SELECT DISTINCT domain FROM requests") == distinct
    assert sql("SELECT DISTINCT domain AS d FROM requests ORDER BY d LIMIT 3") == Top(
        Distinct(mapped(REQUESTS, d="domain")), 3, (("d", False),)
    )


def test_union_all_is_flat_and_takes_the_first_names_and_the_common_types():
    text = "SELECT k, x FROM A UNION ALL SELECT k, y FROM B UNION ALL SELECT k, z FROM C"
    found = sql(text)
    assert isinstance(found, Union)
    assert len(found.members) == 3
    assert str(found.schema) == "k INT, x BIGINT"
    assert sql("SELECT * FROM A UNION ALL SELECT * FROM A") == Union((A, A))


def test_top_of_a_union():
    expected = Top(Union((A, A)), 3, (("x", True),))
    assert sql("SELECT * FROM A UNION ALL SELECT * FROM A ORDER BY x DESC LIMIT 3") == expected
    assert sql("(SELECT * FROM A UNION ALL SELECT * FROM A) ORDER BY 3 DESC LIMIT 3") == expected


def test_a_with_query_used_twice_is_one_node():
    found = sql(
        "WITH s AS (SELECT k, sum(x) AS total FROM A GROUP BY k) SELECT l.k, r.total FROM s l JOIN s r ON l.k = r.k"
    )
    assert [node.kind for node in Graph.of(out=found)].count("aggregate") == 1


def test_with_queries_see_earlier_ones_and_hide_streams():
    rows = where(where(REQUESTS, "status < 500"), "bytes > 1")
    text = """WITH requests AS (SELECT * FROM requests WHERE status < 500),
                   big AS (SELECT * FROM requests WHERE bytes > 1)
              SELECT * FROM big"""
    assert sql(text) == rows


def test_column_lists_rename():
    assert sql("WITH q(a, b) AS (SELECT k, x FROM A) SELECT * FROM q") == mapped(mapped(A, k="k", x="x"), a="k", b="x")
    assert sql("SELECT b FROM (SELECT k, x FROM A) AS q(a, b)").schema.names == ("b",)


def test_sub_selects_nest():
    text = "SELECT q.domain FROM (SELECT * FROM (SELECT domain, bytes FROM requests) WHERE bytes > 1) AS q"
    assert sql(text) == mapped(where(mapped(REQUESTS, domain="domain", bytes="bytes"), "bytes > 1"), domain="domain")


def test_derived_streams_are_relations_like_any_other():
    catalog = Catalog({"good": where(REQUESTS, "status < 500")})
    assert parse_query("SELECT * FROM GOOD", catalog) == where(REQUESTS, "status < 500")


def test_the_graph_goes_through_json():
    graph = Graph.of(
        out=sql("SELECT a.k, b.y FROM A a LEFT JOIN B b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR")
    )
    assert Graph.from_json(graph.to_json()) == graph
