"""A deployment whose streams and answers are all at one site: one Spark, one streaming query, no backbone."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tradewind.algebra.graph import Graph
from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.idling import Idling
from tradewind.runtime.secrets import tables_of
from tradewind.runtime.waiting import Waiting
from tradewind.spark.buckets.dispatch import needs_arrival
from tradewind.spark.carrying import Carrier, Origin
from tradewind.spark.delivery import Totals, Wish
from tradewind.spark.engine import Engine
from tradewind.spark.intake import Intake
from tradewind.spark.query import Report, Running
from tradewind.spark.session import Session, driver_memory, start
from tradewind.spark.sinks import Pulled, Sink
from tradewind.spark.sources.bounds import Bounds
from tradewind.spark.sources.push import Kept, own_inbox
from tradewind.spark.sources.reading import Folders, reader
from tradewind.spark.sources.survey import Survey


@dataclass
class Alone:
    """A run at one site."""

    found: Deployment
    site: str
    graph: Graph
    sinks: Mapping[str, Sink]
    state: Path
    horizon: int | None
    until_done: bool
    interval: float
    on_batch: Callable[[Report], None]
    kept: Kept
    spark: Session | None = None
    running: Running | None = None
    idling: Idling = field(init=False)
    _waiting: Waiting = field(default_factory=Waiting)

    def __post_init__(self) -> None:
        self.idling = Idling(self._fragments, lambda _: self.interval, alone=True)
        self.idling.declare(self.found)

    def _fragments(self) -> dict[str, Running]:
        return {} if self.running is None else {"": self.running}

    def start(self) -> None:
        """Start Spark and the query."""
        site = self.found.sites[self.site]
        cores = max(1, min(site.cores, os.cpu_count() or 1))
        spark = self.spark or start(
            cores, self.state / "tmp", memory=driver_memory(site.memory, site.spark), master=site.spark,
            log=self.state / "spark.log",
        )  # fmt: skip
        base = Path(self.found.name).resolve().parent
        readers = [
            reader(stream, name, origin, Folders(base, self.state, self.state))
            for name, stream in self.found.streams.items()
            if name in self.graph.sources()
            for origin in stream.origins
        ]
        origins = {name: tuple(self.found.streams[name].origins) for name in self.graph.sources()}
        tables = tables_of(self.found, self.site, Bounds(base, (self.state,)))
        engine = Engine.at(
            spark, self.graph, self.state / "memory", origins, horizon=self.horizon, buckets=cores, **tables
        )
        wishes = [Wish(name, self.graph[name], query.tentative) for name, query in self.found.queries.items()]
        carrier = Carrier(
            {
                number: Origin(one.stream, own_inbox(self.state, one.stream, one.origin))
                for number, one in enumerate(readers)
                if one.format == "push"
            },
            self.kept,
        )
        pulled = [wish.operator for wish in wishes if isinstance(self.sinks[wish.name], Pulled)]
        self.kept.wanted = any(map(carrier.carries, pulled))
        arrival = self.kept.wanted or any(map(needs_arrival, self.graph))
        intake = Intake(readers, arrival=arrival)
        self.running = Running(spark, engine, intake, wishes, self.sinks, self.state, self.on_batch, carrier=carrier)
        self.running.start(interval=None if self.until_done else self.interval)
        if not self.until_done:
            self.idling.start()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end of a finite run, or so long; whether it has ended. At the end everything becomes final."""
        if self.running is None:
            return True
        self.idling.raise_failure()
        done = self.running.wait(seconds)
        if done and self.until_done:
            self.running.close()
        return done

    def stop(self) -> None:
        """Stop the query and Spark."""
        if self.running is None:
            return
        self.idling.stop()
        self.running.stop()
        self.running.engine.release()
        if self.spark is None:
            self.running.spark.stop()
        self.running = None

    def change(self, graph: Graph, taken: Callable[[], None]) -> None:
        """Go on with another graph's parameters from the next batch on."""
        if self.running is None:
            raise InputError("nothing is running.", hint="change parameters between start and stop.")
        self.running.change(graph, taken)

    @property
    def session(self) -> Session | None:
        """The session that it runs on."""
        return self.running.spark if self.running is not None else None

    def marks(self) -> dict[str, dict[str, float]]:
        """For each query how far each of the origins is that it rests on."""
        one = self.running
        if one is None or one.ended:
            return {}
        return {wish.name: one.engine.marks_of(wish.operator) for wish in one.wishes}

    def waits(self) -> dict[str, dict[str, float]]:
        """For each query that waits for origins: which, and for how many seconds their marks have not moved."""
        idle = {f"{stream}/{site}" for (stream, site), known in self.idling.origins().items() if known.idle}
        return self._waiting.look(self.marks(), {}, idle)

    @property
    def read(self) -> dict[tuple[str, str], Survey]:
        """What has ever been read of each stream at each origin."""
        return self.running.read if self.running is not None else {}

    @property
    def totals(self) -> dict[str, Totals]:
        """How many rows every answer has now."""
        return self.running.totals if self.running is not None else {}
