"""A nats-server that lives as long as the process that started it: no longer, and through its own deaths."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO
from weakref import WeakSet

from tradewind.backbone import binary
from tradewind.backbone.logbook import Logbook
from tradewind.backbone.process import NotStartedError, Process, end_former, let_go
from tradewind.backbone.settings import Leaf, Settings, former, free_port, in_the_way, settings
from tradewind.errors import InputError, RunError, TradewindError

# A server that dies so often within so many seconds is not started again.
_DEATHS, _WITHIN = 5, 10.0
_PORTS = 5
_LOOK = 0.1


@dataclass(eq=False)
class _Order:
    """Other settings that are to hold from now on; `problem` says why they do not."""

    settings: Settings
    done: threading.Event = field(default_factory=threading.Event)
    problem: str | None = None


class Server:
    """A nats-server with JetStream on this machine, in a folder that keeps what it stores.

    `restarts` counts how often it died and was started again; `failure` says why it is not started any more.
    """

    def __init__(self, program: Path, chosen: Settings, lock: IO[str]) -> None:
        self.restarts = 0
        self.failure: TradewindError | None = None
        self.settings = chosen
        self._program = program
        self._lock = lock
        self._log = Logbook(chosen.log)
        self._stopping = threading.Event()
        self._changing = threading.Lock()
        self._order: _Order | None = None
        self._process = Process(program, chosen, self._log)
        self._supervisor = threading.Thread(target=self._supervise, name="tradewind-nats-server", daemon=True)
        try:
            self._process.await_listening(self._stopping)
        except BaseException:
            self._process.end()
            raise
        self._supervisor.start()
        _running.add(self)

    @staticmethod
    def start(
        folder: Path, *, port: int | None = None, max_bytes: int | None = None, leaf: Leaf | None = None
    ) -> Server:
        """Starts a server in a folder, which may hold what a former one stored; it listens when this returns.

        All of its streams together may hold `max_bytes`, which they reserve when they are made. With `leaf` it is
        joined to the servers of other sites.
        """
        return started(folder, lambda folder: settings(folder, port, max_bytes, leaf), port)

    @property
    def url(self) -> str:
        """Where clients on this machine connect, with credentials."""
        return self.settings.url

    def link_url(self, site: str) -> str:
        """Where clients on this machine connect to speak with a neighbour, with credentials."""
        return self.settings.link_url(site)

    def reconfigure(self, leaf: Leaf | None) -> None:
        """Other neighbours from now on. Unless they are the same the process is replaced, which all clients survive."""
        with self._changing:
            if leaf != self.settings.leaf:
                self._replaced(replace(self.settings, leaf=leaf))

    def adopt(self, chosen: Settings) -> None:
        """Other settings from now on, of the same folder and port. The process goes on if it can."""
        with self._changing:
            if chosen == self.settings:
                return
            # First: one that dies meanwhile is started again with these.
            former, self.settings = self.settings, chosen
            # Twice: accounts that are new have no ways into others before they are read for the second time.
            if not (self._process.read_again(chosen) and self._process.read_again(chosen)):
                self.settings = former
                self._replaced(chosen)

    def renew(self) -> None:
        """Its certificate is another one from now on, in the same files; all clients survive that."""
        with self._changing:
            self._replaced(self.settings)

    @property
    def pid(self) -> int:
        """The process id of the server that runs now."""
        return self._process.pid

    def stop(self) -> None:
        """Ends the server; what it stored stays."""
        self._stopping.set()
        self._process.changed.set()
        self._supervisor.join()
        self._lock.close()
        _running.discard(self)

    def release(self) -> None:
        """In a forked process: lets go of what only the parent may hold."""
        if not self._lock.closed:
            let_go(self._lock.fileno())
        self._process.release()

    def _replaced(self, chosen: Settings) -> None:
        _check_leaf(chosen, self.settings)
        order = _Order(chosen)
        self._order = order
        self._process.changed.set()
        while not order.done.wait(_LOOK):
            if not self._supervisor.is_alive():
                order.problem = str(self.failure or "it has been stopped")
                break
        if order.problem is not None:
            raise RunError(
                f"nats-server does not start with other settings. It said:\n{order.problem}",
                where=str(chosen.folder),
                hint="are its certificates there, and is nobody else at the port for its neighbours?",
            )

    def _supervise(self) -> None:
        deaths: deque[float] = deque(maxlen=_DEATHS)
        while True:
            self._process.changed.wait()
            self._process.end()
            if self._stopping.is_set():
                return
            order, self._order = self._order, None
            if order is not None:
                self._obey(order)
                continue
            now = time.monotonic()  # noqa: TID251  the server's deaths happen in real time
            deaths.append(now)
            if len(deaths) == _DEATHS and now - deaths[0] < _WITHIN:
                self.failure = RunError(
                    f"nats-server died {_DEATHS} times within {_WITHIN:.0f} s. It said last:\n{self._log.last_words()}",
                    where=str(self.settings.folder),
                    hint="is the disk full, or the store damaged? Nothing that was committed is lost by trying again.",
                )
                return
            self.restarts += 1
            self._begin(self.settings)

    def _obey(self, order: _Order) -> None:
        """Starts with other settings; with the former ones again if it does not start with these."""
        former, self.settings = self.settings, order.settings
        order.problem = self._begin(self.settings)
        if order.problem is not None and not self._stopping.is_set():
            self.settings = former
            self._begin(former)
        order.done.set()

    def _begin(self, chosen: Settings) -> str | None:
        """Starts a process, and waits until it listens; what it said if it does not."""
        self._process = Process(self._program, chosen, self._log)
        if self._stopping.is_set() or self._order is not None:
            self._process.changed.set()
        try:
            self._process.await_listening(self._stopping)
        except NotStartedError as said:
            return str(said)
        return None


def started(folder: Path, choose: Callable[[Path], Settings], port: int | None) -> Server:
    """Starts a server in a folder, with the settings that are chosen once the folder is ours."""
    program = binary.found()
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = _locked(folder)
    try:
        # Before a port is chosen: the former one's is to be used again.
        end_former(folder)
        chosen = choose(folder)
        _check_leaf(chosen, None)
        return _first_start(program, chosen, port, lock)
    except BaseException:
        lock.close()
        raise


def url_of(folder: Path) -> str | None:
    """Where the server of a folder listens, if one does now."""
    chosen = former(folder.resolve())
    return chosen.url if chosen is not None and chosen.answers() else None


def _first_start(program: Path, chosen: Settings, port: int | None, lock: IO[str]) -> Server:
    """Starts at the port that was asked for, or else at one that is free, also when somebody else is faster."""
    for _ in range(_PORTS):
        if port is not None and (why := in_the_way(port, chosen.listens_at)) is not None:
            raise InputError(
                why, where="nats-server", hint="give an address of this machine, and a port that nobody else has."
            )
        try:
            return Server(program, chosen, lock)
        except NotStartedError as said:
            if "address already in use" not in str(said):
                raise RunError(
                    f"nats-server does not start. It said:\n{said}",
                    where=str(chosen.folder),
                    hint="is the disk full, or the store damaged?",
                ) from None
        chosen = replace(chosen, port=free_port() if port is None else port)
    raise RunError(f"no port stays free for as long as it takes: {_PORTS} were tried.", where=str(chosen.folder))


def _check_leaf(chosen: Settings, former: Settings | None) -> None:
    """An address for neighbours that cannot be had is named before anything is done."""
    wanted = chosen.leaf.opened if chosen.leaf is not None else None
    now = former.leaf.opened if former is not None and former.leaf is not None else None
    if wanted is not None and wanted != now and (why := in_the_way(wanted[1], wanted[0])) is not None:
        raise InputError(
            f"it cannot listen for its neighbours: {why}",
            where="nats-server",
            hint="is that an address of this machine, and the port free?",
        )


def _locked(folder: Path) -> IO[str]:
    """The folder's lock: two servers on one store would destroy it. It is gone with the process that holds it."""
    lock = (folder / "lock").open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise InputError(
            "another process runs its nats-server there.",
            where=str(folder),
            hint="a deployment runs once in a folder: end the other run, or use another folder.",
        ) from None
    return lock


def _let_go_of_all() -> None:
    for server in _running:
        server.release()


_running: WeakSet[Server] = WeakSet()
os.register_at_fork(after_in_child=_let_go_of_all)
