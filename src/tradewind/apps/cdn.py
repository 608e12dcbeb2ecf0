"""The request log of a content delivery network: a few domains get most requests, rows come a little out of order.

Domains follow Zipf's law, as the logs behind JetStream's published roll-up figures do. Each site has its own
favourites among them.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tradewind.algebra.schema import Schema
from tradewind.algebra.times import parse_timestamp
from tradewind.apps.folder import lay_out, write_as_they_are
from tradewind.apps.rehome import at_one_site
from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import Deployment

START = parse_timestamp("2026-01-01T12:00:00Z")
_SECOND = 1_000_000
_STATUSES = ((200, 90), (304, 4), (404, 3), (500, 1), (503, 2))


@dataclass(frozen=True, slots=True)
class Requests:
    """What the log looks like: how many domains, how skewed, over which time, how far out of order at most."""

    domains: int = 300
    skew: float = 1.1
    seconds: int = 180
    jitter: int = 5 * _SECOND
    clients: int = 2_000


USUAL = Requests()


def requests(site: str, rows: int, schema: Schema, seed: int, shape: Requests = USUAL) -> list[tuple[Any, ...]]:
    """The requests that one site logs, in the order of arrival, with the columns that the stream declares."""
    unknown = [name for name in schema.names if name not in _COLUMNS]
    if unknown:
        raise InputError(f"the request log has no column {unknown[0]!r}.", hint=f"it has {', '.join(_COLUMNS)}.")
    draw = random.Random(f"{seed}/{site}")
    pick = _domains(draw, shape)
    moments = sorted(draw.randrange(shape.seconds * _SECOND) for _ in range(rows))
    made = [_request(draw, pick, START + moment, shape) for moment in moments]
    made.sort(key=lambda row: row["ts"] + draw.randrange(shape.jitter))
    return [tuple(row[name] for name in schema.names) for row in made]


_COLUMNS = ("ts", "domain", "url", "client", "bytes", "status", "latency_ms")


def _request(draw: random.Random, pick: Callable[[], int], moment: int, shape: Requests) -> dict[str, Any]:
    domain = pick()
    statuses, weights = zip(*_STATUSES, strict=True)
    return {
        "ts": moment,
        "domain": f"site{domain:03}.example",
        "url": f"/{draw.randrange(1 + 2_000 // (1 + domain))}",
        "client": f"c{draw.randrange(shape.clients):05}",
        "bytes": round(draw.lognormvariate(9, 1.5)),
        "status": draw.choices(statuses, weights)[0],
        "latency_ms": round(draw.lognormvariate(3.5, 0.7)),
    }


def _domains(draw: random.Random, shape: Requests) -> Callable[[], int]:
    """Draws domains by Zipf's law; a tenth of the ranks are shuffled, so that sites differ."""
    weights = [1 / math.pow(rank, shape.skew) for rank in range(1, shape.domains + 1)]
    totals = list(itertools.accumulate(weights))
    order = list(range(shape.domains))
    for place in draw.sample(order, len(order) // 10):
        other = draw.randrange(len(order))
        order[place], order[other] = order[other], order[place]
    return lambda: draw.choices(order, cum_weights=totals)[0]


def prepare(folder: Path, seed: int, rows: int) -> Deployment:
    """Lay the deployment and a log of so many requests per site out in a folder; all of it is read at headquarters."""
    found = lay_out("cdn.yaml", folder)
    stream = found.streams["requests"]
    for site in stream.origins:
        logged = requests(site, rows, stream.source.schema, seed)
        write_as_they_are(found, "requests", site, logged, parts=10)
    return at_one_site(found, "hq")


PLAIN_TOP_DOMAINS = """
    SELECT minute, domain, hits FROM (
        SELECT *, row_number() OVER (PARTITION BY minute ORDER BY hits DESC, domain) AS place FROM (
            SELECT date_trunc('minute', ts) AS minute, domain, count(*) AS hits
            FROM requests WHERE status < 500 GROUP BY 1, 2))
    WHERE place <= 10
"""
"""The file's first question as someone would ask it of a table in Spark SQL."""
