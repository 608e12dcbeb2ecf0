"""What sqlglot lets pass though it is not SQL is refused, and slips of the pen are named."""

from __future__ import annotations

import pytest

from tests.frontends.relations import RANGE, A, mapped, sql
from tradewind.errors import InputError, QueryError
from tradewind.frontends.catalog import Catalog
from tradewind.frontends.sql.query import parse_query

INCOMPLETE = [
    ("SELECT x, FROM A", "a comma before 'FROM' (line 1, column 9)"),
    ("SELECT , x FROM A", "a comma after 'SELECT'"),
    ("SELECT x,, k FROM A", "a comma before ','"),
    ("SELECT least(x, k,) FROM A", "a comma before ')'"),
    ("SELECT least(, x) FROM A", "a comma after '('"),
    ("SELECT k FROM A,", "a comma at the end"),
    ("SELECT k FROM A, WHERE k > 1", "a comma before 'WHERE'"),
    ("SELECT k FROM A a, LEFT JOIN B b ON a.k = b.k", "a comma before 'LEFT'"),
    ("SELECT k FROM (SELECT k, FROM A)", "a comma before 'FROM'"),
    ("SELECT k FROM A GROUP BY k,", "a comma at the end"),
    ("SELECT k FROM A GROUP BY k,;", "a comma before ';'"),
    ("SELECT k FROM A GROUP BY k,\nHAVING k > 1", "a comma before 'HAVING' (line 1, column 27)"),
    ("SELECT k FROM A GROUP BY k, UNION ALL SELECT k FROM A", "a comma before 'UNION'"),
    ("SELECT k FROM A ORDER BY k, LIMIT 3", "a comma before 'LIMIT'"),
    ("SELECT k FROM A JOIN B USING (k,)", "a comma before ')'"),
    ("SELECT * FROM A QUALIFY row_number() OVER (PARTITION BY k, ORDER BY x) <= 3", "a comma before 'ORDER BY'"),
    ("SELECT avg(x) FROM A GROUP BY", "nothing follows GROUP BY"),
    ("SELECT avg(x) FROM A group by HAVING avg(x) > 1", "nothing follows GROUP BY"),
    ("SELECT q.n FROM (SELECT avg(x) AS n FROM A GROUP BY) q", "nothing follows GROUP BY"),
    ("SELECT k FROM A ORDER BY LIMIT 3", "nothing follows ORDER BY"),
    ("SELECT * FROM A QUALIFY row_number() OVER (PARTITION BY ORDER BY x) <= 3", "nothing follows PARTITION BY"),
    ("SELECT k FROM A WHERE", "nothing follows WHERE"),
    ("SELECT k FROM A GROUP BY k HAVING", "nothing follows HAVING"),
    ("SELECT A.k FROM A JOIN B ON", "nothing follows ON"),
    ("SELECT A.k FROM A JOIN B ON WHERE A.k = B.k", "nothing follows ON"),
]
NO_NAMES = [
    ('SELECT x FROM "A"', '"A" stands where a name has to stand. Hint: quotes make a text; write `A`'),
    ("SELECT x FROM 'A'", "'A' stands where a name"),
    ("SELECT A.x FROM A, 'B' WHERE A.k = B.k", "'B' stands where a name"),
    ('SELECT A.x FROM A JOIN "B" ON A.k = B.k', "stands where a name"),
    ("SELECT x AS 'y' FROM A", "'y' stands where a name"),
    ("SELECT x FROM A 'a'", "'a' stands where a name"),
    ("SELECT A.x FROM A JOIN B USING ('k')", "'k' stands where a name"),
    ("SELECT A.'x' FROM A", "'x' stands where a name"),
    ("SELECT x AS @y FROM A", "@y stands where a name"),
    ("SELECT k FROM A@v1", "time travel (@v1) is not supported"),
    ("SELECT k FROM A @v1", "time travel (@v1) is not supported"),
    ("SELECT b.k FROM A@v1 AS b", "time travel"),
    ("SELECT k FROM (SELECT k FROM A) @v1", "time travel"),
]
SLIPS = [
    ("SELCT x FROM A", "SELECT"),
    ("selct x from A", "SELECT"),
    ("WIHT q AS (SELECT k FROM A) SELECT * FROM q", "WITH"),
    ("SELECT x FORM A", "FROM"),
    ("SELECT x, k\nFORM A WHERE k > 1", "FROM"),
    ("SELECT x FROM A WHRE x > 1", "WHERE"),
    ("SELECT k FROM A GRUOP BY k", "GROUP BY"),
    ("SELECT k FROM A GROUP k", "GROUP BY"),
    ("SELECT k FROM A ODER BY k LIMIT 3", "ORDER BY"),
    ("SELECT k FROM A ORDER BY k LMIT 3", "LIMIT"),
    ("SELECT A.k FROM A JION B ON A.k = B.k", "JOIN"),
    ("SELECT k FROM A GROUP BY k HAVNG k > 1", "HAVING"),
    ("SELECT k FROM A UNOIN ALL SELECT k FROM A", "UNION"),
]


@pytest.mark.parametrize(("text", "fragment"), [*INCOMPLETE, *NO_NAMES])
def test_what_is_not_sql_is_refused(text, fragment):
    with pytest.raises(QueryError) as caught:
        sql(text)
    assert fragment in str(caught.value)


@pytest.mark.parametrize(("text", "word"), SLIPS)
def test_the_word_that_was_meant_is_named(text, word):
    with pytest.raises(InputError) as caught:
        sql(text)
    assert caught.value.hint == f"did you mean {word}?"


def test_other_texts_that_cannot_be_read_get_no_wrong_hint():
    for text in ("SELECT k FROM A WHERE k >", "SELECT k k2 FROM A a b", "SELECT TOP 3 k FROM A", "SELECT k FROM A)"):
        with pytest.raises(InputError) as caught:
            sql(text)
        assert caught.value.hint is None


def test_words_of_sql_may_be_names():
    assert sql("SELECT left('abc', 2) AS l, k AS on, x AS `where` FROM A").schema.names == ("l", "on", "where")
    assert sql("SELECT o.on FROM (SELECT k AS on FROM A) o") == mapped(A, on="k")
    assert sql("WITH session (a) AS (SELECT k FROM A) SELECT a FROM session").schema.names == ("a",)


def test_users_may_call_their_aggregates_as_other_systems_call_their_functions():
    catalog = Catalog({"A": A}, {}, {"Hop": RANGE})
    assert parse_query("SELECT hop(CAST(x AS BIGINT)) AS h FROM A", catalog).schema.names == ("h",)
