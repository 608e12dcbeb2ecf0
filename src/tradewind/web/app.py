"""The whole interface, put together around a desk; and the small one of a site."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer

from tradewind.errors import InputError
from tradewind.web import catalogue, deployments, events, membership, metrics, page, problems
from tradewind.web.desk import Desk, Measured
from tradewind.web.security import PUBLIC, Guard

_SHORTEST = 16
# It only describes: the guard has looked at the secret before any route is found.
_bearer = HTTPBearer(auto_error=False, description="the coordinator's secret")


def app(
    desk: Desk,
    secret: str,
    hosts: Collection[str],
    *,
    clock: Callable[[], float] = time.monotonic,  # noqa: TID251  who has to wait, waits in real time
    pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> FastAPI:
    """The interface of a desk, for who has the secret, under the names of its hosts (with any port, or with one)."""
    made = _guarded(
        "The coordinator: what runs, changing it, and who takes part.", secret, hosts, clock, PUBLIC, pause=pause
    )
    made.state.desk = desk
    made.include_router(_private())
    made.include_router(membership.public, prefix="/v1")
    made.include_router(page.router)
    return made


def site_app(
    site: Measured,
    secret: str,
    hosts: Collection[str],
    *,
    clock: Callable[[], float] = time.monotonic,  # noqa: TID251  guesses are counted by the second
) -> FastAPI:
    """The interface of a site: its metrics, for who has the secret, and nothing else."""
    made = _guarded("A site: its metrics.", secret, hosts, clock, public=())
    made.state.desk = site
    made.include_router(metrics.router)
    return made


def _guarded(
    about: str,
    secret: str,
    hosts: Collection[str],
    clock: Callable[[], float],
    public: Collection[tuple[str, str]],
    *,
    pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> FastAPI:
    """An interface without anything in it, and the guard at its door."""
    if len(secret) < _SHORTEST or not (secret.isascii() and secret.isprintable() and " " not in secret):
        raise InputError(
            f"the secret has to be {_SHORTEST} or more printable ASCII letters without spaces.",
            where="web",
            hint="make one with `openssl rand -hex 32`.",
        )
    made = FastAPI(
        title="Tradewind",
        version="1",
        description=about,
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_plain_name,
        responses=problems.DESCRIBED,
        # It would record requests and errors as they are, and an environment variable would send them elsewhere.
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
        },
    )
    made.state.secret = secret
    made.state.watch = events.Watch(clock)
    problems.install(made)
    made.add_middleware(Guard, secret=secret, hosts=hosts, clock=clock, public=public, pause=pause)
    return made


def _private() -> APIRouter:
    private = APIRouter(dependencies=[Depends(_bearer)])
    for room in (deployments, events, catalogue, membership):
        private.include_router(room.router, prefix="/v1")
    private.include_router(metrics.router)
    return private


def _plain_name(route: APIRoute) -> str:
    return route.name
