"""No attack becomes a graph, and no text makes anything but an error meant for the user."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.frontends.attacks import AGGREGATES, EXPRESSIONS, PLACES, QUERIES, queries
from tests.frontends.relations import REQUESTS, sql
from tradewind.algebra.aggregates import parse_aggregate
from tradewind.algebra.expressions.typing import parse_expression
from tradewind.errors import InputError

HARMLESS = [place for place in PLACES if not place.endswith(("ON {}", "<= {}"))]


def test_there_are_enough_attacks():
    assert len({*EXPRESSIONS, *AGGREGATES, *QUERIES}) >= 200


@pytest.mark.parametrize("place", ["{}", *PLACES])
def test_no_attack_is_a_query(place):
    for text in QUERIES if place == "{}" else [place.format(text) for text in EXPRESSIONS]:
        with pytest.raises(InputError):
            sql(text)


def test_no_attack_inside_an_aggregate_is_a_query():
    for text in queries():
        with pytest.raises(InputError):
            sql(text)


@pytest.mark.parametrize("place", HARMLESS)
def test_the_places_are_fine_without_an_attack(place):
    text = "domain" if "HAVING" in place else "a.url" if "JOIN" in place else "url"
    assert sql(place.format(text)).schema.names


@pytest.mark.parametrize("text", [*EXPRESSIONS, *AGGREGATES, *QUERIES])
def test_no_attack_is_an_expression_or_an_aggregate(text):
    with pytest.raises(InputError):
        parse_expression(text, REQUESTS.schema)
    with pytest.raises(InputError):
        parse_aggregate(text, REQUESTS.schema)


_WORDS = re.split(
    r"\s+",
    """SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT QUALIFY WITH AS JOIN LEFT RIGHT FULL INNER CROSS ON USING UNION
ALL DISTINCT AND OR NOT IN IS NULL LIKE BETWEEN CASE WHEN THEN ELSE END CAST ( ) ( ) ( ) , , , . * * + - / = <
<= > >= <> requests A B C A.k B.k k x y ts bytes domain url status window window.start session_window
window(ts,'60s') count(*) sum(bytes) max row_number() OVER PARTITION 1 2 10 'x' '60s' INTERVAL MINUTES TRUE rn
hits prices EXISTS FILTER INT STRING ; :: -> [ ] { } ? : @ $ % | || & ^ ~ ! `q` "q" /* */ -- \\ reflect EXCEPT
INTERSECT LATERAL VIEW VALUES TABLE PIVOT OFFSET FOR RECURSIVE NATURAL X'1' 1e400 0.5 2147483648 DESC ASC NULLS
FIRST LAST ROWS TABLESAMPLE ROLLUP CUBE DATE TIMESTAMP array struct date_trunc('hour',ts) spread""",
)
_FRAMES = (
    "{}", "SELECT {}", "SELECT {} FROM {} WHERE {}", "SELECT {}, count(*) AS n FROM requests GROUP BY {} HAVING {}",
    "SELECT * FROM A JOIN B ON {} WHERE {}", "SELECT {} FROM requests ORDER BY {} LIMIT 3", "SELECT * FROM A {}",
    "WITH q AS (SELECT {} FROM A) SELECT * FROM q {}", "SELECT * FROM requests QUALIFY row_number() OVER ({}) <= 3",
    "SELECT * FROM (SELECT *, row_number() OVER (ORDER BY {}) AS rn FROM A) WHERE rn <= 3 {}",
    "SELECT k FROM A UNION ALL SELECT {} FROM B {}",
)  # fmt: skip
_soup = st.lists(st.sampled_from(_WORDS), max_size=6).map(" ".join)


@st.composite
def _texts(draw):
    text = draw(st.sampled_from(_FRAMES))
    while "{}" in text:
        text = text.replace("{}", draw(_soup).replace("{}", "{ }"), 1)
    return text


@settings(max_examples=400, deadline=None)
@given(_texts())
def test_soup_of_words_is_a_query_or_an_error(text):
    with suppress(InputError):
        assert sql(text).schema.names


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_a_query_or_an_error(text):
    with suppress(InputError):
        sql(text)
