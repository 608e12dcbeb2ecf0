"""Questions that a server holds until there is something to tell: the messages of a consumer, as they come.

JetStream sends what a consumer is asked for under the subjects of the messages, not under the one that the question
named, so that each who asks needs a subscription of its own, on a socket beside that of requests.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from tradewind.backbone.session import AwayError
from tradewind.errors import RunError

_GONE = (nats.errors.Error, OSError, TimeoutError)
_CONNECT = 2
_PAUSE = 0.1


class Listener:
    """A socket that comes back by itself when the server does."""

    def __init__(self) -> None:
        self._client = Client()
        self._inboxes: set[Inbox] = set()

    @staticmethod
    async def opened(url: str) -> Listener:
        """Connects; one attempt."""
        listener = Listener()
        try:
            await listener._client.connect(
                url,
                error_cb=_unheard,
                disconnected_cb=listener._broken,
                connect_timeout=_CONNECT,
                max_reconnect_attempts=-1,
                reconnect_time_wait=_PAUSE,  # type: ignore[arg-type]  # parts of a second are fine
            )
        except _GONE as error:
            await listener.close()
            raise AwayError(str(error)) from None
        return listener

    async def inbox(self) -> Inbox:
        """A place for answers."""
        if self._client.is_closed:
            raise RunError("the server has shut us out.", hint="are its user and password in the URL still those?")
        inbox = Inbox(self._client)
        try:
            await inbox.open()
        except _GONE as error:
            raise AwayError(str(error)) from None
        self._inboxes.add(inbox)
        return inbox

    async def drop(self, inbox: Inbox) -> None:
        """Nothing is expected there any more."""
        self._inboxes.discard(inbox)
        await inbox.close()

    async def close(self) -> None:
        """Ends the connection."""
        with suppress(*_GONE):
            await self._client.close()

    async def _broken(self) -> None:
        for inbox in self._inboxes:
            inbox.broken()


class Inbox:
    """Where the answers to one question at a time come in."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._subject = client.new_inbox()
        self._subscription: Subscription | None = None
        self._answers: list[Msg] = []
        self._wanted = 0
        self._complete: asyncio.Future[None] | None = None

    async def open(self) -> None:
        """Lets the server know of it."""
        self._subscription = await self._client.subscribe(
            self._subject, cb=self._came, pending_msgs_limit=0, pending_bytes_limit=0
        )

    async def close(self) -> None:
        """Lets the server forget it."""
        if self._subscription is not None:
            with suppress(*_GONE):
                await self._subscription.unsubscribe()

    async def ask(self, subject: str, payload: bytes, wanted: int, within: float) -> list[Msg]:
        """So many answers, or fewer and one that says why; one attempt."""
        self._answers, self._wanted = [], wanted
        self._complete = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(within):
                await self._client.publish(subject, payload, reply=self._subject)
                await self._complete
        except _GONE as error:
            raise AwayError(str(error) or "no answer in time") from None
        return self._answers

    def broken(self) -> None:
        """No answer will come to what was asked."""
        if self._complete is not None and not self._complete.done():
            self._complete.set_exception(AwayError("the connection broke"))

    async def _came(self, message: Msg) -> None:
        self._answers.append(message)
        over = len(self._answers) == self._wanted or is_status(message)
        if over and self._complete is not None and not self._complete.done():
            self._complete.set_result(None)


def is_status(message: Msg) -> bool:
    """Whether the server sent it to say why it sends no message."""
    return bool(message.headers and "Status" in message.headers and not message.data)


async def _unheard(_: Exception) -> None:
    """What breaks shows in the questions that are not answered."""
