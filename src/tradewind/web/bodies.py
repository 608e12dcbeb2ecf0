"""Bodies of requests, read whole before anybody looks at them, and only as much as is allowed.

A length that is announced is checked before anything is read; one that is not (a chunked body) is counted as it comes.
"""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import Message, Receive

from tradewind.web.refusals import RefusedError

# Who sends slower than this wants to keep us busy.
_SECONDS = 30.0


async def read(headers: Headers, receive: Receive, most: int) -> Receive:
    """Reads a body; gives a `receive` that tells it again."""
    announced = headers.get("content-length", "0")
    if not (announced.isascii() and announced.isdigit()):
        raise RefusedError(status=400, what="the length of the body is not a number.", where="Content-Length")
    # Longer numbers are too large as they are, and Python refuses to read very long ones.
    if len(announced) > 18 or int(announced) > most:
        raise _too_large(most)
    try:
        async with asyncio.timeout(_SECONDS):
            return _again(await _collected(receive, most), receive)
    except TimeoutError:
        raise RefusedError(status=408, what=f"the body did not come within {_SECONDS:.0f} seconds.") from None


async def _collected(receive: Receive, most: int) -> list[Message]:
    messages: list[Message] = []
    size = 0
    while not messages or messages[-1].get("more_body", False):
        message = await receive()
        size += len(message.get("body", b""))
        if size > most:
            raise _too_large(most)
        messages.append(message)
    return messages


def _again(messages: list[Message], receive: Receive) -> Receive:
    told = iter(messages)

    async def again() -> Message:
        for message in told:
            return message
        return await receive()

    return again


def _too_large(most: int) -> RefusedError:
    return RefusedError(status=413, what=f"the body is longer than {most:,} bytes.", hint="send less at a time.")
