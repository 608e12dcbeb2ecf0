"""DuckDB's opinion on Nexmark: each question in SQL of its own, put differently than in the deployment files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

ANSWERS: dict[str, str] = {
    "q0": "SELECT auction, bidder, price, channel, url, dateTime FROM bid",
    "q1": "SELECT auction, bidder, price::DECIMAL(18,0) * 0.908::DECIMAL(4,3), dateTime FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction - 123 * (auction // 123) = 0",
    "q3": """
        SELECT name, city, state, auction.id
        FROM (SELECT * FROM person WHERE state = 'OR' OR state = 'ID' OR state = 'CA') AS local, auction
        WHERE auction.seller = local.id AND NOT category <> 10
    """,
    "q4": """
        SELECT category, sum(final) / count(final)
        FROM (
            SELECT category, (
                SELECT max(price) FROM bid
                WHERE bid.auction = auction.id AND NOT bid.dateTime < auction.dateTime AND NOT bid.dateTime > expires
            ) AS final
            FROM auction
        )
        GROUP BY category HAVING count(final) > 0
    """,
    "q5": """
        SELECT starts, auction, bids
        FROM (
            SELECT starts, auction, count(*) AS bids, rank() OVER (PARTITION BY starts ORDER BY count(*) DESC) AS place
            FROM (
                SELECT auction, time_bucket(INTERVAL 2 SECONDS, dateTime) - back * INTERVAL 2 SECONDS AS starts
                FROM bid, range(5) AS steps(back)
            )
            GROUP BY starts, auction
        )
        WHERE place = 1
    """,
    "q6": """
        SELECT seller, list_avg(list(final ORDER BY expires DESC, id DESC)[1:10])
        FROM (
            SELECT auction.id, seller, expires, first(price ORDER BY price DESC) AS final
            FROM bid, auction
            WHERE bid.auction = auction.id AND bid.dateTime BETWEEN auction.dateTime AND expires
            GROUP BY ALL
        )
        GROUP BY seller
    """,
    "q7": """
        SELECT starts, auction, bidder, price, dateTime
        FROM (SELECT *, time_bucket(INTERVAL 10 SECONDS, dateTime) AS starts FROM bid)
        QUALIFY rank() OVER (PARTITION BY starts ORDER BY price DESC) = 1
    """,
    "q8": """
        SELECT time_bucket(INTERVAL 10 SECONDS, dateTime) AS starts, id, name
        FROM person
        WHERE EXISTS (
            FROM auction
            WHERE seller = person.id
              AND time_bucket(INTERVAL 10 SECONDS, auction.dateTime) = time_bucket(INTERVAL 10 SECONDS, person.dateTime)
        )
    """,
}
"""By the name of the query; the columns stand in the order of the deployment file's."""


def duckdb_answer(query: str, tables: Mapping[str, Any]) -> Counter[tuple[Any, ...]]:
    """What DuckDB answers on the events of `tradewind.apps.nexmark.events`."""
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, _without_zones(table))
        return bag(connection.execute(ANSWERS[query]).fetchall())


def bag(rows: Iterable[Iterable[Any]]) -> Counter[tuple[Any, ...]]:
    """Rows of the interpreter, DuckDB, Spark or Arrow, in one spelling, by how many there are of each."""
    return Counter(tuple(_value(value) for value in row) for row in rows)


def _value(value: Any) -> Any:
    """Times as microseconds since 1970, numbers as Python's (which are equal across types), structs as tuples."""
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return (moment - _EPOCH) // timedelta(microseconds=1)
    if isinstance(value, dict):
        return tuple(_value(part) for part in value.values())
    if isinstance(value, list | tuple):
        return tuple(_value(part) for part in value)
    return value.item() if hasattr(value, "item") else value


def _without_zones(table: Any) -> Any:
    """The table with plain timestamps, which DuckDB computes with as they are; all are in UTC."""
    fields = [
        pa.field(field.name, pa.timestamp("us") if pa.types.is_timestamp(field.type) else field.type)
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))
