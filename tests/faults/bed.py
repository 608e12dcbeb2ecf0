"""A test bed: a coordinator and an agent for each site of a market, as processes on a network that can be disturbed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.cluster.clusters import COMMAND, Cluster, telling
from tests.faults.market import Market
from tests.faults.network import COORDINATOR, Network, do, network
from tradewind.backbone.connection import Connection
from tradewind.backbone.settings import former
from tradewind.errors import TradewindError

AGENT_WITHIN, LINK_WITHIN = 30.0, 10.0
"""Seconds within which all is as it should be again, after an agent or a link was not."""
_ENDS_WITH_US = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []
"""What is started by a test that is killed ends by itself."""


class Bed(Cluster):
    """The cluster of a market. It is started by `with`, and nothing of it is left afterwards."""

    def __init__(
        self,
        folder: Path,
        seed: int = 1,
        shops: tuple[str, ...] = ("north", "south"),
        small: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(folder)
        self.small = dict(small or {}) if os.geteuid() == 0 else {}
        """Sites whose state lies on a disk of so many megabytes."""
        self.market = Market(folder, seed, shops)
        self.net: Network = network(self.market.sites, [(shop, "hq") for shop in shops])
        self.more: dict[str, dict[str, str]] = {}
        """What the environment of an agent holds besides ours."""
        self.started_within = 0.0
        """Seconds until all of it ran, and had read something: how slow this machine is just now."""

    def __enter__(self) -> Self:
        begin = time.perf_counter()
        try:
            for site, megabytes in self.small.items():
                self.state_of(site).mkdir(parents=True)
                do("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", f"twf{os.getpid()}", str(self.state_of(site)))
            self.lead()
            for site in self.market.sites:
                self.join(site)
            self.market.sell()
            self.until_state("running", 300)
            # What comes from now on finds marks, by which it is late or not.
            self.caught_up(180)
            self.started_within = time.perf_counter() - begin
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for process in self.processes.values():
                process.send_signal(signal.SIGCONT)
                process.terminate()
            super().__exit__(kind, error, trace)
        finally:
            self.net.close()
            for site in self.small:
                subprocess.run(["umount", "--lazy", str(self.state_of(site))], capture_output=True, check=False)

    # --- its processes ----------------------------------------------------------------------------------------

    def lead(self) -> None:
        """Start the coordinator, or start it again."""
        at = self.net.address(COORDINATOR)
        listen = f"{at}:0" if at == "127.0.0.1" else f"{at}:7470"
        self.serve(str(self.market.file), "--full-speed", "--host", at, listen=listen)

    def join(self, site: str) -> None:
        """Start a site's agent for the first time."""
        body = {"site": site, "seconds": 600, "hosts": [self.net.address(site)]}
        token = self.folder / f"{site}.token"
        token.write_text(self.client.post("/v1/tokens", body)["token"])
        self.agent(site)

    def agent(self, site: str, *options: str) -> None:
        """Start a site's agent, or start it again."""
        at = f"{self.folder / f'{site}.token'}@{self.net.address(COORDINATOR)}:{self.port}"
        common = ["--root", str(self.folder), "--state", str(self.state_of(site)), "--memory", self.memory]
        words = ["agent", "--site", site, "--join", at, "--cores", "1", *common, *self.net.listening(site), *options]
        self._start(site, words)

    def _start(self, name: str, words: list[str]) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [*_ENDS_WITH_US, *self.net.words(name), *COMMAND, *words], stdout=log, stderr=log, cwd=self.folder,
                start_new_session=True, env={**telling(), **self.more.get(name, {})},
            )  # fmt: skip

    def state_of(self, site: str) -> Path:
        return self.folder / "agents" / site

    def runs_of(self, site: str) -> Path:
        """Where a site keeps the state of what runs there."""
        return next((self.state_of(site) / "runs").iterdir())

    def server(self, site: str) -> int:
        """The process id of a site's nats-server."""
        folder = self.state if site == COORDINATOR else self.state_of(site)
        return int((folder / "backbone" / "nats.pid").read_text())

    def connected(self, site: str) -> Connection:
        """A connection to a site's own server."""
        found = former((self.state_of(site) / "backbone").resolve())
        assert found is not None
        with self.net.inside(site):
            return Connection.open(found.url)

    def connections(self, site: str) -> int:
        """How often a site's agent is connected to the site's server."""
        pid = self.processes[site].pid
        found = former((self.state_of(site) / "backbone").resolve())
        assert found is not None
        port = f"{int(found.url.rpartition(':')[2]):04X}"
        # Each line: number, our address, theirs, state (01 is an open connection), five more, and the socket's inode.
        lines = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
        sockets = {f"socket:[{one[9]}]" for one in lines if one[2].endswith(f":{port}") and one[3] == "01"}
        return sum(_leads_to(file) in sockets for file in Path(f"/proc/{pid}/fd").iterdir())

    # --- how it goes ------------------------------------------------------------------------------------------

    def seen(self) -> dict[str, Any] | None:
        """How everything is, if the coordinator is there to tell."""
        try:
            return self.status()
        except TradewindError:
            return None

    def read(self) -> dict[str, dict[str, int]]:
        """What was read at each shop: rows, late, dropped and bad ones."""
        with suppress(TradewindError):
            found: dict[str, dict[str, int]] = self.client.get("/v1/stats")["read"].get("sales", {})
            return found
        return {}

    def is_caught_up(self) -> bool:
        """Whether all that was written is in the answers."""
        return not self.market.differences()

    def caught_up(self, seconds: float) -> float:
        """Wait for that; how long it took."""
        begin = time.perf_counter()
        try:
            self.until(self.is_caught_up, seconds, "all that was written is in the answers")
        except AssertionError as error:
            told = self.market.differences()
            raise AssertionError(f"{len(told)} rows are wrong: {told[:4]}; read: {self.read()}; {error}") from None
        return time.perf_counter() - begin

    def until(self, holds: Callable[[], bool], seconds: float, what: str) -> None:
        try:
            super().until(holds, seconds, what)
        except TradewindError as error:  # there is no coordinator that could be asked
            raise AssertionError(f"not within {seconds} s: {what} ({error})") from None


def _leads_to(file: Path) -> str:
    try:
        return str(file.readlink())
    except OSError:
        return ""  # it was closed meanwhile
