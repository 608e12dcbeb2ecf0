"""A server that takes OpenLineage events, remembers them, and refuses or dawdles when it is told to."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Facet(BaseModel):
    """Anything that says who made it, and what it is."""

    model_config = ConfigDict(extra="allow", alias_generator=to_camel)
    producer: str = Field(alias="_producer", pattern="^urn:tradewind:")
    url: str = Field(
        alias="_schemaURL", pattern=r"^https://openlineage\.io/spec/facets/\d+-\d+-\d+/\w+\.json#/\$defs/\w+$"
    )


class Column(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    type: str


class SchemaFacet(Facet):
    fields_: list[Column] = Field(alias="fields", min_length=1)


class ErrorFacet(Facet):
    message: str
    programming_language: str


class JobTypeFacet(Facet):
    processing_type: Literal["BATCH", "STREAMING"]
    integration: str
    job_type: str


class _Exact(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)


class RunFacets(_Exact):
    error_message: ErrorFacet | None = None


class RunPart(_Exact):
    run_id: uuid.UUID
    facets: RunFacets


class JobFacets(_Exact):
    job_type: JobTypeFacet


class JobPart(_Exact):
    namespace: str
    name: str
    facets: JobFacets


class DatasetFacets(_Exact):
    schema_: SchemaFacet = Field(alias="schema")


class Dataset(_Exact):
    namespace: str = Field(pattern=r"^tradewind://[^/]+/[^/]+$")
    name: str
    facets: DatasetFacets


class RunEvent(_Exact):
    """An event as the specification (2-0-2) has it, with the facets that are sent, and nothing else."""

    event_type: Literal["START", "COMPLETE", "ABORT", "FAIL"]
    event_time: datetime
    producer: str = Field(pattern="^urn:tradewind:")
    schema_url: Literal["https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"] = Field(alias="schemaURL")
    run: RunPart
    job: JobPart
    inputs: list[Dataset]
    outputs: list[Dataset]


class Recorder:
    """What came: events, paths and headers. `answers` are the next statuses, and 200 after them; `delay` is before."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[int] = []
        self.location: str | None = None
        self.delay = 0.0
        self.url = ""

    def take(self, path: str, headers: dict[str, str], body: bytes) -> int:
        self.paths.append(path)
        self.headers.append(headers)
        time.sleep(self.delay)
        status = self.answers.pop(0) if self.answers else 200
        if status == 200:
            self.events.append(json.loads(body))
        return status

    def until(self, count: int, seconds: float = 20.0) -> list[dict[str, Any]]:
        """The events, once so many have come; each has the right shape."""
        end = time.monotonic() + seconds
        while len(self.events) < count:
            assert time.monotonic() < end, f"{len(self.events)} of {count} events came: {self.kinds()}"
            time.sleep(0.05)
        for one in self.events:
            RunEvent.model_validate(one)
        return self.events

    def kinds(self) -> list[tuple[str, str]]:
        return [(one["eventType"], one["job"]["name"]) for one in self.events]


@contextmanager
def recording() -> Iterator[Recorder]:
    recorder = Recorder()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(recorder.take(self.path, dict(self.headers), body))
            if recorder.location is not None:
                self.send_header("Location", recorder.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            recorder.take(f"GET {self.path}", dict(self.headers), b"{}")
            self.send_error(405)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    recorder.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield recorder
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
