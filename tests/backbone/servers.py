"""Servers, connections and channels for the tests of the backbone."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import within
from tradewind.backbone.channels import Limits, Publisher, create, publish_part
from tradewind.backbone.commits import Commit, Placed
from tradewind.backbone.connection import Connection
from tradewind.backbone.names import Address
from tradewind.backbone.server import Server
from tradewind.backbone.settings import Leaf

_numbers = itertools.count()


@contextmanager
def served(folder: Path, max_bytes: int | None = None, leaf: Leaf | None = None) -> Iterator[Server]:
    """A server that is gone afterwards."""
    server = Server.start(folder, max_bytes=max_bytes, leaf=leaf)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def connected(url: str, patience: float = 10.0) -> Iterator[Connection]:
    connection = Connection.open(url, patience=patience)
    try:
        yield connection
    finally:
        connection.close()


def fresh(connection: Connection, limits: Limits = Limits()) -> Address:  # noqa: B008  it is frozen
    """A channel that nobody has used."""
    address = Address("test", "ams", f"channel-{next(_numbers)}")
    create(connection, address, limits)
    return address


def committed(publisher: Publisher, commit: Commit) -> Placed:
    """Commits what was not there."""
    placed = publisher.commit(commit)
    assert placed is not None
    return placed


def batch(connection: Connection, address: Address, number: int, payload: bytes = b"rows", *, epoch: int = 1) -> Placed:
    """Writes one batch of one part."""
    part = publish_part(connection, address, payload, 1)
    return committed(Publisher(connection, address, "f", epoch), Commit("f", epoch, number, (part,), {"s/ams": number}))


def eventually(what: str, holds: Callable[[], bool], seconds: float = 10.0) -> None:
    """Waits until something holds, for so many seconds of a quiet machine at most."""
    begin = time.monotonic()
    while not holds():
        # The load is asked for each time: it may have risen since.
        assert time.monotonic() - begin < within(seconds), f"not within {seconds} s: {what}"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def killed(server: Server) -> None:
    """Kills a server and waits until it is back."""
    pid, restarts = server.pid, server.restarts
    os.kill(pid, signal.SIGKILL)
    eventually("it is started again", lambda: server.restarts > restarts and server.pid != pid)


def background(work: Callable[..., object], *given: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=given, daemon=True)
    thread.start()
    return thread
