"""The request logs of a content delivery network's edges: one Parquet file for each minute at each edge.

Domains and URLs follow the laws of `law`; each region has its own order among the most popular domains. Requests of a
minute come a little out of order, as servers write them, and all of them are in that minute's file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tradewind.algebra.times import parse_timestamp
from tradewind.apps.cdn.law import DOMAINS, URLS, Ranks, ranks
from tradewind.cost.groups import spectrum
from tradewind.errors import InputError

START = parse_timestamp("2026-01-01T12:00:00Z")
MINUTE = 60_000_000
STATUSES = np.array([200, 304, 206, 404, 503, 500], dtype=np.int32)
"""From the most frequent to the rarest."""
STATUS_SKEW = 3.0
CLIENTS_PER_RATE = 60
"""Different clients for each request a second."""
_FAVOURITES = 20
"""So many of the most popular domains have another order in each region."""
_DISORDER = 2_000_000
"""Servers write a request down at most so many microseconds after a later one."""
_MIDDLE_LATENCY = {"eu": 31.0, "us": 27.0, "ap": 44.0}
_SLOW = 4.0
"""Failing servers answer so many times slower."""
_LARGEST_SCALE = 16
_ADDRESSES = 2**20
"""So many addresses are for the clients of an edge."""
_FIRST = (
    "amber", "birch", "coral", "dusty", "ember", "frosty", "golden", "hazel", "ivory", "jade", "kindly", "lunar",
    "mossy", "noble", "ocean", "plain", "quiet", "rapid", "silver", "tidal",
)  # fmt: skip
_SECOND = (
    "anchor", "barn", "cabin", "dune", "elm", "field", "garden", "harbor", "island", "jetty", "kettle", "lantern",
    "meadow", "north", "orchard", "pier", "quarry", "river", "stone", "tower",
)  # fmt: skip
_PATHS = ("/img/", "/api/", "/video/", "/js/", "/news/")


@dataclass(frozen=True, slots=True)
class Edge:
    """A site that logs requests."""

    name: str
    region: str
    rows_per_second: float


EDGES = (
    Edge("ams", "eu", 820.0),
    Edge("waw", "eu", 480.0),
    Edge("mad", "eu", 550.0),
    Edge("nyc", "us", 900.0),
    Edge("chi", "us", 620.0),
    Edge("sea", "us", 480.0),
    Edge("sin", "ap", 700.0),
    Edge("tyo", "ap", 640.0),
    Edge("syd", "ap", 360.0),
)


ONE_A_REGION = tuple({edge.region: edge for edge in reversed(EDGES)}.values())[::-1]
"""The first edge of each region: enough where each site is a process of its own."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """How much is logged: for how many minutes, how many times the usual rates, and at which edges."""

    minutes: int = 6
    scale: float = 1.0
    edges: tuple[Edge, ...] = EDGES

    def __post_init__(self) -> None:
        if self.minutes < 1 or not 0 < self.scale <= _LARGEST_SCALE:
            raise InputError(
                f"there is no log of {self.minutes} minutes at {self.scale:g} times the usual rates.",
                hint=f"at least a minute, at a scale above 0 and at most {_LARGEST_SCALE}.",
            )

    def rate(self, edge: Edge) -> float:
        """The requests a second at an edge."""
        return edge.rows_per_second * self.scale

    def clients(self, edge: Edge) -> int:
        """The clients whose nearest edge it is."""
        return max(1, round(CLIENTS_PER_RATE * self.rate(edge)))


USUAL = Traffic()


def minutes_of(edge: Edge, seed: int, traffic: Traffic = USUAL) -> Iterator[pa.Table]:
    """The log of an edge minute by minute, the same for the same seed."""
    draw = np.random.default_rng([seed, EDGES.index(edge)])
    log = _Log(edge, traffic.rate(edge), _favourites(edge.region, seed), _clients(edge, traffic))
    for minute in range(traffic.minutes):
        yield log.requests(START + minute * MINUTE, draw)


def write(folder: Path, seed: int, traffic: Traffic = USUAL) -> int:
    """Write all logs, each edge's into a folder of its name below the given one; how many requests there are."""
    rows = 0
    for edge in traffic.edges:
        target = folder / edge.name
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise InputError("there are files already.", where=str(target), hint="give an empty folder.")
        for minute, table in enumerate(minutes_of(edge, seed, traffic)):
            path = target / f"minute-{minute:03}.parquet"
            pq.write_table(table, path)
            # Who reads a folder as a stream takes its files by the time of their last change.
            os.utime(path, ((START + (minute + 1) * MINUTE) / 1e6,) * 2)
            rows += table.num_rows
    return rows


@dataclass(frozen=True, eq=False)
class _Log:
    """What the requests of an edge are drawn from."""

    edge: Edge
    rate: float
    favourites: Ranks
    clients: pa.Array

    def requests(self, start: int, draw: np.random.Generator) -> pa.Table:
        """The requests of the minute that starts then, in the order in which they are written down."""
        rows = max(1, int(draw.poisson(self.rate * 60)))
        times = start + draw.integers(0, MINUTE, rows)
        times = times[np.argsort(times + draw.integers(0, _DISORDER, rows), kind="stable")]
        status = STATUSES[ranks(spectrum(float(len(STATUSES)), STATUS_SKEW), draw, rows)]
        slow = np.where(status >= 500, _SLOW, 1.0) * _MIDDLE_LATENCY[self.edge.region]
        return pa.table({
            "ts": pa.array(times).cast(pa.timestamp("us", tz="UTC")),
            "region": pa.array([self.edge.region]).take(pa.array(np.zeros(rows, dtype=np.int64))),
            "domain": _domain_names(self._domains(draw, rows)),
            "url": _urls(URLS.drawn(draw, rows)),
            "client": self.clients.take(pa.array(draw.integers(0, len(self.clients), rows))),
            "bytes": pa.array(np.rint(draw.lognormal(9.0, 1.5, rows)).astype(np.int64)),
            "status": pa.array(status),
            "latency_ms": pa.array(np.rint(slow * draw.lognormal(0.0, 0.6, rows)).astype(np.int32)),
        })  # fmt: skip

    def _domains(self, draw: np.random.Generator, rows: int) -> Ranks:
        found = DOMAINS.drawn(draw, rows)
        most = found < len(self.favourites)
        found[most] = self.favourites[found[most]]
        return found


def _favourites(region: str, seed: int) -> Ranks:
    """Which domain stands at each of the first ranks in a region."""
    draw = np.random.default_rng([seed, *region.encode()])
    return np.asarray(draw.permutation(_FAVOURITES), dtype=np.int64)


@cache
def domain_name(rank: int) -> str:
    """A name for the domain of a rank, counted from 0.

    >>> domain_name(0), domain_name(1), domain_name(5000)
    ('amber-anchor.example', 'birch-barn.example', 'amber-kettle-c.example')
    """
    first, rest = rank % len(_FIRST), rank // len(_FIRST)
    second, number = (rest + first) % len(_SECOND), rest // len(_SECOND)
    return f"{_FIRST[first]}-{_SECOND[second]}{f'-{number:x}' if number else ''}.example"


def _domain_names(domains: Ranks) -> pa.Array:
    met, places = np.unique(domains, return_inverse=True)
    return pa.array([domain_name(int(rank)) for rank in met]).take(pa.array(places))


def _urls(numbers: Ranks) -> pa.Array:
    """Paths of a kind that the number tells, and the number."""
    kinds = pa.array(_PATHS).take(pa.array(numbers % len(_PATHS)))
    return pc.binary_join_element_wise(kinds, pc.cast(pa.array(numbers), pa.string()), "")


def _clients(edge: Edge, traffic: Traffic) -> pa.Array:
    """The addresses of an edge's clients, each edge's in a network of its own, in no order."""
    numbers = np.arange(traffic.clients(edge), dtype=np.int64) * 7 % _ADDRESSES + EDGES.index(edge) * _ADDRESSES
    parts = [pc.cast(pa.array(numbers // size % 256), pa.string()) for size in (65_536, 256, 1)]
    return pc.binary_join_element_wise("10", *parts, ".")
