"""Random joins of several streams whose pairs each have their own keys and bands, and the least that any plan costs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from random import Random

import yaml

from tradewind.frontends.deployment.check import load
from tradewind.frontends.deployment.deployment import Deployment

SHAPES = ("chain", "star", "cycle", "clique", "some")
ROW_BYTES = 60.0


def tied(shape: str, count: int, random: Random) -> list[tuple[int, int]]:
    """The pairs of streams that the query ties; each stream is tied to one before it."""
    chain = [(number - 1, number) for number in range(1, count)]
    match shape:
        case "chain":
            return chain
        case "star":
            return [(0, number) for number in range(1, count)]
        case "cycle":
            return sorted({*chain, (0, count - 1)})
        case "clique":
            return list(combinations(range(count), 2))
    tree = [(random.randrange(number), number) for number in range(1, count)]
    return sorted({*tree, *(pair for pair in combinations(range(count), 2) if random.random() < 0.4)})


@dataclass(frozen=True)
class Banded:
    """A join of streams s0, s1, … at sites n0, n1, …"""

    sites: int
    links: tuple[tuple[int, int, float], ...]
    origins: tuple[int, ...]
    rates: tuple[float, ...]
    pairs: tuple[tuple[int, int], ...]
    bands: tuple[tuple[int, int] | None, ...]
    """For each pair with a band, by how many seconds the second stream may be before and after the first one."""
    one_key: bool
    """Whether all streams have the same key; else each pair has its own."""
    selectivity: dict[tuple[int, int], float]
    sink: int

    def sql(self) -> str:
        """The query; its answer keeps all columns, so that each stream is as wide everywhere."""
        columns = [f"s{n}.{c} AS s{n}_{c}" for n in range(len(self.rates)) for c in self.columns(n)]
        text = f"SELECT {', '.join(columns)} FROM s0"
        for new in range(1, len(self.rates)):
            asked = []
            for (a, b), band in zip(self.pairs, self.bands, strict=True):
                if b == new:
                    key = "k" if self.one_key else f"k{a}{b}"
                    asked.append(f"s{a}.{key} = s{b}.{key}")
                    if band is not None:
                        low, high = (
                            f"s{a}.ts {sign} INTERVAL {by} SECONDS" for sign, by in zip("-+", band, strict=True)
                        )
                        asked.append(f"s{b}.ts BETWEEN {low} AND {high}")
            text += f" JOIN s{new} ON {' AND '.join(asked)}"
        return text

    def columns(self, number: int) -> list[str]:
        keys = ["k"] if self.one_key else [f"k{a}{b}" for a, b in self.pairs if number in (a, b)]
        return ["ts", *keys, "v"]

    def deployment(self) -> Deployment:
        """The same as a file says it."""
        types = {"ts": "TIMESTAMP", "v": "DOUBLE"}
        streams = {
            f"s{n}": {
                "schema": ", ".join(f"{name} {types.get(name, 'INT')}" for name in self.columns(n)),
                "time": "ts",
                "at": {f"n{self.origins[n]}": {"rows_per_second": rate, "row_bytes": ROW_BYTES + n}},
            }
            for n, rate in enumerate(self.rates)
        }
        query = {
            "sql": self.sql(),
            "selectivity": {f"s{a},s{b}": share for (a, b), share in self.selectivity.items()},
            "deliver": {"site": f"n{self.sink}", "format": "parquet", "path": "out"},
        }
        links = [{"between": [f"n{a}", f"n{b}"], "mbps": 1e12, "ms": 1, "usd_per_gb": p} for a, b, p in self.links]
        data = {
            "sites": {f"n{site}": {"cores": 1_000_000} for site in range(self.sites)},
            "links": links,
            "streams": streams,
            "queries": {"q": query},
            "objective": "dollars",
        }
        return load(yaml.safe_dump(data, sort_keys=False))

    def flow(self, some: frozenset[int]) -> float:
        """Bytes per second of the join of some streams: all rates, all selectivities, all widths."""
        rows = math.prod(self.rates[n] for n in some)
        rows *= math.prod(share for (a, b), share in self.selectivity.items() if {a, b} <= some)
        return rows * sum(ROW_BYTES + n for n in some)

    def connected(self, some: frozenset[int]) -> bool:
        """Whether keys or bands tie the streams: what equals the same is equal, so one key ties all."""
        if self.one_key:
            return True
        reached = {min(some)}
        while more := {m for pair in self.pairs for m in pair if set(pair) <= some and reached & set(pair)} - reached:
            reached |= more
        return reached == some

    def distances(self) -> list[list[float]]:
        """What a byte per second costs in an hour between all sites, by Floyd and Warshall."""
        found = [[0.0 if a == b else math.inf for b in range(self.sites)] for a in range(self.sites)]
        for a, b, price in self.links:
            found[a][b] = found[b][a] = min(found[a][b], price * 3600 / 1e9)
        for middle, a, b in product(range(self.sites), repeat=3):
            found[a][b] = min(found[a][b], found[a][middle] + found[middle][b])
        return found

    def least(self) -> float:
        """The least cost of all trees of joins, each join at any site: every choice is tried."""
        far, everywhere = self.distances(), range(self.sites)

        @cache
        def made(some: frozenset[int], site: int) -> float:
            if len(some) == 1:
                return 0.0 if self.origins[min(some)] == site else math.inf
            return min(had(left, site) + had(some - left, site) for left in self.cuts(some))

        @cache
        def had(some: frozenset[int], site: int) -> float:
            rate = self.flow(some)
            return min(made(some, start) + rate * far[start][site] for start in everywhere)

        return had(frozenset(range(len(self.rates))), self.sink)

    def cuts(self, some: frozenset[int]) -> Iterator[frozenset[int]]:
        """The first of two halves that are each tied together, as is their whole."""
        first, *rest = sorted(some)
        for size in range(len(rest)):
            for more in combinations(rest, size):
                left = frozenset([first, *more])
                if self.connected(left) and self.connected(some - left):
                    yield left

    def trees(self, some: frozenset[int]) -> Iterator[object]:
        """Every tree of joins of some streams: a number, or two trees."""
        if len(some) == 1:
            yield min(some)
        for left in self.cuts(some) if len(some) > 1 else ():
            yield from product(self.trees(left), self.trees(some - left))


def random_banded(seed: int, *, most_streams: int = 6, most_sites: int = 8) -> Banded:
    """The case of a seed."""
    random = Random(seed)
    count, sites = random.randint(2, most_streams), random.randint(2, most_sites)
    pairs = tied(SHAPES[seed % len(SHAPES)], count, random)
    links = [(random.randrange(site), site, round(random.uniform(0.01, 1), 3)) for site in range(1, sites)]
    joined = {(a, b) for a, b, _ in links}
    more = [pair for pair in combinations(range(sites), 2) if pair not in joined and random.random() < 0.2]
    links += [(*pair, round(random.uniform(0.01, 1), 3)) for pair in more]
    together = random.random() < 0.3  # several streams at one site, the others far away
    bare = random.choice([0.0, 0.0, 0.25, 1.0])
    return Banded(
        sites,
        tuple(links),
        tuple(random.randrange(2 if together else sites) for _ in range(count)),
        tuple(round(10 ** random.uniform(0, 1.5), 2) for _ in range(count)),
        tuple(pairs),
        tuple(None if random.random() < bare else (random.randint(0, 5), random.randint(0, 9)) for _ in pairs),
        random.random() < 0.5,
        {pair: 10 ** random.uniform(-4, 0) for pair in pairs if random.random() < 0.9} or {pairs[0]: 0.5},
        random.randrange(sites),
    )
