"""Routes: channels that go over links, and what is said about them at their starts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import NamedTuple, TypeVar

from tradewind.backbone.session import AwayError
from tradewind.backbone.taps import Tap

_T = TypeVar("_T")


class Route(NamedTuple):
    """A channel that goes over a link."""

    start: str
    end: str
    channel: str

    @property
    def link(self) -> tuple[str, str]:
        """The link in one direction."""
        return self.start, self.end

    @property
    def subscriber(self) -> str:
        """As whom it reads the channel at its start."""
        return subscriber_to(self.end)


def subscriber_to(end: str) -> str:
    """As whom the link to a site reads channels.

    >>> subscriber_to("hq")
    'link to hq'
    """
    return f"link to {end}"


async def subscribed(tap: Tap) -> bool:
    """Whether there is a channel; we are subscribed to it then."""
    try:
        there = await tap.exists()
        if there:
            await tap.subscribe()
    except AwayError:
        return False
    return there


async def told(tap: Tap, number: int) -> bool:
    """Whether it could be told how far a channel has been read."""
    try:
        await tap.read_to(number)
    except AwayError:
        return False
    return True


async def gathered(work: Iterable[Awaitable[_T]]) -> list[_T]:
    """What several come to, at once."""
    return await asyncio.gather(*work)
