"""The status as it changes, as server-sent events.

A watcher is told the whole status, so that nothing has to be pieced together and a lost event does no harm.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from threading import Event

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from tradewind.errors import TradewindError
from tradewind.web.answers import json_text, told
from tradewind.web.asked import AtDesk
from tradewind.web.desk import Desk, UnavailableError

router = APIRouter(tags=["deployment"])
# Often enough for eyes, and seldom enough for many watchers.
_LOOK_EVERY = 0.5
# Proxies give up on a connection that says nothing for some tens of seconds.
_SPEAK_EVERY = 10.0
_TYPE = "text/event-stream"


@dataclass(slots=True)
class Watch:
    """Who watches: how many, and how many may; the clock that they are paced by, and whether all of this ends."""

    clock: Callable[[], float]
    closing: Event = field(default_factory=Event)
    watchers: int = 0
    most: int = 32


@router.get(
    "/events",
    summary="The status, whenever it changes",
    response_class=Response,
    responses={200: {"content": {_TYPE: {"schema": {"type": "string"}}}}},
)
async def events(request: Request, desk: AtDesk) -> Response:
    watch: Watch = request.app.state.watch
    if watch.watchers >= watch.most:
        raise UnavailableError(
            f"{watch.most} others watch already.", where="events", hint="close a page that is not read."
        )
    # What fails now is an answer of its own, and not a stream that breaks off.
    await run_in_threadpool(desk.version)
    return StreamingResponse(_watched(request, desk, watch), media_type=_TYPE, headers={"X-Accel-Buffering": "no"})


async def _watched(request: Request, desk: Desk, watch: Watch) -> AsyncIterator[str]:
    watch.watchers += 1
    try:
        async for event in _changes(desk, watch):
            yield event
    except TradewindError as error:
        yield f"event: problem\ndata: {json_text(told(error, request.scope))}\n\n"
    finally:
        watch.watchers -= 1


async def _changes(desk: Desk, watch: Watch) -> AsyncIterator[str]:
    seen: int | None = None
    spoke = watch.clock()
    while not watch.closing.is_set():
        # Before the status: what changes between the two is then told once more, and never missed.
        version = await run_in_threadpool(desk.version)
        if version != seen:
            seen = version
            status = await run_in_threadpool(desk.status)
            spoke = watch.clock()
            yield f"event: status\nid: {version}\ndata: {json_text(status)}\n\n"
        elif watch.clock() - spoke >= _SPEAK_EVERY:
            spoke = watch.clock()
            yield ": nothing new\n\n"
        await asyncio.sleep(_LOOK_EVERY)
