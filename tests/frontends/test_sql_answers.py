"""Answers to SQL beside those of SQLite, where both mean the same; as built, and after the rules."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter

import pytest

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.core import Source
from tradewind.algebra.schema import parse_schema
from tradewind.frontends.catalog import Catalog
from tradewind.frontends.sql.query import parse_query
from tradewind.interpreter.run import answer
from tradewind.rewrites.engine import rewrite

MINUTE = 60_000_000
CATALOG = Catalog(
    {
        "a": Source("a", parse_schema("ts TIMESTAMP, k INT, x INT, s STRING", "ts")),
        "b": Source("b", parse_schema("ts TIMESTAMP, k INT, y INT, t STRING", "ts")),
    }
)
TEXTS = ("ab", "ba", "abc", "b", "", None)

SAME = [
    # Rows.
    "SELECT x, s FROM a WHERE k = 1 OR x > 3",
    "SELECT k FROM a WHERE NOT (x > 2 AND s = 'ab')",
    "SELECT x FROM a WHERE x IN (1, 3, NULL)",
    "SELECT x FROM a WHERE x NOT IN (1, 3)",
    "SELECT x FROM a WHERE x NOT IN (1, NULL) OR k = 1",
    "SELECT x FROM a WHERE x BETWEEN 1 AND 3 AND k NOT BETWEEN 2 AND 3",
    "SELECT s FROM a WHERE s LIKE 'a%' OR s LIKE '_a'",
    "SELECT s FROM a WHERE s NOT LIKE '%b%'",
    "SELECT x, k FROM a WHERE x IS DISTINCT FROM k",
    "SELECT coalesce(x, k, -1) AS v, nullif(x, 1) AS n, s || '!' AS e FROM a",
    "SELECT CASE WHEN x > 2 THEN 'big' WHEN x IS NULL THEN 'none' ELSE 'small' END AS size FROM a",
    "SELECT CASE k WHEN 1 THEN x WHEN 2 THEN -x END AS v FROM a",
    "SELECT x + k * 2 - 1 AS v, x % 2 AS odd, upper(s) AS u, length(s) AS l FROM a WHERE x >= 0",
    "SELECT DISTINCT k, s FROM a",
    # Groups.
    "SELECT count(*) AS n, count(x) AS known, sum(x) AS total, min(s) AS first, max(x) AS most FROM a",
    "SELECT k, count(*) AS n, sum(x) AS total, avg(x) AS mean, count(DISTINCT s) AS texts FROM a GROUP BY k",
    "SELECT k, sum(x) AS total FROM a WHERE s <> 'b' GROUP BY k HAVING count(*) > 1 AND sum(x) IS NOT NULL",
    "SELECT x % 2 AS odd, max(k) AS most FROM a GROUP BY x % 2",
    "SELECT s, k, min(x) + max(x) AS both FROM a GROUP BY s, k HAVING min(x) < max(x) OR max(x) IS NULL",
    "SELECT sum(CASE WHEN x > 2 THEN 1 ELSE 0 END) AS big, count(*) FILTER (WHERE x > 2) AS again FROM a",
    "SELECT n, count(*) AS times FROM (SELECT k, count(*) AS n FROM a GROUP BY k) q GROUP BY n",
    # Joins.
    "SELECT a.x, b.y FROM a JOIN b ON a.k = b.k",
    "SELECT a.x, b.y FROM a, b WHERE a.k = b.k AND a.x + b.y > 3",
    "SELECT a.x, b.y FROM a LEFT JOIN b ON a.k = b.k",
    "SELECT a.x, b.y FROM a LEFT JOIN b ON a.k = b.k AND b.y > 2",
    "SELECT a.x, b.y FROM a LEFT JOIN b ON a.k = b.k AND b.y > a.x",
    "SELECT a.x, b.y FROM a LEFT JOIN b ON a.k = b.k WHERE b.y IS NULL",
    "SELECT a.x, b.y FROM a RIGHT JOIN b ON a.k = b.k AND a.x > 2",
    "SELECT a.x, b.y FROM a FULL JOIN b ON a.k = b.k AND a.s = b.t",
    "SELECT a.x, b.y FROM a JOIN b ON upper(a.s) = upper(b.t) AND a.x + 1 = b.y",
    "SELECT a.x, b.y FROM a LEFT JOIN b ON a.s || 'c' = b.t",
    "SELECT a.x, b.y FROM a FULL JOIN b ON a.x % 3 = b.y % 3 AND a.k = b.k",
    "SELECT a.x, b.y FROM a JOIN b ON b.y BETWEEN a.x - 1 AND a.x + 1",
    "SELECT a.x, b.y FROM a JOIN b ON a.k = b.k AND b.y - a.x < 2 AND b.ts >= a.ts",
    "SELECT k, x, y FROM a JOIN b USING (k)",
    "SELECT k, x, y FROM a FULL JOIN b USING (k)",
    "SELECT p.x, q.x AS other FROM a p JOIN a q ON p.k = q.k AND p.x < q.x",
    "SELECT a.k, count(b.y) AS n, sum(b.y) AS total FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.k",
    "SELECT a.x, b.y, c.x AS z FROM a JOIN b ON a.k = b.k LEFT JOIN a c ON c.k = b.k AND c.x > 2",
    # Several queries in one.
    "SELECT x, s FROM a UNION ALL SELECT y, t FROM b WHERE y > 1 UNION ALL SELECT k, s FROM a",
    "WITH q AS (SELECT k, sum(x) AS total FROM a GROUP BY k) SELECT l.k, r.total FROM q l JOIN q r ON l.k = r.total",
    "WITH q AS (SELECT * FROM a WHERE x > 0), r(k, n) AS (SELECT k, count(*) FROM q GROUP BY k) SELECT * FROM r",
    "SELECT m FROM (SELECT k, max(x) AS m FROM (SELECT * FROM a WHERE s IS NOT NULL) p GROUP BY k) q WHERE m > 1",
    # The first of all, and of each.
    "SELECT x, k, s FROM a ORDER BY x DESC, k, s LIMIT 4",
    "SELECT DISTINCT k FROM a ORDER BY k LIMIT 2",
    "SELECT k, count(*) AS n FROM a GROUP BY k ORDER BY n DESC, k LIMIT 2",
    "SELECT x FROM a UNION ALL SELECT y FROM b ORDER BY 1 DESC LIMIT 5",
    """SELECT k, x, rn FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY x DESC, s, ts) AS rn FROM a) q
       WHERE rn <= 2 AND x > 1""",
]
"""Questions in words that both understand."""

OTHER_WORDS = [
    (
        "SELECT k, x, s FROM a QUALIFY row_number() OVER (PARTITION BY k ORDER BY x, s, ts) <= 2 AND x > 1",
        """SELECT k, x, s FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY x, s, ts) AS rn FROM a)
           WHERE rn <= 2 AND x > 1""",
    ),
    (
        "SELECT k, count(*) AS n FROM a GROUP BY k QUALIFY row_number() OVER (ORDER BY n DESC, k) <= 3 AND max(x) > 2",
        """SELECT k, n FROM (SELECT k, count(*) AS n, max(x) AS m FROM a GROUP BY k ORDER BY n DESC, k LIMIT 3)
           WHERE m > 2""",
    ),
    (
        "SELECT window.start, k, count(*) AS n, sum(x) AS total FROM a GROUP BY window(ts, '1 minute'), k",
        f"SELECT ts / {MINUTE} * {MINUTE} AS start, k, count(*), sum(x) FROM a GROUP BY 1, 2",
    ),
    (
        "SELECT window.end, max(x) AS m FROM a WHERE k > 0 GROUP BY window(ts, '2 minutes') HAVING count(*) > 1",
        f"SELECT (ts / {2 * MINUTE} + 1) * {2 * MINUTE}, max(x) FROM a WHERE k > 0 GROUP BY 1 HAVING count(*) > 1",
    ),
    (
        "SELECT window.start, x, k FROM (SELECT * FROM a) GROUP BY window(ts, '1 minute'), x, k ORDER BY x, k LIMIT 2",
        f"""SELECT start, x, k FROM (SELECT *, row_number() OVER (PARTITION BY start ORDER BY x, k) AS rn
            FROM (SELECT DISTINCT ts / {MINUTE} * {MINUTE} AS start, x, k FROM a)) WHERE rn <= 2""",
    ),
    (
        "SELECT a.x, b.y FROM a LEFT JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 MINUTE",
        f"SELECT a.x, b.y FROM a LEFT JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + {MINUTE}",
    ),
    (
        "SELECT a.x, b.y FROM a FULL JOIN b ON date_trunc('minute', a.ts) = date_trunc('minute', b.ts)",
        f"SELECT a.x, b.y FROM a FULL JOIN b ON a.ts / {MINUTE} = b.ts / {MINUTE}",
    ),
    (  # What the error about conditions on the kept side of an outer join advises.
        "SELECT a.x, b.y FROM a LEFT JOIN b ON CASE WHEN a.x > 2 THEN a.k END = b.k",
        "SELECT a.x, b.y FROM a LEFT JOIN b ON a.k = b.k AND a.x > 2",
    ),
]
"""Questions, and what SQLite is asked instead."""


def rows(seed):
    """Rows of both streams, by stream."""
    chance = random.Random(seed)

    def number():
        return None if chance.random() < 0.15 else chance.randrange(5)

    def some():
        count = chance.choice((1, 6, 12))
        return [
            (chance.randrange(4 * MINUTE) // 10**7 * 10**7, number(), number(), chance.choice(TEXTS))
            for _ in range(count)
        ]

    return {"a": some(), "b": some()}


@pytest.fixture(scope="module")
def cases():
    """Some data, each with an SQLite that holds it."""
    found = []
    for seed in range(20):
        data = rows(seed)
        base = sqlite3.connect(":memory:")
        base.execute("CREATE TABLE a (ts INTEGER, k INTEGER, x INTEGER, s TEXT)")
        base.execute("CREATE TABLE b (ts INTEGER, k INTEGER, y INTEGER, t TEXT)")
        for name, given in data.items():
            base.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", given)
        found.append((data, base))
    yield found
    for _, base in found:
        base.close()


@pytest.mark.parametrize(("text", "asked"), [*((text, text) for text in SAME), *OTHER_WORDS])
def test_answers_are_those_of_sqlite(text, asked, cases):
    graph = Graph.of(out=parse_query(text, CATALOG))
    better = rewrite(graph).graph
    seen = 0
    for data, base in cases:
        expected = Counter(base.execute(asked).fetchall())
        given = {name: {"site": data[name]} for name in graph.sources()}
        assert answer(graph, given)["out"] == expected
        assert answer(better, given)["out"] == expected
        seen += len(expected)
    assert seen


def test_there_is_no_answer_about_no_rows():
    graph = Graph.of(out=parse_query("SELECT count(*) AS n FROM a WHERE x > 1000", CATALOG))
    assert answer(graph, {"a": {"site": [(0, 1, 1, "a")]}})["out"] == Counter()
