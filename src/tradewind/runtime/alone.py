"""A deployment whose streams and answers are all at one site: one Spark, no backbone. Queries that read the same
streams or tables are one streaming query; those that have nothing in common are several, so that a stream that cannot
be read ends none but those that read it.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.stored import Read, Update
from tradewind.errors import BadRecordsError, InputError
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.failing import failure
from tradewind.runtime.idling import Idling
from tradewind.runtime.secrets import tables_of
from tradewind.runtime.turns import Turns
from tradewind.runtime.waiting import Waiting
from tradewind.spark.buckets.dispatch import needs_arrival
from tradewind.spark.carrying import Carrier, Origin
from tradewind.spark.changing import require_sound
from tradewind.spark.delivery import Totals, Wish
from tradewind.spark.engine import Engine
from tradewind.spark.intake import Intake
from tradewind.spark.query import Report, Running
from tradewind.spark.session import Session, another, driver_memory, start
from tradewind.spark.sinks import Pulled, Sink
from tradewind.spark.sources.bounds import Bounds
from tradewind.spark.sources.push import Kept, own_inbox
from tradewind.spark.sources.reading import Folders, reader
from tradewind.spark.sources.survey import Survey

_LOOK = 0.05


def apart(graph: Graph) -> list[Graph]:
    """The graphs of queries that have streams or tables in common, of one or more; what has nothing in common is apart.

    They, and the queries of each, are in the order in which queries are declared.
    """
    groups: list[tuple[set[str], list[str]]] = []
    for name, node in graph.results:
        single = Graph(((name, node),))
        used = {f"stream {stream}" for stream in single.sources()}
        used |= {f"table {one.table.name}" for one in single if isinstance(one, Read | Update)}
        joined = [group for group in groups if group[0] & used]
        kept = [group for group in groups if not group[0] & used]
        groups = [*kept, (used.union(*(one[0] for one in joined)), [*(n for one in joined for n in one[1]), name])]
    chosen = sorted(
        (sorted(names, key=graph.names.index) for _, names in groups), key=lambda one: graph.names.index(one[0])
    )
    return [Graph(tuple((name, graph[name]) for name in names)) for names in chosen]


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
    session: Session | None = None
    """The session that it runs on."""
    parts: list[Running] = field(default_factory=list)
    failed: dict[str, BadRecordsError] = field(default_factory=dict)
    """The queries whose streams cannot be read, each with the reason."""
    _over: set[int] = field(default_factory=set)
    """The parts that have ended, by their numbers."""
    idling: Idling = field(init=False)
    _waiting: Waiting = field(default_factory=Waiting)

    def __post_init__(self) -> None:
        self.idling = Idling(self._going, lambda _: self.interval, alone=True)
        self.idling.declare(self.found)

    def _going(self) -> dict[str, Running]:
        """The parts that have not ended, by their numbers."""
        return {str(number): part for number, part in enumerate(self.parts) if number not in self._over}

    def start(self) -> None:
        """Start Spark and the queries."""
        site = self.found.sites[self.site]
        cores = max(1, min(site.cores, os.cpu_count() or 1))
        self.session = self.spark or start(
            cores, self.state / "tmp", memory=driver_memory(site.memory, site.spark), master=site.spark,
            log=self.state / "spark.log",
        )  # fmt: skip
        # State that was written as one goes on as one.
        graphs = [self.graph] if (self.state / "memory").exists() else apart(self.graph)
        turns = Turns((os.cpu_count() or 1) + 2)
        for graph in graphs:
            alone = len(graphs) == 1
            spark = self.session if alone else another(self.session)
            self.parts.append(self._part(graph, self.state if alone else self._folder(graph), spark, cores, turns))
        for part in self.parts:
            part.start(interval=None if self.until_done else self.interval)
        if not self.until_done:
            self.idling.start()

    def _folder(self, graph: Graph) -> Path:
        named = hashlib.blake2b("|".join(graph.names).encode(), digest_size=5).hexdigest()
        return self.state / "fragments" / f"{self.site}-{named}"

    def _part(self, graph: Graph, folder: Path, spark: Session, cores: int, turns: Turns) -> Running:
        base = Path(self.found.name).resolve().parent
        readers = [
            reader(stream, name, origin, Folders(base, self.state, folder))
            for name, stream in self.found.streams.items()
            if name in graph.sources()
            for origin in stream.origins
        ]
        origins = {name: tuple(self.found.streams[name].origins) for name in graph.sources()}
        tables = tables_of(self.found, self.site, Bounds(base, (self.state,)))
        engine = Engine.at(spark, graph, folder / "memory", origins, horizon=self.horizon, buckets=cores, **tables)
        wishes = [Wish(name, graph[name], self.found.queries[name].tentative) for name in graph.names]
        carrier = Carrier(
            {
                number: Origin(one.stream, own_inbox(folder, one.stream, one.origin))
                for number, one in enumerate(readers)
                if one.format == "push"
            },
            self.kept,
        )
        pulled = [wish.operator for wish in wishes if isinstance(self.sinks[wish.name], Pulled)]
        carries = any(map(carrier.carries, pulled))
        self.kept.wanted = self.kept.wanted or carries
        intake = Intake(readers, arrival=carries or any(map(needs_arrival, graph)))
        sinks = {name: self.sinks[name] for name in graph.names}
        return Running(spark, engine, intake, wishes, sinks, folder, self.on_batch, turn=turns.taken, carrier=carrier)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end of a finite run, or so long; whether it has ended. At the end everything becomes final.

        Queries that fail because of what they read are told at the end: all others go on until then.
        """
        end = None if seconds is None else time.perf_counter() + seconds
        pause = threading.Event()
        while waiting := [number for number in range(len(self.parts)) if number not in self._over]:
            self.idling.raise_failure()
            ended = [number for number in waiting if self._ended(self.parts[number], 0.0)]
            left = None if end is None else end - time.perf_counter()
            if not ended and left is not None and left <= 0:
                return False
            if not ended and len(waiting) == 1:
                ended = [number for number in waiting if self._ended(self.parts[number], left)]
            elif not ended:
                pause.wait(_LOOK if left is None else min(_LOOK, left))
            self._over.update(ended)
        if self.failed:
            raise failure(self.failed, self.graph.names)
        return True

    def _ended(self, part: Running, seconds: float | None) -> bool:
        """Whether a part has ended, for good or by what it has read; what only the end makes true is delivered then."""
        try:
            if not (part.over() if seconds == 0 else part.wait(seconds)):
                return False
            if self.until_done:
                part.close()
        except BadRecordsError as error:
            self.failed |= dict.fromkeys((wish.name for wish in part.wishes), error)
        return True

    def stop(self) -> None:
        """Stop the queries and Spark."""
        parts, self.parts = self.parts, []
        session, self.session = self.session, None
        with ExitStack() as steps:  # the last one first; what does not end well keeps nothing else from it
            if session is not None and self.spark is None:
                steps.callback(session.stop)
            for part in parts:
                steps.callback(part.engine.release)
                steps.callback(part.stop)
            steps.callback(self.idling.stop)

    def change(self, graph: Graph, taken: Callable[[], None]) -> None:
        """Go on with another graph's parameters from the next batch on; `taken` is called when all have them."""
        if not self.parts:
            raise InputError("nothing is running.", hint="change parameters between start and stop.")
        require_sound(self.graph, graph)
        before, self.graph = self.graph, graph
        changed = [
            part for part in self.parts if any(before[wish.name] != graph[wish.name] for wish in part.wishes)
        ] or self.parts[:1]
        last = _Last(len(changed), taken)
        for part in changed:
            part.change(Graph(tuple((wish.name, graph[wish.name]) for wish in part.wishes)), last.done)

    def marks(self) -> dict[str, dict[str, float]]:
        """For each query how far each of the origins is that it rests on."""
        return {
            wish.name: part.engine.marks_of(wish.operator)
            for part in self._going().values()
            if not part.ended
            for wish in part.wishes
        }

    def waits(self) -> dict[str, dict[str, float]]:
        """For each query that waits for origins: which, and for how many seconds their marks have not moved."""
        idle = {f"{stream}/{site}" for (stream, site), known in self.idling.origins().items() if known.idle}
        return self._waiting.look(self.marks(), {}, idle)

    @property
    def read(self) -> dict[tuple[str, str], Survey]:
        """What has ever been read of each stream at each origin."""
        return {place: survey for one in self.parts for place, survey in one.read.items()}

    @property
    def totals(self) -> dict[str, Totals]:
        """How many rows every answer has now."""
        known = {name: totals for one in self.parts for name, totals in one.totals.items()}
        return {name: known[name] for name in self.found.queries if name in known}


class _Last:
    """Calls back when the last of some has been done."""

    def __init__(self, count: int, then: Callable[[], None]) -> None:
        self._left, self._then, self._lock = count, then, threading.Lock()

    def done(self) -> None:
        with self._lock:
            self._left -= 1
            last = self._left <= 0
        if last:
            self._then()
