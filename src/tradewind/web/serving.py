"""The interface at a port: uvicorn in a thread of its own, with TLS where there is a certificate."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from tradewind.errors import InputError, RunError

_GRACE = 5
_PATIENCE = 15.0
_HEADERS = 10.0
"""Seconds until the headers of a request have to be complete."""


class Served:
    """An interface that is served until it is stopped; `port` is where."""

    def __init__(self, app: FastAPI, config: uvicorn.Config, listener: socket.socket) -> None:
        self.port: int = listener.getsockname()[1]
        self._closing: threading.Event = app.state.watch.closing
        self._server = uvicorn.Server(config)
        self._listener = listener
        self._thread = threading.Thread(target=self._run, name="tradewind-web", daemon=True)
        self._thread.start()
        pause = threading.Event()
        while self._thread.is_alive() and not self._server.started:
            pause.wait(0.01)
        if not self._server.started:
            self.stop()
            raise RunError("the interface does not start.", where="web", hint="the log says why.")

    @staticmethod
    def start(
        app: FastAPI,
        host: str = "127.0.0.1",
        port: int = 0,
        certificate: Path | None = None,
        key: Path | None = None,
        *,
        headers_within: float = _HEADERS,
    ) -> Served:
        """Serves an app; it listens when this returns. Port 0 is any that is free; see `port`."""
        config = _config(app, certificate, key, headers_within)
        listener = _listening(host, port)
        try:
            return Served(app, config, listener)
        except BaseException:
            listener.close()
            raise

    def stop(self) -> None:
        """Ends it: those who watch are let go, and what is being answered gets a few seconds."""
        self._closing.set()
        self._server.should_exit = True
        self._thread.join(_PATIENCE)
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._listener])
        except Exception:
            logging.getLogger(__name__).exception("the interface broke down")


class _Renewed:
    """Shows a certificate that was renewed to whoever connects from then on."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._files = certificate, key
        self._seen = self._written()
        self._context: ssl.SSLContext | None = None

    def __call__(self, connection: ssl.SSLObject, _name: str | None, _usual: ssl.SSLContext) -> None:
        with suppress(OSError, ssl.SSLError):  # both files are not there at the same moment: next time they are
            written = self._written()
            if written != self._seen:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(*self._files)
                self._context, self._seen = context, written
        if self._context is not None:
            connection.context = self._context

    def _written(self) -> list[int]:
        return [file.stat().st_mtime_ns for file in self._files]


def _timely(seconds: float) -> type[H11Protocol]:
    """HTTP whose requests have to have complete headers after so many seconds; uvicorn itself waits for ever."""

    class Timely(H11Protocol):
        _overdue: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._overdue = self.loop.call_later(seconds, transport.close)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            # Idle is who has not sent all headers; between two requests uvicorn's own patience counts.
            if self.conn.their_state is not h11.IDLE:
                self._unset_overdue()
            elif self._overdue is None and not self.transport.is_closing():
                self._overdue = self.loop.call_later(seconds, self.transport.close)

        def connection_lost(self, exc: Exception | None) -> None:
            self._unset_overdue()
            super().connection_lost(exc)

        def _unset_overdue(self) -> None:
            if self._overdue is not None:
                self._overdue.cancel()
                self._overdue = None

    return Timely


def _config(app: FastAPI, certificate: Path | None, key: Path | None, headers_within: float) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http=_timely(headers_within),
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        # Whoever asks could claim to be anybody else.
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    try:
        config.load()
        if config.ssl is not None and certificate is not None and key is not None:
            config.ssl.sni_callback = _Renewed(certificate, key)
    except (ssl.SSLError, OSError) as error:
        raise InputError(
            f"the certificate cannot be used: {error.strerror or error}.",
            where=f"{certificate}, {key}",
            hint="both have to be PEM files that can be read, and the key that of the certificate.",
        ) from None
    return config


def _listening(host: str, port: int) -> socket.socket:
    where = f"{host}:{port}"
    if not 0 <= port <= 65535:
        raise InputError(f"{port} is not a port.", where=where, hint="ports are 0 to 65535.")
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"port {port} is in use.", where=where, hint="give another, or 0 for a free one."
            ) from None
        raise InputError(
            f"one cannot listen there: {error.strerror or error}.",
            where=where,
            hint="give an address of this machine, and a port above 1023 unless you are root.",
        ) from None
