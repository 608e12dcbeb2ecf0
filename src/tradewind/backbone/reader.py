"""Reading a channel: its commits in order, and which messages each of them holds."""

from __future__ import annotations

from tradewind.backbone import jetstream
from tradewind.backbone.commits import Placed, decoded
from tradewind.backbone.connection import Connection
from tradewind.backbone.jetstream import Stored, called, place
from tradewind.backbone.names import Address


class Reader:
    """Looks at a channel's commits."""

    def __init__(self, connection: Connection, address: Address) -> None:
        self._connection = connection
        self._address = address

    def head(self) -> int:
        """The number of the newest commit, 0 if there is none."""
        return called(self._connection, self._address, _head(self._connection, self._address))

    def last(self) -> Placed | None:
        """The newest commit."""
        return called(self._connection, self._address, newest(self._connection, self._address))

    def commits(self, after: int, upto: int | None = None, limit: int | None = None) -> list[Placed]:
        """The commits behind a number, up to and with another, in order."""
        return called(self._connection, self._address, listed(self._connection, self._address, after, upto, limit))


async def newest(connection: Connection, address: Address) -> Placed | None:
    """The newest commit of a channel."""
    message = await jetstream.last(connection, address.stream, address.commits)
    return None if message is None else placed(address, message)


async def listed(
    connection: Connection, address: Address, after: int = 0, upto: int | None = None, limit: int | None = None
) -> list[Placed]:
    """The commits of a channel behind a number, up to and with another, in order."""
    messages = await jetstream.following(connection, address.stream, address.commits, after, limit=limit, upto=upto)
    return [placed(address, message) for message in messages]


def placed(address: Address, message: Stored) -> Placed:
    """The commit that a message is."""
    return Placed(message.number, decoded(message.payload, f"{place(address)}, message {message.number}"))


def oldest_held(commit: Placed) -> int:
    """The number of the first message that a commit needs: of its parts, or its own."""
    return min((number for part in commit.commit.parts for number in part.messages), default=commit.number)


async def _head(connection: Connection, address: Address) -> int:
    message = await jetstream.last(connection, address.stream, address.commits)
    return 0 if message is None else message.number
