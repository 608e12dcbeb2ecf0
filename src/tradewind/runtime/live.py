"""A deployment at work on this machine: one Spark, one streaming query for all its questions."""

from __future__ import annotations

import os
import queue
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from tradewind.errors import InputError, unknown
from tradewind.frontends.deployment.deployment import Deployment, Query
from tradewind.frontends.deployment.model import Deliver
from tradewind.frontends.fluent import Delivery
from tradewind.rewrites.engine import rewrite
from tradewind.rewrites.rules import AT_ONE_SITE
from tradewind.runtime.identity import claim, identity, reclaim
from tradewind.runtime.places import one_site, sink_of
from tradewind.spark.delivery import Totals, Wish
from tradewind.spark.engine import Engine
from tradewind.spark.query import Report, Running
from tradewind.spark.session import Session, start
from tradewind.spark.sinks import Dequeuer, Files, Pulled
from tradewind.spark.sources.gathering import Gatherer
from tradewind.spark.sources.push import Inbox
from tradewind.spark.sources.reading import reader


class Live:
    """A run of a deployment's queries, or of queries given by name. Use it in a `with` statement.

    `spark` is a session to use instead of an own one, made by `tradewind.spark.session.start`; it is not stopped.
    """

    def __init__(
        self,
        found: Deployment,
        queries: Mapping[str, Delivery] | None = None,
        *,
        state: Path | None = None,
        until_done: bool = True,
        fresh: bool = False,
        interval: float = 0.5,
        on_batch: Callable[[Report], None] | None = None,
        show: Callable[[str, pa.Table], None] | None = None,
        spark: Session | None = None,
    ) -> None:
        self._spark = spark
        self._found = _asking(found, queries)
        self._until_done = until_done
        self._interval = interval
        self.site = one_site(self._found)
        self._base = Path(found.name).resolve().parent
        self._own_state = state is None
        self.state = Path(tempfile.mkdtemp(prefix="tradewind-")) if state is None else state
        self._reports = on_batch or (lambda _: None)
        written = self._found.graph()
        self.graph = rewrite(written, AT_ONE_SITE).graph
        self._sinks = {
            name: sink_of(name, query, self._base, show, pulled=queries is not None)
            for name, query in self._found.queries.items()
        }
        self.horizon = _horizon(self._found)
        if fresh:
            self._start_afresh()
        self._refuse_foreign_deliveries()
        claim(self.state, identity(written, self.horizon))
        self._inboxes: dict[tuple[str, str], Gatherer] = {}
        self.running: Running | None = None
        self.failed: BaseException | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start Spark and the query."""
        site = self._found.sites[self.site]
        cores = max(1, min(site.cores, os.cpu_count() or 1))
        spark = self._spark or start(cores, self.state / "tmp", master=site.spark, log=self.state / "spark.log")
        readers = [
            reader(stream, name, origin, self._base, self.state)
            for name, stream in self._found.streams.items()
            if name in self.graph.sources()
            for origin in stream.origins
        ]
        origins = {name: tuple(self._found.streams[name].origins) for name in self.graph.sources()}
        engine = Engine.at(spark, self.graph, self.state / "memory", origins, horizon=self.horizon, buckets=cores)
        wishes = [Wish(name, self.graph[name], query.tentative) for name, query in self._found.queries.items()]
        self.running = Running(spark, engine, readers, wishes, self._sinks, self.state, self._reports)
        self.running.start(interval=None if self._until_done else self._interval)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end of a finite run, or so long; whether it has ended. At the end everything becomes final."""
        if self.running is None:
            return True
        done = self.running.wait(seconds)
        if done and self._until_done:
            self.running.close()
            self._finish_pulls()
        return done

    def stop(self) -> None:
        """Stop the query and Spark; what was committed stays, unless no state folder was given."""
        try:
            while self._inboxes:
                self._inboxes.popitem()[1].close()
        finally:
            self._stop_running()

    def _stop_running(self) -> None:
        if self.running is not None:
            self.running.stop()
            self.running.engine.release()
            if self._spark is None:
                self.running.spark.stop()
            self.running = None
        self._finish_pulls()
        shutil.rmtree(self.state if self._own_state else self.state / "tmp", ignore_errors=True)

    def results(self, name: str) -> Iterator[pa.Table]:
        """The rows of a query as they come, batch by batch: its columns, `_final` and `_weight`, until the run ends."""
        dequeuer = self._pulled(name).first()
        while True:
            try:
                found = dequeuer.pull(timeout=0.2)
            except queue.Empty:
                if self.wait(0.05):
                    self._finish_pulls()
                continue
            if found is None:
                return
            yield found

    def dequeue(self, name: str, timeout: float | None = None) -> pa.Table | None:
        """The next rows of a query; None when the time is over or nothing more will come."""
        try:
            return self._pulled(name).first().pull(timeout=timeout)
        except queue.Empty:
            return None

    def dequeuer(self, name: str) -> Dequeuer:
        """One more place to pull a query's rows from: each gets all of them. The first is what `dequeue` pulls from."""
        return self._pulled(name).another()

    def change(self, queries: Mapping[str, Delivery]) -> None:
        """Go on with other parameters (predicates, sample rates, windows over time) from the next batch on.

        The queries are given whole, under the names they run by; whatever else differs is refused.
        """
        if self.running is None:
            raise InputError("nothing is running.", hint="change parameters between start and stop.")
        asked = _asking(self._found, queries)
        written = asked.graph()
        identity_now = identity(written, self.horizon)
        self.running.change(rewrite(written, AT_ONE_SITE).graph, lambda: reclaim(self.state, identity_now))

    def enqueue(self, stream: str, rows: pa.Table | list[tuple[Any, ...]], origin: str | None = None) -> int:
        """Push rows into a stream whose source is `format: push`; how many were taken. They are on disk a moment later:
        `flush` waits for that.
        """
        declared = self._found.streams.get(stream)
        if declared is None:
            raise unknown("stream", stream, self._found.streams)
        pushed = [name for name, source in declared.origins.items() if source.format == "push"]
        chosen = origin or (pushed[0] if len(pushed) == 1 else None)
        if chosen not in pushed:
            raise InputError(
                f"rows cannot be pushed into stream {stream!r}{f' at {origin!r}' if origin else ''}.",
                hint=f"its pushed origins: {', '.join(pushed) or 'none; declare one with format: push'}.",
            )
        if (stream, chosen) not in self._inboxes:
            place = self.state / "inbox" / stream / chosen
            inbox = Inbox(place, declared.source.schema, revisions=declared.source.revisions)
            self._inboxes[stream, chosen] = Gatherer(inbox)
        return self._inboxes[stream, chosen].enqueue(rows)

    def flush(self) -> None:
        """Wait until all rows that were pushed are on disk, where a later run would find them too."""
        for inbox in self._inboxes.values():
            inbox.flush()

    @property
    def totals(self) -> dict[str, Totals]:
        """How many rows every answer has now."""
        return self.running.totals if self.running is not None else {}

    def _pulled(self, name: str) -> Pulled:
        sink = self._sinks.get(name)
        if sink is None:
            raise unknown("query", name, self._sinks)
        if not isinstance(sink, Pulled):
            raise InputError(
                f"the rows of {name!r} go to files.", hint="deliver it with format: memory to pull them here."
            )
        return sink

    def _finish_pulls(self) -> None:
        for sink in self._sinks.values():
            if isinstance(sink, Pulled):
                sink.finish()

    def _start_afresh(self) -> None:
        shutil.rmtree(self.state, ignore_errors=True)
        for sink in self._sinks.values():
            sink.clear()

    def _refuse_foreign_deliveries(self) -> None:
        """What an earlier run delivered must not be mixed with what this one will."""
        if (self.state / "memory").exists():
            return
        for name, sink in self._sinks.items():
            if isinstance(sink, Files) and sink.published():
                raise InputError(
                    f"{sink.folder} holds rows that another run delivered.",
                    where=f"query {name}",
                    hint="--fresh removes them and starts again; or deliver to another folder.",
                )


def _asking(found: Deployment, queries: Mapping[str, Delivery] | None) -> Deployment:
    """The deployment with the queries that are given in place of the file's own."""
    if queries is None:
        return found
    asked: dict[str, Query] = {}
    for name, given in queries.items():
        if not isinstance(given, Delivery):
            raise InputError(f"query {name!r} is not delivered anywhere.", hint='stream.deliver("site").')
        asked[name] = Query(given.stream.operator, Deliver.model_validate({"site": given.site, **given.options}))
    return replace(found, queries=asked)


def _horizon(found: Deployment) -> int | None:
    """How late rows may come and still count: as long as the most patient query says; for ever if one says nothing."""
    wishes = [query.revise_within for query in found.queries.values()]
    known = [wish for wish in wishes if wish is not None]
    return max(known) if len(known) == len(wishes) else None
