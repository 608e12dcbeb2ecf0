"""The links between sites: pumps that copy channels over them, counted, and imitated on one machine."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from tradewind.backbone import catalog, channels
from tradewind.backbone.channels import Limits
from tradewind.backbone.connection import Connection
from tradewind.backbone.counting import Counted, Tally
from tradewind.backbone.disturbances import Disturbance, parse_cut, parse_throttle
from tradewind.backbone.listening import Listener
from tradewind.backbone.names import Address
from tradewind.backbone.pump import Pump
from tradewind.backbone.routes import Route, gathered, subscribed, told
from tradewind.backbone.session import AwayError
from tradewind.backbone.taps import LocalTap, Tap
from tradewind.backbone.wire import Wire
from tradewind.backbone.wires import LinkShape, Wires
from tradewind.errors import InternalError, TradewindError

__all__ = ["Counted", "Disturbance", "LinkShape", "Links", "parse_cut", "parse_throttle"]

# How soon, in seconds, a channel that was not there yet is looked for again.
_LOOK = 0.1
# Each how many looks positions and totals are written down: a crash may lose one second of the totals.
_KEEP = 10
# How long the last writing-down waits for a server that is away.
_LAST_PATIENCE = 3.0
_KEY = "links"


class Links:
    """All links of a deployment, and the channels that go over them. Its methods may be called from any thread.

    Totals go on from where a former run of the deployment stopped. After a crash those of its last second may be
    missing; what the crash left half sent is sent, and counted, again. Rows and batches never count twice.

    `failure` is what ended a pump that cannot go on; the others go on.
    """

    def __init__(
        self,
        url: str,
        deployment: str,
        links: Sequence[LinkShape],
        *,
        disturbances: Sequence[Disturbance] = (),
        patience: float = 30.0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.failure: TradewindError | None = None
        self._url = url
        self._deployment = deployment
        self._patience = patience
        self._wires = Wires(links, disturbances, clock)
        self._routes: dict[Route, Limits] = {}
        self._given: dict[Route, Tap] = {}
        self._pumps: dict[Route, Pump] = {}
        self._tasks: dict[Route, asyncio.Task[None]] = {}
        self._told: dict[Route, int] = {}
        self._saved: dict[str, Any] = {}
        self._connection: Connection | None = None
        self._listener = Listener()
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self._keeper = threading.Thread()

    def add(self, links: Sequence[LinkShape]) -> None:
        """From now on there are these links, too; those that are known stay as they are."""
        with self._lock:
            if self._connection is None:
                self._wires.add(links)
            else:
                self._connection.call(self._wires.join(links))

    def carry(
        self,
        start: str,
        end: str,
        channel: str,
        limits: Limits = Limits(),  # noqa: B008  it is frozen
        tap: Tap | None = None,
    ) -> None:
        """From now on the channel is copied over the link. The copy's stream is made if it is not there.

        A `tap` is given where the channel is at another server; it has to live until the channel is dropped, or the
        links are stopped.
        """
        self._wires.over(start, end)
        with self._lock:
            route = Route(start, end, channel)
            if route not in self._routes:
                self._routes[route] = limits
                if tap is not None:
                    self._given[route] = tap
                if self._connection is not None:
                    self._create(self._connection, route)
                    self._launch(self._connection)

    def drop(self, start: str, end: str, channel: str) -> None:
        """The channel is not copied any more, and nothing is kept for that at its start. The copy stays.

        A start that is away keeps it until it is told otherwise.
        """
        with self._lock:
            route = Route(start, end, channel)
            self._routes.pop(route, None)
            self._given.pop(route, None)
            pump = self._pumps.pop(route, None)
            self._told.pop(route, None)
            if pump is not None and self._connection is not None:
                self._connection.call(self._ended([self._tasks.pop(route)]))
                with suppress(AwayError):
                    self._connection.call(pump.tap.unsubscribe())

    def start(self) -> None:
        """Lets the pumps run."""
        with self._lock:
            if self._connection is not None:
                raise InternalError("the links are started twice.")
            connection = Connection.open(self._url, patience=self._patience)
            self.failure = None
            try:
                self._wires.restore(catalog.get(connection, self._deployment, _KEY) or {"totals": []})
                connection.call(self._wires.begin())
                self._listener = connection.call(
                    connection.patiently(lambda: Listener.opened(self._url), "listening to channels")
                )
                # All copies before the first pump: some are the sources of others, which have to be subscribed first.
                for route in self._routes:
                    self._create(connection, route)
                self._connection = connection
                self._launch(connection)
            except BaseException:
                self._connection = None
                connection.close()
                raise
            self._stopping.clear()
            self._keeper = threading.Thread(
                target=self._keep_always, args=(connection,), name="tradewind-links", daemon=True
            )
            self._keeper.start()

    def stop(self) -> None:
        """Lets the pumps end, and writes down how far they are. They may be started again."""
        connection = self._connection
        if connection is None:
            return
        self._stopping.set()
        connection.patience = _LAST_PATIENCE
        self._keeper.join()
        with self._lock:
            connection.call(self._halt())
            try:
                self._keep(connection)
            except TradewindError as error:
                self.failure = self.failure or error
            self._connection = None
            self._pumps, self._tasks, self._told = {}, {}, {}
            connection.close()

    def counts(self) -> dict[tuple[str, str], Counted]:
        """What has crossed each link that carries, or carried, something."""
        pumps = dict(self._pumps)
        used = {route.link for route in list(self._routes)}
        return {
            link: self._counted(link, tally, [pump for route, pump in pumps.items() if route.link == link])
            for link, tally in self._wires.tallies().items()
            if tally.messages or link in used
        }

    def cut(self, start: str, end: str, *, symmetrical: bool = True) -> None:
        """Nothing passes from now on."""
        self._do(self._wires.between(start, end, symmetrical=symmetrical), lambda wire: wire.begins(None))

    def heal(self, start: str, end: str, *, symmetrical: bool = True) -> None:
        """The link is whole again, whatever had cut it."""
        self._do(self._wires.between(start, end, symmetrical=symmetrical), Wire.heal)

    def throttle(self, start: str, end: str, mbps: float | None, *, symmetrical: bool = True) -> None:
        """Another rate from now on; None: the declared one again."""
        self._do(self._wires.between(start, end, symmetrical=symmetrical), lambda wire: wire.throttle(mbps))

    def idle(self) -> bool:
        """Whether all that is committed has been copied. Never while the links stand still."""
        with self._lock:
            connection, pumps = self._connection, list(self._pumps.values())
        if connection is None:
            return False
        # First how far all are, then what there is: a batch that moves on meanwhile cannot be overlooked.
        handled = [pump.handled for pump in pumps]
        try:
            heads = connection.call(gathered(pump.tap.head() for pump in pumps))
        except AwayError:
            return False
        return all(head <= number for head, number in zip(heads, handled, strict=True))

    def _counted(self, link: tuple[str, str], tally: Tally, pumps: list[Pump]) -> Counted:
        backlogs = [pump.backlog() for pump in pumps]
        return Counted(
            **tally.kept(),  # type: ignore[arg-type]  # the fields of the same names
            backlog_batches=sum(batches for batches, _ in backlogs),
            backlog_bytes=sum(size for _, size in backlogs),
            cut_since=self._wires.cut_since(link),
            reached=all(tap.reached for route, tap in list(self._given.items()) if route.link == link),
        )

    def _do(self, wires: list[Wire], action: Callable[[Wire], None]) -> None:
        async def done() -> None:
            for wire in wires:
                action(wire)

        with self._lock:
            if self._connection is not None:
                self._connection.call(done())
                return
        for wire in wires:
            action(wire)

    def _create(self, connection: Connection, route: Route) -> None:
        channels.create(connection, self._copy(route), self._routes[route])

    def _launch(self, connection: Connection) -> None:
        """Starts the pumps of all channels that are there at their starts; others may come."""
        waiting = {route: self._tap(connection, route) for route in self._routes if route not in self._pumps}
        found = connection.call(gathered(map(subscribed, waiting.values())))
        there = {route: tap for (route, tap), one in zip(waiting.items(), found, strict=True) if one}
        self._pumps |= {
            route: Pump(connection, tap, self._copy(route), self._wires.over(*route.link))
            for route, tap in there.items()
        }
        connection.call(self._run(list(there)))

    def _tap(self, connection: Connection, route: Route) -> Tap:
        if route in self._given:
            return self._given[route]
        source = Address(self._deployment, route.start, route.channel)
        return LocalTap(connection, self._listener, source, route.subscriber)

    def _copy(self, route: Route) -> Address:
        return Address(self._deployment, route.end, route.channel)

    async def _run(self, routes: list[Route]) -> None:
        for route in routes:
            self._tasks[route] = asyncio.create_task(self._pumps[route].run())
            self._tasks[route].add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        """A pump has ended though nobody told it to."""
        error = None if task.cancelled() else task.exception()
        unforeseen = InternalError(f"a pump ended: {type(error).__name__}: {error}")
        self.failure = self.failure or (error if isinstance(error, TradewindError) else unforeseen)

    async def _ended(self, tasks: list[asyncio.Task[None]]) -> None:
        """Ends pumps, and waits for that; they may have to be told twice."""
        for task in tasks:
            task.remove_done_callback(self._over)
        while waiting := [task for task in tasks if not task.done()]:
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting, timeout=_LOOK)

    async def _halt(self) -> None:
        await self._ended(list(self._tasks.values()))
        await self._wires.end()
        await self._listener.close()

    def _keep_always(self, connection: Connection) -> None:
        looks = 0
        while not self._stopping.wait(_LOOK):
            looks += 1
            try:
                if len(self._pumps) < len(self._routes):
                    with self._lock:
                        self._launch(connection)
                if looks % _KEEP == 0:
                    self._keep(connection)
            except TradewindError as error:
                self.failure = self.failure or error

    def _keep(self, connection: Connection) -> None:
        """Writes down how far the channels have been read, and what has crossed the links."""
        with self._lock:
            moved = {
                route: (pump.tap, pump.handled)
                for route, pump in self._pumps.items()
                if pump.handled > self._told.get(route, 0)
            }
            known = connection.call(gathered(told(tap, number) for tap, number in moved.values()))
            self._told |= {route: number for (route, (_, number)), one in zip(moved.items(), known, strict=True) if one}
        totals = self._wires.kept()
        if totals != self._saved:
            catalog.put(connection, self._deployment, _KEY, totals)
            self._saved = totals
