"""Dashboards over one log: many aggregates by few columns, in a few windows, that share partials.

A hundred queries of the kind that panels ask: counts, sums, distinct clients and quantiles of a request log, by some of
its columns, per minute, five minutes or hour, for all requests or for failed ones, delivered to a few places.
"""

from __future__ import annotations

import random

_SCHEMA = (
    "ts TIMESTAMP, service STRING, status INT, method STRING, country STRING, client STRING, bytes BIGINT, "
    "latency_ms INT"
)
_KEYS = (("status",), ("country",), ("method",), ("status", "country"), ("service",), ("service", "status"))
_WINDOWS = ("1 minute", "5 minutes", "1 hour")
_FUNCTIONS = (
    "count(*) AS hits",
    "sum(bytes) AS bytes",
    "max(latency_ms) AS slowest",
    "avg(latency_ms) AS latency",
    "approx_count_distinct(client) AS clients",
)
_CONDITIONS = ("", "WHERE status >= 500", "WHERE method = 'GET'", "WHERE country = 'NL'")


def dashboards(queries: int = 100, seed: int = 0, edges: int = 6) -> str:
    """A deployment file with so many panels over one log that arises at some edge sites."""
    chance = random.Random(seed)
    sinks = ("dc-1", "dc-2", "hq")
    lines = ["sites:", *(f"  edge-{n}: {{cores: 4, region: r{n % 2}}}" for n in range(1, edges + 1))]
    lines += [
        "  dc-1: {cores: 32, region: r1}",
        "  dc-2: {cores: 32, region: r0}",
        "  hq: {cores: 32, region: hq}",
        "links:",
    ]
    for number in range(1, edges + 1):
        lines.append(
            f"  - {{between: [edge-{number}, dc-{1 + (number + 1) % 2}], mbps: 1000, ms: 10, usd_per_gb: 0.02}}"
        )
    lines += [
        "  - {between: [dc-1, hq], mbps: 10000, ms: 40, usd_per_gb: 0.05}",
        "  - {between: [dc-2, hq], mbps: 10000, ms: 40, usd_per_gb: 0.05}",
        "streams:",
        "  requests:",
        f"    schema: {_SCHEMA}",
        "    time: ts",
        "    distinct: {service: 200, status: 12, method: 5, country: 120, client: 1000000}",
        "    at:",
        *(f"      edge-{n}: {{rows_per_second: 5000, row_bytes: 60}}" for n in range(1, edges + 1)),
        "queries:",
    ]
    for number in range(queries):
        keys, window = chance.choice(_KEYS), chance.choice(_WINDOWS)
        functions = ", ".join(chance.sample(_FUNCTIONS, chance.choice((1, 1, 2, 3))))
        lines += [
            f"  panel_{number}:",
            f"    sql: {_sql(', '.join(keys), functions, chance.choice(_CONDITIONS), window)}",
            f"    deliver: {{site: {chance.choice(sinks)}}}",
            "    fresh_within: 30 seconds",
        ]
    return "\n".join([*lines, "objective: dollars", ""])


def _sql(keys: str, functions: str, condition: str, window: str) -> str:
    what = f"SELECT window.start AS at, {keys}, {functions} FROM requests {condition}"
    return f"{what} GROUP BY window(ts, '{window}'), {keys}"
