"""What SQL cannot ask is named, with its place and the nearest thing that can be asked."""

from __future__ import annotations

import pickle
from contextlib import suppress

import pytest

from tests.frontends.relations import sql
from tradewind.errors import InputError, QueryError, UnknownNameError

REFUSED = [
    ("SELECT sum(bytes) OVER (PARTITION BY domain) FROM requests", "the window function 'sum' (OVER) is not supported"),
    ("SELECT lag(bytes) OVER (ORDER BY ts) FROM requests", "GROUP BY window(ts, size, step)"),
    (
        "SELECT rank() OVER (ORDER BY ts) AS r FROM requests QUALIFY r <= 3",
        "rank() is not supported. Hint: use row_number()",
    ),
    ("SELECT * FROM requests QUALIFY dense_rank() OVER (ORDER BY ts) <= 3", "QUALIFY: dense_rank() is not supported"),
    ("SELECT bytes + row_number() OVER (ORDER BY ts) AS n FROM requests", "row_number() inside an expression"),
    ("SELECT row_number() OVER (ORDER BY ts) FROM requests", "row_number() needs a name"),
    ("SELECT *, row_number() OVER (ORDER BY ts) AS rn FROM requests", "row_number() is used without a limit"),
    ("SELECT * FROM (SELECT *, row_number() OVER (ORDER BY ts) AS rn FROM requests)", "must say WHERE rn <= k"),
    (
        "SELECT * FROM (SELECT *, row_number() OVER (ORDER BY ts) AS n FROM A ORDER BY x LIMIT 5) WHERE n <= 2",
        "row_number() is used without a limit",
    ),
    ("SELECT * FROM requests QUALIFY bytes > 3", "QUALIFY: another condition than a limit on row_number()"),
    ("SELECT * FROM requests QUALIFY row_number() OVER (ORDER BY ts) > 3", "another condition than a limit"),
    ("SELECT * FROM requests QUALIFY row_number() OVER (ORDER BY ts) = 3", "another condition than a limit"),
    ("SELECT * FROM A QUALIFY row_number() OVER (ORDER BY ts) <= 3 OR x > 3", "another condition than a limit"),
    (
        "SELECT * FROM A QUALIFY row_number() OVER (ORDER BY ts) <= 3 AND row_number() OVER (ORDER BY x) <= 3",
        "a second row_number()",
    ),
    (
        "SELECT * FROM A QUALIFY row_number() OVER (ORDER BY ts) <= 3 AND row_number() OVER (ORDER BY ts) > 1",
        "another condition than a limit",
    ),
    ("SELECT * FROM requests QUALIFY row_number() OVER (PARTITION BY ts) <= 3", "row_number() needs an order"),
    ("SELECT * FROM requests QUALIFY row_number() OVER w <= 3", "a named WINDOW is not supported"),
    ("SELECT bytes FROM requests WINDOW w AS (ORDER BY ts)", "a named WINDOW is not supported"),
    ("SELECT * FROM requests QUALIFY row_number() OVER (ORDER BY ts ROWS 1 PRECEDING) <= 3", "a frame"),
    ("SELECT (SELECT 1) FROM requests", "SELECT item 1: a sub-query is not allowed"),
    ("SELECT * FROM requests WHERE EXISTS (SELECT 1 FROM requests)", "WHERE: a sub-query is not allowed"),
    ("SELECT * FROM requests WHERE bytes IN (SELECT bytes FROM requests)", "IN with a sub-query is not allowed"),
    ("SELECT * FROM requests LATERAL VIEW explode(array(1)) e AS x", "LATERAL VIEW is not supported"),
    ("SELECT * FROM requests, LATERAL (SELECT 1)", "LATERAL is not supported"),
    ("SELECT * FROM requests PIVOT (sum(bytes) FOR status IN (200, 500))", "PIVOT is not supported"),
    ("SELECT * FROM requests TABLESAMPLE (5 PERCENT)", "a box of kind sample"),
    ("SELECT domain FROM requests GROUP BY GROUPING SETS ((domain), ())", "GROUPING SETS is not supported"),
    ("SELECT domain FROM requests GROUP BY ROLLUP (domain)", "ROLLUP is not supported"),
    ("SELECT domain FROM requests GROUP BY domain WITH CUBE", "CUBE is not supported"),
    ("SELECT domain FROM requests GROUP BY ALL", "GROUP BY ALL is not supported"),
    ("SELECT domain FROM requests INTERSECT SELECT domain FROM requests", "INTERSECT is not supported"),
    ("SELECT domain FROM requests EXCEPT SELECT domain FROM requests", "EXCEPT is not supported"),
    ("SELECT domain FROM requests UNION SELECT domain FROM requests", "SELECT DISTINCT * FROM (… UNION ALL …)"),
    ("SELECT /*+ COALESCE(1) */ * FROM requests", "a hint (/*+ … */) is not supported"),
    ("SELECT TRANSFORM(url) USING 'cat' FROM requests", "SELECT TRANSFORM (running a program) is not supported"),
    ("SELECT * INTO x FROM requests", "SELECT INTO is not supported. Hint: `deliver:`"),
    ("VALUES (1, 2)", "VALUES is not supported"),
    ("SELECT * FROM VALUES (1, 2)", "VALUES is not supported"),
    ("SELECT * FROM requests; SELECT * FROM requests", "holds 2 statements"),
    ("INSERT INTO requests SELECT * FROM requests", "INSERT is not a query"),
    ("DROP TABLE requests", "DROP is not a query"),
    ("EXPLAIN SELECT * FROM requests", "EXPLAIN is not a query"),
    ("1 + 1", "this is not a query"),
    ("WITH RECURSIVE r AS (SELECT * FROM requests) SELECT * FROM r", "WITH RECURSIVE is not supported"),
    ("SELECT * FROM A NATURAL JOIN B", "NATURAL"),
    ("SELECT * FROM A LEFT SEMI JOIN B ON A.k = B.k", "LEFT SEMI JOIN is not supported. Hint: JOIN a SELECT DISTINCT"),
    ("SELECT * FROM A LEFT ANTI JOIN B ON A.k = B.k", "LEFT JOIN … WHERE right.key IS NULL"),
    ("SELECT * FROM requests ORDER BY ts LIMIT 3 OFFSET 2", "OFFSET is not supported"),
    ("SELECT * FROM requests DISTRIBUTE BY domain", "DISTRIBUTE BY is not supported"),
    ("SELECT * FROM requests SORT BY domain", "SORT BY is not supported"),
    ("SELECT * FROM requests CLUSTER BY domain", "CLUSTER BY is not supported"),
    ("SELECT * FROM requests ORDER BY ts", "ORDER BY without LIMIT"),
    ("SELECT * FROM requests LIMIT 3", "LIMIT: LIMIT without ORDER BY"),
    ("(SELECT * FROM A) LIMIT 3", "LIMIT: LIMIT without ORDER BY"),
    (
        "SELECT * FROM A ORDER BY 'k' LIMIT 3",
        "ORDER BY: 'k' is the same in all rows, so it is no order. Hint: write the",
    ),
    ("SELECT * FROM A ORDER BY k, 1 + 1 LIMIT 3", "ORDER BY: 1 + 1 is the same in all rows"),
    ("SELECT * FROM A QUALIFY row_number() OVER (ORDER BY 1) <= 3", "QUALIFY: 1 is the same in all rows"),
    ("SELECT * FROM A UNION ALL SELECT * FROM A ORDER BY 'k' LIMIT 3", "is the same in all rows"),
    ("SELECT * FROM requests ORDER BY ts LIMIT ALL", "LIMIT takes a whole number"),
    ("SELECT * FROM requests ORDER BY ts LIMIT 0", "top needs at least one row"),
    ("SELECT * FROM requests ORDER BY ts NULLS LAST LIMIT 3", "NULLs are the smallest values"),
    ("SELECT domain FROM requests ORDER BY 9 LIMIT 3", "there is no SELECT item 9"),
    ("SELECT * FROM requests ORDER BY ts FETCH FIRST 3 ROWS ONLY", "FETCH is not supported. Hint: write LIMIT k"),
    ("SELECT * FROM A CROSS JOIN B", "this would be a cross join"),
    ("SELECT * FROM A, B", "this would be a cross join"),
    ("SELECT * FROM A JOIN B ON A.k < 3", "this would be a cross join"),
    ("SELECT * FROM A, B, C WHERE A.k = C.k AND B.k = C.k", "nothing ties B to what stands before it"),
    ("SELECT * FROM A RIGHT JOIN B ON A.k = B.k AND A.x + B.y > 3", "'x + y > 3' cannot be asked in a RIGHT JOIN"),
    ("SELECT * FROM A LEFT JOIN B ON A.k = B.k AND x > 3", "ON CASE WHEN x > 3 THEN … END = …"),
    ("SELECT * FROM A RIGHT JOIN B ON A.k = B.k AND y > 3", "'y > 3' cannot be asked in a RIGHT JOIN"),
    ("SELECT * FROM A FULL JOIN B ON A.k = B.k AND y > 3", "'y > 3' cannot be asked in a FULL JOIN"),
    ("SELECT * FROM A LEFT JOIN B ON A.k = B.k AND y - x > 3", "Sums of numbers may overflow: compute them in a sub-"),
    ("SELECT * FROM A LEFT JOIN B ON A.k = B.k AND y <= x + 3", "compare plain columns in ON"),
    ("SELECT * FROM A FULL JOIN B ON B.k - A.k = 0", "'k_B - k = 0' cannot be asked in a FULL JOIN"),
    ("SELECT * FROM A JOIN B ON A.k = B.k AND B.ts > A.ts + 5", "'+' does not fit (TIMESTAMP, INT)"),
    ("SELECT * FROM A, B WHERE A.k = B.k AND B.ts > A.ts + 5", "WHERE: '+' does not fit (TIMESTAMP, INT)"),
    ("SELECT * FROM A JOIN B ON A.k = B.k AND B.ts > A.ts AND B.ts < A.ts", "the band from 1 to -1 is empty"),
    ("SELECT * FROM A JOIN A ON A.k = A.k", "two relations are named 'A'"),
    ("SELECT * FROM (A JOIN B ON A.k = B.k)", "a relation in parentheses is not supported"),
    ("SELECT A.k FROM A, B RIGHT JOIN C ON B.k = C.k WHERE A.k = B.k", "a join without ON beside a RIGHT or FULL join"),
    ("SELECT 1 AS one FROM A FULL JOIN B USING (k) JOIN C USING (k)", "USING after a FULL JOIN"),
    ("SELECT * FROM prices", "read box"),
    ("SELECT * FROM request", "unknown stream 'request'. Hint: did you mean 'requests'?"),
    ("SELECT requests.url FROM requests r", "SELECT item 1: 'requests' is called r here. Hint: write r.url."),
    ("SELECT l.x FROM A l JOIN A r ON l.k = A.k", "'A' is called l and r here. Hint: write l.k or r.k."),
    ("SELECT current_timestamp FROM A", "its answer depends on the clock"),
    ("SELECT * FROM A WHERE ts > current_date", "its answer depends on the clock"),
    ("SELECT user FROM A", "unknown column 'user'"),
    ("SELECT window_start, count(*) FROM A GROUP BY window(ts, '60s')", "Hint: write window.start, with GROUP BY"),
    (
        "SELECT count(*) FROM A GROUP BY window(ts, '60s') HAVING window_end > ts",
        "Hint: write window.end, with GROUP BY",
    ),
    ("SELECT count(*) FROM A GROUP BY TUMBLE(ts, INTERVAL 1 MINUTE)", "Hint: GROUP BY window(ts, '1 minute')"),
    ("SELECT tumble_start(ts, INTERVAL 1 MINUTE) FROM A", "Hint: GROUP BY window(ts, '1 minute')"),
    (
        "SELECT * FROM TABLE(TUMBLE(TABLE A, DESCRIPTOR(ts), INTERVAL 1 MINUTE))",
        "Hint: GROUP BY window(ts, '1 minute')",
    ),
    ("SELECT * FROM HOP(A, ts)", "Hint: GROUP BY window(ts, '10 minutes', '1 minute')"),
    (
        "SELECT count(*) FROM A GROUP BY SESSION(ts, INTERVAL 1 MINUTE)",
        "Hint: GROUP BY session_window(ts, '30 seconds')",
    ),
    ("SELECT struct(x) FROM A", "Hint: named_struct('a', a, 'b', b)"),
    ("SELECT * FROM requests WHERE url LIKE ANY ('a', 'b')", "one by one: k LIKE 'a' OR k LIKE 'b'"),
    ("SELECT * FROM requests WHERE url LIKE ALL ('a', 'b')", "one by one: k LIKE 'a' AND k LIKE 'b'"),
    ("SELECT * FROM requests WHERE bytes > ANY (SELECT bytes FROM requests)", "a sub-query is not allowed"),
    ("SELECT domian FROM requests", "SELECT item 1: unknown column 'domian'. Hint: did you mean 'domain'?"),
    ("SELECT requests.domian FROM requests", "did you mean 'requests.domain'?"),
    ("SELECT x.* FROM requests", "unknown relation 'x'"),
    ("SELECT A.ts, B.ts FROM A JOIN B ON A.k = B.k", "two SELECT items are named 'ts'. Hint: name one of them"),
    ("SELECT domain AS a, url AS A FROM requests", "two SELECT items are named"),
    ("SELECT k FROM A JOIN B ON A.k = B.k", "'k' is ambiguous: it may be A.k or B.k"),
    ("SELECT domain, bytes FROM requests GROUP BY domain", "SELECT item 2: 'bytes' is neither grouped by nor inside"),
    ("SELECT domain FROM requests GROUP BY domain HAVING url = 'a'", "HAVING: 'url' is neither grouped by"),
    ("SELECT * FROM requests GROUP BY domain", "SELECT * with GROUP BY is not supported"),
    ("SELECT domain FROM requests WHERE count(*) > 3", "WHERE. Hint: use HAVING"),
    ("SELECT domain, count(*) AS n FROM requests WHERE n > 3 GROUP BY domain", "after WHERE. Hint: use HAVING"),
    ("SELECT *, row_number() OVER (ORDER BY ts) AS rn FROM A WHERE rn <= 3", "use QUALIFY: QUALIFY rn <= k"),
    ("SELECT x + 1 AS z FROM A WHERE z > 3", "write the expression itself, or filter in an enclosing SELECT"),
    ("SELECT count(*) AS n FROM requests GROUP BY n", "the aggregate 'count(*)' cannot stand in GROUP BY"),
    ("SELECT sum(max(bytes)) FROM requests", "an aggregate inside an aggregate"),
    ("SELECT max(window(ts, '1 minute')) FROM requests", "cannot stand in an aggregate"),
    ("SELECT window(ts, '1 minute') FROM requests", "window() stands in GROUP BY"),
    ("SELECT window(ts, '2 minutes'), count(*) FROM requests GROUP BY window(ts, '1 minute')", "is not the window"),
    ("SELECT count(*) FROM requests GROUP BY window(ts, '1 minute'), window(ts, '2 minutes')", "a second window"),
    ("SELECT count(*) FROM requests GROUP BY window(ts, '1 month')", "months and years have no fixed length"),
    ("SELECT count(*) FROM requests GROUP BY window(ts, 60)", "with lengths such as '10 minutes'"),
    ("SELECT count(*) FROM requests GROUP BY window(ts)", "has 1 arguments"),
    ("SELECT count(*) FROM requests GROUP BY window(ts + INTERVAL 1 HOUR, '1 minute')", "is laid on an expression"),
    ("SELECT count(*) FROM requests GROUP BY window(bytes, '1 minute')", "its event time is 'ts'"),
    ("SELECT DISTINCT ON (domain) * FROM requests", "DISTINCT ON is not supported"),
    ("SELECT DISTINCT domain FROM requests ORDER BY bytes LIMIT 3", "'bytes' is not selected"),
    ("SELECT * EXCEPT (domain) FROM requests", "* EXCEPT is not supported"),
    ("SELECT 1", "SELECT without FROM is not supported"),
    ("SELECT FROM requests", "SELECT names no columns"),
    ("SELECT domain FROM requests\nWHERE domain > 3 3", "(line 2, column 18)"),
    ("SELECT domain, url + 1 FROM requests", "SELECT item 2: '+' does not fit (STRING, INT)"),
    ("SELECT * FROM requests WHERE bytes", "WHERE: 'bytes' has type BIGINT, not BOOLEAN"),
    ("SELECT domain FROM requests UNION ALL SELECT domain, url FROM requests", "query 2 has 2"),
    ("SELECT domain FROM requests UNION ALL SELECT bytes FROM requests", "union of unlike schemas"),
    (
        "SELECT domain FROM requests UNION ALL SELECT nothing FROM requests",
        "UNION ALL, query 2: SELECT item 1: unknown",
    ),
    ("WITH q AS (SELECT * FROM A), q AS (SELECT * FROM A) SELECT * FROM q", "two queries are named 'q'"),
    ("WITH q(a, b) AS (SELECT k FROM A) SELECT * FROM q", "2 names for 1 columns"),
    ("WITH q AS (SELECT nothing FROM A) SELECT * FROM A", "WITH q: SELECT item 1: unknown column 'nothing'"),
    ("SELECT * FROM (SELECT nothing FROM A) AS q", "sub-select q: SELECT item 1: unknown column 'nothing'"),
    ("SELECT count(DISTINCT domain, url) FROM requests", "named_struct"),
    ("SELECT * FROM requests FOR SYSTEM_TIME AS OF TIMESTAMP '2020-01-01'", "time travel"),
]


@pytest.mark.parametrize(("text", "fragment"), REFUSED)
def test_refused(text, fragment):
    with pytest.raises(InputError) as caught:
        sql(text)
    assert fragment in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_many_queries_one_inside_the_other_are_for_boxes():
    steps = ["q0 AS (SELECT * FROM A)"]
    steps += [f"q{i} AS (SELECT * FROM q{i - 1} WHERE x > {i})" for i in range(1, 400)]
    with pytest.raises(InputError, match=r"nested too deeply\. Hint: split it over several boxes of `flow:`"):
        sql(f"WITH {', '.join(steps)} SELECT * FROM q399")


def test_errors_name_the_line_when_there_are_several():
    with pytest.raises(UnknownNameError) as caught:
        sql("SELECT domain,\n  domian\nFROM requests")
    assert caught.value.where == "SELECT item 2, line 2"
    assert caught.value.candidates == ("ts", "domain", "url", "bytes", "status")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "(" * 150 + "bytes" + ")" * 150 + " FROM requests",
        "SELECT * FROM " + "(SELECT * FROM " * 150 + "requests" + ")" * 150,
        "SELECT " + "bytes + " * 5_000 + "1 AS x FROM requests",
        "SELECT * FROM requests WHERE " + "bytes = 1 AND " * 5_000 + "TRUE",
        " UNION ALL ".join(["SELECT * FROM requests"] * 3_000),
        "SELECT 1" + "0" * 5_000 + " FROM requests",
        "SELECT " + "NOT " * 5_000 + "TRUE FROM requests",
        "SELECT '" + "x" * 200_000 + "' FROM requests",
    ],
    ids=range(8),
)
def test_long_and_deep_texts_are_answered_or_refused_in_time(text):
    with suppress(InputError):
        sql(text)


def test_a_limit_on_a_rank_is_not_taken_through_an_outer_join():
    with pytest.raises(QueryError, match="without outer joins"):
        sql(
            "SELECT * FROM A LEFT JOIN (SELECT *, row_number() OVER (ORDER BY y) AS rn FROM B) AS q "
            "ON A.k = q.k WHERE rn <= 3"
        )
