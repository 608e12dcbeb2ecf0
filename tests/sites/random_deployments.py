"""Random graphs over random networks as deployments that run: their sites, links, files and rows."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from tests.random_data import Rows, random_data
from tests.random_graphs import ORIGINS, random_graph
from tests.spark.comparing import differences, exactly
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.core import Source
from tradewind.algebra.properties import order_sensitive
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BIGINT
from tradewind.frontends.catalog import Catalog
from tradewind.frontends.deployment.deployment import DeclaredStream, Deployment, Query
from tradewind.frontends.deployment.model import Deliver, Link, Origin, Site
from tradewind.interpreter.checking import canonical
from tradewind.interpreter.run import Run, Weighted
from tradewind.runtime.answers import answer_of
from tradewind.runtime.deployment import runnable
from tradewind.spark.columns import WEIGHT
from tradewind.spark.types import to_arrow

SHAPES = ("chain", "star", "mesh")
PLANNERS = ("exact", "exact", "ship-all", "phased", "bottom-up")


@dataclass(frozen=True)
class Case:
    """A deployment with its rows, and what the interpreter says to it."""

    found: Deployment
    planner: str
    expected: dict[str, Counter]

    @property
    def base(self) -> Path:
        return Path(self.found.name).parent

    def differences(self) -> dict[str, tuple[list, list]]:
        """What the delivered answers lack and have too much, by query; and rows that are not final."""
        wrong = {}
        for name, query in self.found.queries.items():
            files = list((self.base / "out" / name).glob("batch-*"))
            delivered = answer_of(name, query, self.base) if files else Counter()
            found = Counter({row[:-1]: weight for row, weight in delivered.items()})
            missing, extra = differences(self.expected[name], found)
            open_ = [row for row in delivered if not row[-1]]
            if missing or extra or open_:
                wrong[name] = (missing, extra + open_)
        return wrong


def deployment_after(seed: int, step: int, folder: Path) -> Case:
    """The first case from a seed on, step by step: not every seed makes one."""
    while True:
        place = folder / str(seed)
        place.mkdir()
        case = random_deployment(seed, place)
        if case is not None:
            return case
        seed += step


def random_deployment(seed: int, folder: Path) -> Case | None:
    """None where no plan need give the same answer, since the order in which rows come together decides it."""
    chance = random.Random(seed)
    graph = exactly(random_graph(chance))
    if any(not source.origins for source in graph.sources().values()) or any(map(order_sensitive, graph)):
        return None
    names = [*ORIGINS, "dc1", "dc2", "hq"][: chance.randint(3, 6)]
    data = random_data(graph, chance, most=16)
    streams = {name: _stream(name, source, data, folder, chance) for name, source in graph.sources().items()}
    queries = {
        name: Query(node, Deliver(site=chance.choice(names), format="parquet", path=f"out/{name}"))
        for name, node in graph.results
    }
    found = Deployment(
        str(folder / f"random-{seed}.yaml"),
        {name: Site(cores=chance.randint(1, 4)) for name in names},
        _links(names, chance),
        streams,
        queries,
        Catalog({}, {}, {}),
        chance.choice(("dollars", "bytes")),
    )
    return Case(found, chance.choice(PLANNERS), _answers(graph, data))


def _stream(name: str, source: Source, data: Rows, folder: Path, chance: random.Random) -> DeclaredStream:
    origins = {}
    for origin in source.origins:
        place = folder / "data" / name / origin
        place.mkdir(parents=True)
        rows = data[name].get(origin, [])
        files = chance.randint(1, 3)
        size = -(-len(rows) // files) or 1
        for number in range(files):
            _write(place / f"{number}.parquet", rows[number * size : (number + 1) * size], source)
            os.utime(place / f"{number}.parquet", (number + 1,) * 2)
        options = {"max_files_per_batch": chance.randint(1, 3)}
        rate = 10.0 ** chance.randint(0, 4)
        origins[origin] = Origin(format="parquet", path=str(place), rows_per_second=rate, options=options)
    return DeclaredStream(source, origins, {}, "free", "fail")


def _write(path: Path, rows: list, source: Source) -> None:
    given = [row if isinstance(row, Weighted) else Weighted(row, 1) for row in rows]
    weight = ((WEIGHT, BIGINT),) if source.revisions else ()
    schema = Schema((*source.schema.columns, *weight))
    values = [canonical(row.values, source.schema) for row in given]
    plain = [(*row, given[i].weight) if source.revisions else row for i, row in enumerate(values)]
    pq.write_table(to_arrow(plain, schema), path)


def _links(names: list[str], chance: random.Random) -> tuple[Link, ...]:
    shape = chance.choice(SHAPES)
    pairs = []
    for number in range(1, len(names)):
        before = {"chain": number - 1, "star": 0, "mesh": chance.randrange(number)}[shape]
        pairs.append((names[number], names[before]))
    if shape == "mesh":
        more = [pair for pair in ((a, b) for a in names for b in names if a < b) if chance.random() < 0.3]
        pairs += [pair for pair in more if pair not in pairs and pair[::-1] not in pairs]
    return tuple(
        Link(between=pair, mbps=1000, ms=chance.choice((0, 1)), usd_per_gb=chance.uniform(0.01, 1)) for pair in pairs
    )


def _answers(graph: Graph, data: Rows) -> dict[str, Counter]:
    run = Run(graph, {stream: list(origins) for stream, origins in data.items()})
    run.feed(data)
    run.end()
    return {name: run.answer(name) for name in graph.names}


def run_all(case: Case, spark, **options) -> None:
    """Run a case to its end."""
    live = runnable(case.found).run(state=case.base / "state", spark=spark, planner=case.planner, **options)
    with live:
        live.wait()
