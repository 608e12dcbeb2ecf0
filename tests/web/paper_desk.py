"""A desk without a coordinator: it remembers what it was asked, and answers from paper."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import httpx
from fastapi import FastAPI

from tradewind.errors import DeploymentError, InputError, Problem, RunError, unknown
from tradewind.web.app import app
from tradewind.web.desk import Sample, UnavailableError

SECRET = "correct-horse-battery-staple-0123456789"
TOKEN = "join-token-that-nobody-may-read"
HOST = "coordinator.test"
STATUS: dict[str, Any] = {
    "epoch": 3,
    "deployment": "cdn",
    "until_done": False,
    "state": "running",
    "coordinator": {"leader": True, "since": "2026-01-02T03:04:05Z"},
    "sites": {
        "ams": {
            "state": "alive",
            "seen_seconds_ago": 0.8,
            "epoch": 3,
            "fragments": {
                "leaf-ams": {"state": "running", "batch": 4, "rows": 1_200_000, "rows_per_second": 2100.0,
                             "seconds": 0.4, "problem": None},
            },
            "memory_bytes": 1_400_000_000, "cores": 2, "problem": None,
        },
        "sin": {
            "state": "late",
            "seen_seconds_ago": 14.2,
            "epoch": 3,
            "fragments": {
                "leaf-sin": {"state": "running", "batch": 3, "rows": 900_000, "rows_per_second": 1500.0,
                             "seconds": 0.6, "problem": None},
                "twin-sin": {"state": "failed", "batch": 0, "rows": 0, "rows_per_second": 0.0, "seconds": None,
                             "problem": "<b>the disk is full</b>"},
            },
            "memory_bytes": 1_100_000_000, "cores": 2, "problem": None,
        },
        "hq": {
            "state": "alive",
            "seen_seconds_ago": 0.2,
            "epoch": 3,
            "fragments": {
                "root-hq": {"state": "running", "batch": 9, "rows": 4100, "rows_per_second": 40.0, "seconds": 1.2,
                            "problem": None},
            },
            "memory_bytes": 3_900_000_000, "cores": 8, "problem": None,
        },
        "syd": {"state": "never", "seen_seconds_ago": None, "epoch": None, "fragments": {}, "memory_bytes": None,
                "cores": None, "problem": None},
    },
    "links": [
        {"from": "ams", "to": "hq", "bytes": 48_000_000, "rows": 31_000, "backlog_bytes": 0,
         "bytes_per_second": 4900.0, "measured_bytes_per_second": 5200.0, "predicted_bytes_per_second": 4900.0,
         "reached": True},
        {"from": "sin", "to": "hq", "bytes": 31_000_000, "rows": 22_000, "backlog_bytes": 2_300_000,
         "bytes_per_second": 4100.0, "measured_bytes_per_second": 1200.0, "predicted_bytes_per_second": 4100.0,
         "reached": False},
    ],
    "queries": {
        "top": {"site": "hq", "final": 410, "tentative": 12, "missing": ["requests/sin"], "behind_seconds": 2.1},
        "errors": {"site": "ams", "final": 88, "tentative": 0, "missing": [], "behind_seconds": 0.4},
    },
}  # fmt: skip
CA = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
QUERIES, STREAMS, SITES = ("top", "errors"), ("requests",), ("ams", "sin", "hq", "syd")


class PaperDesk:
    """Answers from paper. Files that hold certain words are bad, and a token is good once."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.tokens = {TOKEN}
        self._version = 1
        self._lock = threading.Lock()

    def change(self) -> None:
        with self._lock:
            self._version += 1

    def status(self) -> dict[str, Any]:
        return {**STATUS, "epoch": 2 + self._version}

    def version(self) -> int:
        return self._version

    def check(self, text: str, called: str) -> Sequence[Mapping[str, Any]]:
        return [{"where": f"{called}:1", "what": "no sites.", "hint": None}] if "bad" in text else []

    def difference(
        self,
        text: str,
        called: str,
        *,
        planner: str | None = None,
        until_done: bool = False,
        fresh: bool = False,
        savepoint: str | None = None,
    ) -> dict[str, Any]:
        self._read(text, called)
        return {"added": [called], "planner": planner, "until_done": until_done, "fresh": fresh}

    def apply(
        self,
        text: str,
        called: str,
        *,
        planner: str | None = None,
        expected_epoch: int | None = None,
        until_done: bool = False,
        fresh: bool = False,
        savepoint: str | None = None,
    ) -> dict[str, Any]:
        self._read(text, called)
        self.asked.append(("apply", text, called, planner, expected_epoch, until_done, fresh, savepoint))
        if expected_epoch not in (None, 3):
            raise RunError("epoch 3 runs, and another was expected.", hint="look again.")
        return {"epoch": 4}

    def stop(self) -> dict[str, Any]:
        return {"state": "stopped"}

    def pause(self) -> dict[str, Any]:
        return {"changed": True}

    def resume(self) -> dict[str, Any]:
        return {"changed": False}

    def savepoint(self, name: str) -> dict[str, Any]:
        return {"name": name}

    def savepoints(self) -> Sequence[Mapping[str, Any]]:
        return [{"name": "noon", "state": "taken"}]

    def remove_savepoint(self, name: str) -> dict[str, Any]:
        return {"removed": self._found("savepoint", name, ("noon",))}

    def add(self, text: str, called: str) -> dict[str, Any]:
        self._read(text, called)
        return {"added": ["more"]}

    def remove(self, query: str) -> dict[str, Any]:
        return {"removed": self._found("query", query, QUERIES)}

    def streams(self) -> Sequence[Mapping[str, Any]]:
        return [{"name": name, "schema": "ts TIMESTAMP"} for name in STREAMS]

    def entities(self) -> Sequence[Mapping[str, Any]]:
        return [{"kind": "site", "name": name} for name in SITES]

    def describe(self, name: str) -> dict[str, Any]:
        return {"name": self._found("entity", name, (*QUERIES, *STREAMS, *SITES)), "mean": float("nan")}

    def stats(self) -> dict[str, Any]:
        return {"requests": {"rows": 12, "fullest": float("inf")}}

    def rows(self, query: str, limit: int, oldest: bool = False) -> dict[str, Any]:
        every = [{"domain": f"{self._found('query', query, QUERIES)}-{n}", "hits": n} for n in range(3)]
        rows = every[:limit] if oldest else every[-limit:]
        left_out = len(every) - len(rows)
        which = "all" if not left_out else "oldest" if oldest else "newest"
        return {"rows": rows, "total": len(every), "final": 0, "left_out": left_out, "which": which}

    def push(self, stream: str, rows: list[dict[str, Any]]) -> int:
        self.asked.append(("push", self._found("stream", stream, STREAMS), rows))
        return len(rows)

    def token(self, site: str, seconds: float = 3600.0, hosts: Sequence[str] = ()) -> str:
        self.asked.append(("token", self._found("site", site, SITES), seconds, list(hosts)))
        return TOKEN

    def join(self, token: str, csr: str) -> dict[str, Any]:
        if csr == "break":
            raise ValueError(f"broken by {token}")
        if token not in self.tokens:
            raise InputError(f"the token {token} is not good.", hint=f"ask for one that is not {token}.")
        self.tokens.discard(token)
        return {"certificate": CA}

    def revoke(self, site: str) -> dict[str, Any]:
        return {"revoked": self._found("site", site, SITES)}

    def move(self, query_or_fragment: str, site: str) -> dict[str, Any]:
        return {"moved": query_or_fragment, "to": self._found("site", site, SITES)}

    def cancel_move(self) -> dict[str, Any]:
        return {"fragment": "leaf-ams"}

    def split(self, query_or_fragment: str, over: int | None) -> dict[str, Any]:
        return {"fragment": self._found("query", query_or_fragment, QUERIES), "over": over}

    def merge(self, query_or_fragment: str) -> dict[str, Any]:
        return {"fragment": self._found("query", query_or_fragment, QUERIES)}

    def ca(self) -> str:
        return CA

    def metrics(self) -> Iterable[Sample]:
        return [
            ("tradewind_site_memory_bytes", "Memory of a site.", "gauge", {"site": "ams"}, 14.0),
            ("tradewind_link_bytes_total", "Bytes over a link.", "counter", {"from": "ams", "to": "hq"}, 48.0),
            ("site_memory_bytes", "Memory of a site.", "gauge", {"site": 'h"q'}, 39.0),
        ]

    def _read(self, text: str, called: str) -> None:
        if "bad" in text:
            raise DeploymentError(
                "the file has problems.", where=called, problems=[Problem(f"{called}:1:1", "no sites.", "name one.")]
            )
        if "who" in text:
            raise unknown("column", "who", ["domain"])
        if "starting" in text:
            raise UnavailableError("the coordinator has just started.")
        if "break" in text:
            raise ValueError(f"broken by {SECRET}")

    def _found(self, kind: str, name: str, known: Iterable[str]) -> str:
        if name not in known:
            raise unknown(kind, name, known)
        return name


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


Pause = Callable[[float], Awaitable[object]]


async def _at_once(_: float) -> None:
    """Waits for nothing."""


def made(
    desk: PaperDesk | None = None, clock: Callable[[], float] | None = None, pause: Pause | None = None
) -> FastAPI:
    hosts = (HOST, "127.0.0.1", "::1", "other.test:8080")
    return app(desk or PaperDesk(), SECRET, hosts, clock=clock or Clock(), pause=pause or _at_once)


def client(served: FastAPI, *, secret: str | None = SECRET, address: str = "192.0.2.1") -> httpx.AsyncClient:
    """Asks without a socket."""
    transport = httpx.ASGITransport(served, raise_app_exceptions=True, client=(address, 1))
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    return httpx.AsyncClient(transport=transport, base_url=f"https://{HOST}", headers=headers)


class Asker:
    """Asks one thing after another, each with a client of its own."""

    def __init__(self, served: FastAPI, *, secret: str | None = SECRET, address: str = "192.0.2.1") -> None:
        self._served, self._secret, self._address = served, secret, address

    def __call__(self, method: str, path: str, **given: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            async with client(self._served, secret=self._secret, address=self._address) as one:
                return await one.request(method, path, **given)

        return asyncio.run(ask())
