"""News of channels: whoever reads some is told of each commit as it comes, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from tradewind.backbone.commits import Placed
from tradewind.backbone.connection import Connection
from tradewind.backbone.jetstream import RefusedError, place, told
from tradewind.backbone.listening import Listener
from tradewind.backbone.names import Address
from tradewind.backbone.watch import Watch
from tradewind.errors import InternalError, TradewindError

_LOOK = 0.1


class News:
    """Tells of the commits of some channels, each behind a number, until it is stopped.

    Those who are told must be quick: they are told in the thread that listens. `failure` is what ended it.
    """

    def __init__(self, url: str, wanted: Mapping[Address, int], told: Callable[[Address, Placed], None]) -> None:
        self.failure: TradewindError | None = None
        self._told = told
        self._tasks: dict[Address, list[asyncio.Task[None]]] = {}
        self._connection = Connection.open(url)
        try:
            self._listener = self._connection.call(self._begin(url, wanted))
        except BaseException:
            self._connection.close()
            raise

    async def _begin(self, url: str, wanted: Mapping[Address, int]) -> Listener:
        listener = await Listener.opened(url)
        for address, after in wanted.items():
            watch = Watch(self._connection, listener, address, after)
            work = (_followed(address, watch), self._tell(address, watch))
            self._tasks[address] = [asyncio.create_task(one) for one in work]
            for task in self._tasks[address]:
                task.add_done_callback(self._over)
        return listener

    async def _tell(self, address: Address, watch: Watch) -> None:
        while True:
            self._told(address, await watch.next())

    def _over(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            unforeseen = InternalError(f"listening ended: {type(error).__name__}: {error}")
            self.failure = self.failure or (error if isinstance(error, TradewindError) else unforeseen)

    def drop(self, address: Address) -> None:
        """Nothing more is told of a channel."""
        self._connection.call(_ended(self._tasks.pop(address, [])))

    def stop(self) -> None:
        """Nothing more is told."""
        self._connection.call(self._end())
        self._connection.close()

    async def _end(self) -> None:
        await _ended([task for some in self._tasks.values() for task in some])
        await self._listener.close()


async def _ended(tasks: Sequence[asyncio.Task[None]]) -> None:
    # They may have to be told twice: the client of NATS swallows a cancellation while it writes to its socket.
    while waiting := [task for task in tasks if not task.done()]:
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting, timeout=_LOOK)


async def _followed(address: Address, watch: Watch) -> None:
    try:
        await watch.follow()
    except RefusedError as refused:
        raise told(refused, place(address)) from None
