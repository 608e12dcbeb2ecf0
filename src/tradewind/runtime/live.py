"""A deployment at work on this machine: at one site without any backbone, or at all of its sites with one."""

from __future__ import annotations

import queue
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from tradewind.algebra.graph import Graph
from tradewind.algebra.idleness import OriginStatus
from tradewind.backbone.counting import Counted
from tradewind.cost.growing_joins import refuse_full
from tradewind.errors import BadRecordsError, InputError, InternalError, unknown
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.deployment.file import placed_if_there, placed_in
from tradewind.frontends.fluent import Delivery
from tradewind.rewrites.engine import rewrite
from tradewind.rewrites.rules import AT_ONE_SITE
from tradewind.runtime.afresh import start_afresh
from tradewind.runtime.alone import Alone
from tradewind.runtime.answers import Answers
from tradewind.runtime.asked import added, asking, asking_also, horizon_of
from tradewind.runtime.attachments import Attachment, earlier, note
from tradewind.runtime.deviations import Deviation, deviations
from tradewind.runtime.expected import Account, seconds_of
from tradewind.runtime.failing import failure
from tradewind.runtime.identity import claim, identity, reclaim
from tradewind.runtime.looking import missing_places
from tradewind.runtime.places import prepare, refuse_clashes, refuse_foreign, refuse_own, sink_of
from tradewind.runtime.planned import Planned, planned
from tradewind.runtime.published import Published, published
from tradewind.runtime.pushes import Pushes
from tradewind.runtime.sites import Setting, Sites
from tradewind.runtime.wiring import Network, Wiring
from tradewind.spark.delivery import Totals
from tradewind.spark.query import Report
from tradewind.spark.session import Session
from tradewind.spark.sinks import Dequeuer, Pulled
from tradewind.spark.sources.bounds import Bounds
from tradewind.spark.sources.python_rows import PythonRows
from tradewind.spark.sources.reading import check_readable
from tradewind.spark.sources.survey import Survey


class Live:
    """A run of a deployment's queries, or of queries given by name. Use it in a `with` statement.

    `spark` is a session to use instead of an own one, made by `tradewind.spark.session.start`; it is not stopped. Where
    streams or answers are at several sites, `planner` chooses what runs where, and `network` says how links behave.
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
        planner: str | None = None,
        network: Network | None = None,
    ) -> None:
        self._found = asking(found, queries)
        self._base = Path(found.name).resolve().parent
        self._show = show
        self._own_state = state is None
        self.state = Path(tempfile.mkdtemp(prefix="tradewind-")) if state is None else state
        written = self._found.graph()
        self._sinks = {
            name: sink_of(name, query, self._base, show, pulled=queries is not None, bounds=self._bounds)
            for name, query in self._found.queries.items()
        }
        self.horizon = horizon_of(self._found)
        self._check(self._found, until_done)
        self.warnings = missing_places(self._found) if not until_done else []
        """What whoever starts it should know."""
        if fresh:
            start_afresh(self._found, self.state, self._sinks)
        self._answers = Answers()
        self._continued: set[str] = set()
        self._refuse_foreign_deliveries()
        self.site = self._found.one_site
        self.planned: Planned | None = None
        if self.site is None:
            self.planned = planned(self._found, planner or "exact", state=self.state, until_done=until_done)
        claim(self.state, self._identity(written))
        reports = on_batch or (lambda _: None)
        self._pushes = Pushes(self.state)
        self._runner: Alone | Sites
        if self.site is not None:
            graph = rewrite(written, AT_ONE_SITE).graph
            self._runner = Alone(
                self._found,
                self.site,
                graph,
                self._sinks,
                self.state,
                self.horizon,
                until_done,
                interval,
                reports,
                self._pushes.kept,
                spark,
            )
        else:
            self._runner = self._many(until_done, reports, network or Network(), spark)

    def _check(self, found: Deployment, until_done: bool) -> None:
        """Raise what stands in the way of a run, before anything is started."""
        refuse_full(found, lambda findings: placed_if_there(found.name, findings))
        refuse_clashes(found, self._base)
        refuse_own(found, self._bounds)
        check_readable(found, self._base, self.state, wait=not until_done)

    @property
    def _bounds(self) -> Bounds:
        return Bounds(self._base, (self.state,))

    def _many(
        self, until_done: bool, reports: Callable[[Report], None], network: Network, spark: Session | None
    ) -> Sites:
        if self.planned is None:
            raise InternalError("a run at several sites needs a plan.")
        setting = Setting(
            self._found, self.planned.deployed, self._sinks, self.state, self.horizon, until_done,
            self.planned.intervals, reports, network,
        )  # fmt: skip
        return Sites(setting, spark)

    def _identity(self, written: Graph) -> dict[str, Any]:
        fragments = None if self.planned is None else [one.name for one in self.planned.deployed.fragments]
        return identity(written, self.horizon, fragments)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start Spark, the queries and, if there are several sites, the backbone."""
        prepare(self._sinks)
        try:
            self._runner.start()
        except BaseException:
            self.stop()
            raise

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end of a finite run, or so long; whether it has ended. At the end everything becomes final."""
        done = self._runner.wait(seconds)
        if done:
            self._finish_pulls()
        return done

    def stop(self) -> None:
        """Stop the queries and Spark; what was committed stays, unless no state folder was given."""
        try:
            self._pushes.close()
        finally:
            self._runner.stop()
            self._finish_pulls()
            shutil.rmtree(self.state if self._own_state else self.state / "tmp", ignore_errors=True)

    def results(self, name: str) -> Iterator[pa.Table]:
        """The rows of a query as they come, batch by batch: its columns, `_final` and `_weight`, until the run ends."""
        dequeuer = self._pulled(name).first()
        while True:
            try:
                found = dequeuer.pull(timeout=0.2)
            except queue.Empty:
                self._look_for_the_end()
                continue
            if found is None:
                if name in self.failed:
                    raise failure({name: self.failed[name]}, [name])
                return
            yield found

    def _look_for_the_end(self) -> None:
        """Look whether anything more will come. Of queries that have failed those hear who ask for their rows."""
        try:
            self.wait(0.05)
        except BadRecordsError:
            self._finish_pulls()

    def dequeue(self, name: str, timeout: float | None = None) -> pa.Table | None:
        """The next rows of a query; None when the time is over or nothing more will come."""
        try:
            return self._pulled(name).first().pull(timeout=timeout)
        except queue.Empty:
            return None

    def dequeuer(self, name: str) -> Dequeuer:
        """One more place to pull a query's rows from: each gets all of them. The first is what `dequeue` pulls from."""
        return self._pulled(name).another()

    def answer(self, name: str) -> pa.Table:
        """The answer of a query now, from all that was delivered: its columns and `_final`, sorted; `to_pandas()` makes
        it a data frame. Rows that are pulled stay to be pulled.
        """
        sink = self._sinks.get(name)
        if sink is None:
            raise unknown("query", name, self._sinks)
        if isinstance(sink, Pulled) and name in self._continued:
            raise InputError(
                f"an earlier run delivered rows of {name!r}, which nobody holds any more.",
                hint="deliver it to files (path: out/…), or begin with a new state.",
            )
        return self._answers.table(name, sink, self._found.queries[name].operator.schema)

    def change(self, queries: Mapping[str, Delivery]) -> None:
        """Go on with other parameters (predicates, sample rates, windows over time) from the next batch on.

        The queries are given whole, under the names they run by; whatever else differs is refused.
        """
        if isinstance(self._runner, Sites):
            raise InputError(
                "parameters cannot be changed while several sites run.", hint="stop, and run again with --fresh."
            )
        written = asking(self._found, queries).graph()
        identity_now = self._identity(written)
        self._runner.change(rewrite(written, AT_ONE_SITE).graph, lambda: reclaim(self.state, identity_now))

    def streams(self) -> list[Published]:
        """The streams that run between its sites; queries that are added may be made of them. At one site: none."""
        if not isinstance(self._runner, Sites):
            return []
        return published(self._runner.wiring.connection, self._runner.wiring.name)

    def add(
        self, queries: Mapping[str, Delivery] | Deployment, *, text: str | None = None, called: str = ""
    ) -> list[str]:
        """More queries, while everything goes on: some by name, or those that a deployment has besides the ones that
        run. They take from channels what these hold from the beginning on, and make the rest themselves, so that their
        answers are those of queries that had run from the start. With the `text` that declares them they are written
        down, called by a name, for whoever runs this state again. Their names are returned.
        """
        wanted = queries if isinstance(queries, Deployment) else asking_also(self._found, queries)
        more = added(self._found, wanted)
        if not isinstance(self._runner, Sites) or self.planned is None:
            raise InputError("queries cannot be added at one site.", hint="stop, and run again with all of them.")
        if self._runner.session is None:
            raise InputError("nothing is running.", hint="add queries between start and stop.")
        refuse_full(
            replace(wanted, queries=more), lambda findings: placed_in(text or "", called or "queries", findings)
        )
        refuse_clashes(wanted, self._base)
        refuse_own(wanted, self._bounds)
        check_readable(replace(wanted, queries=more), self._base, self.state, wait=not self._runner.setting.until_done)
        pulled = not isinstance(queries, Deployment)
        sinks = {
            name: sink_of(name, query, self._base, self._show, pulled=pulled, bounds=self._bounds)
            for name, query in more.items()
        }
        with self._runner.wiring.held() as whole:
            known = earlier(self.state, more)
            channels = whole if known is None else known.channels
            until_done = self._runner.setting.until_done
            planned = self.planned.besides(wanted, channels, state=self.state, until_done=until_done)
            if known is None:
                refuse_foreign(sinks)
            else:
                self._continued |= set(more)
            note(self.state, known or Attachment((*more,), (*sorted(channels),), text, called))
            prepare(sinks)
            self._runner.adapt(
                replace(
                    self._runner.setting,
                    found=wanted,
                    deployed=planned.deployed,
                    sinks={**self._sinks, **sinks},
                    intervals=planned.intervals,
                    horizon=horizon_of(replace(wanted, queries=more)),
                )
            )
        self._sinks |= sinks
        self._found, self.planned = wanted, planned
        return list(more)

    def enqueue(self, stream: str, rows: PythonRows, origin: str | None = None) -> int:
        """Push rows into a stream whose source is `format: push`; how many were taken. Rows are tuples, dictionaries by
        column, an Arrow table or a data frame. They are on disk a moment later: `flush` waits for that.
        """
        return self._pushes.enqueue(self._found, stream, rows, origin)

    def flush(self) -> None:
        """Wait until all rows that were pushed are on disk, where a later run would find them too."""
        self._pushes.flush()

    @property
    def failed(self) -> dict[str, BadRecordsError]:
        """The queries that do not go on because a stream that they read has bad records, and is to `fail` then; each
        with the reason, which names the file. All others go on.
        """
        return self._runner.failed if isinstance(self._runner, Alone) else self._runner.failed_queries

    @property
    def file(self) -> str:
        """The path of the deployment file."""
        return self._found.name

    @property
    def declared(self) -> Deployment:
        """What it runs, with the queries that were added."""
        return self._found

    @property
    def spark(self) -> Session:
        """The session that it runs on."""
        found = self._runner.session
        if found is None:
            raise InputError("nothing is running.", hint="ask between start and stop.")
        return found

    @property
    def wiring(self) -> Wiring:
        """What joins its sites."""
        if not isinstance(self._runner, Sites):
            raise InputError("everything is at one site: there is no backbone.")
        return self._runner.wiring

    @property
    def totals(self) -> dict[str, Totals]:
        """How many rows every answer has now."""
        return self._runner.totals

    def read(self) -> dict[tuple[str, str], Survey]:
        """What was read of each stream at each origin, in all runs of this state."""
        return self._runner.read

    def links(self) -> dict[tuple[str, str], Counted]:
        """What crossed each link so far; at one site there are none."""
        return self._runner.counts() if isinstance(self._runner, Sites) else {}

    def predicted(self) -> dict[tuple[str, str], float]:
        """The bytes that the plan expects on each link for as much of the streams as was read; at one site none."""
        if self.planned is None or not isinstance(self._runner, Sites):
            return {}
        deployed = self.planned.deployed
        return Account().totals(deployed, self.planned.expected, seconds_of(deployed, self._runner.spans()))

    def deviations(self) -> list[Deviation]:
        """Where what was measured so far contradicts the plan by more than twice; at one site nothing is planned."""
        if self.planned is None or not isinstance(self._runner, Sites):
            return []
        planned = self.planned
        return deviations(self._found, planned.deployed, planned.expected, Account(), self._runner.measured())

    def missing(self) -> dict[str, tuple[str, ...]]:
        """For each query whose answer waits for origins that are far behind the others: which, as `stream/site`."""
        return self._runner.missing() if isinstance(self._runner, Sites) else {}

    def marks(self) -> dict[str, dict[str, float]]:
        """For each query at work between sites, how far each origin is (`stream/site`), in microseconds since 1970."""
        return self._runner.marks() if isinstance(self._runner, Sites) else {}

    def waits(self) -> dict[str, dict[str, float]]:
        """For each query that is held back: the origins that it waits for, as `stream/site`, and for how many seconds
        nothing has become known of them.
        """
        return self._runner.waits()

    def origins(self) -> dict[tuple[str, str], OriginStatus]:
        """Where each stream stands at each site: its mark, whether it is idle, and how long it has been silent."""
        return self._runner.idling.origins()

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

    def _refuse_foreign_deliveries(self) -> None:
        """What an earlier run delivered must not be mixed with what this one will."""
        if any((self.state / name).exists() for name in ("memory", "fragments")):
            self._continued = set(self._sinks)
        else:
            refuse_foreign(self._sinks)
