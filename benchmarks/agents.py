"""How a coordinator copes with many sites: agents that join, listen and report as real ones do, but run nothing.

./dev bench agents [--agents 100]

Each agent is a thread with its own identity and its own TLS connection. Measured are the times of `apply`, from the
question until the coordinator has answered, and until all agents have taken what is wanted; and of `status`.
"""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from _charts import chart

from tradewind.errors import TradewindError
from tradewind.runtime.cluster.client import Client, Contact
from tradewind.runtime.cluster.control import Control
from tradewind.runtime.cluster.coordinator import Coordinator, Office
from tradewind.runtime.cluster.desired import opened
from tradewind.runtime.cluster.reports import FragmentTold, SiteReport
from tradewind.trust.identity import Identity
from tradewind.web.app import app
from tradewind.web.serving import Served

logging.getLogger("asyncio").setLevel(logging.ERROR)
SECRET = "a-secret-for-the-benchmark"
SQL = "SELECT window.start AS t, item, count(*) AS n FROM sales GROUP BY window(ts, '1 minute'), item"


def deployment(agents: int) -> str:
    """So many shops that send what they count to one place."""
    sites = {"hq": {"cores": 8}, **{f"shop{n}": {"cores": 2} for n in range(agents - 1)}}
    links = [{"between": [name, "hq"], "mbps": 50, "ms": 10, "usd_per_gb": 0.02} for name in list(sites)[1:]]
    at = {name: {"format": "json", "path": f"data/{name}", "rows_per_second": 100, "row_bytes": 20} for name in sites}
    sales = {"schema": "ts TIMESTAMP, item STRING", "time": "ts", "distinct": {"item": 50}, "at": at}
    query = {"sql": SQL, "deliver": {"site": "hq", "format": "parquet", "path": "out"}}
    return json.dumps({"sites": sites, "links": links, "streams": {"sales": sales}, "queries": {"counts": query}})


class Agent(threading.Thread):
    """An agent that takes what is wanted and says that all is well."""

    def __init__(self, identity: Identity, site: str, port: int) -> None:
        super().__init__(daemon=True)
        self._control = Control(f"127.0.0.1:{port}", site, identity, lambda _: None)
        self._identity = identity
        self._site = site
        self._stopping = threading.Event()
        self.epoch = 0
        self.start()

    def run(self) -> None:
        fragments: dict[str, FragmentTold] = {}
        number, told = 0, 0.0
        while not self._stopping.wait(0.1):
            record = self._control.news()
            if record is not None:
                desired = opened(record, self._identity.verifying_key)
                self.epoch = desired.epoch
                ours = (
                    [one for one in desired.wanted.deployed.fragments if one.site == self._site]
                    if desired.wanted
                    else []
                )
                fragments = {one.name: FragmentTold(state="running") for one in ours}
            if time.perf_counter() - told >= 1.0:
                told, number = time.perf_counter(), number + 1
                self._control.tell(
                    SiteReport(
                        site=self._site, agent="simulated", number=number, epoch=self.epoch, state="running",
                        fragments=fragments,
                    )
                )  # fmt: skip

    def end(self) -> None:
        self._stopping.set()
        self.join()
        self._control.close()


def joined(coordinator: Coordinator, site: str, folder: Path) -> Identity:
    token = coordinator.token(site, 600)
    _, csr = Identity.requested(folder, site)
    answer = coordinator.join(token, csr.decode())
    return Identity.received(
        folder, site, answer["certificate"].encode(), answer["ca"].encode(), answer["verifying_key"]
    )


def until(holds, seconds: float, what: str) -> None:
    end = time.perf_counter() + seconds
    while not holds():
        if time.perf_counter() > end:
            raise TradewindError(f"not within {seconds} s: {what}")
        time.sleep(0.02)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tradewind-bench-"))
    coordinator = Coordinator(Office(folder / "coordinator", ("127.0.0.1", 0), root=folder))
    coordinator.start()
    agents: list[Agent] = []
    own = coordinator.members.own
    served = Served.start(app(coordinator, SECRET, {"127.0.0.1"}), "127.0.0.1", 0, own.certificate, own.key)
    client = Client(Contact(f"https://127.0.0.1:{served.port}", SECRET, coordinator.ca()))
    try:
        begin = time.perf_counter()
        names = ["hq", *(f"shop{n}" for n in range(given.agents - 1))]
        identities = {name: joined(coordinator, name, folder / "agents" / name) for name in names}
        print(f"{given.agents} agents have joined in {time.perf_counter() - begin:.1f} s", flush=True)
        agents = [Agent(identity, name, coordinator.port) for name, identity in identities.items()]
        until(lambda: len(coordinator.registry.heard) == given.agents, 120, "all agents report")
        figures: dict[str, list[float]] = {"apply": [], "apply, until all have it": [], "status": []}
        text = deployment(given.agents)
        for round_ in range(given.rounds):
            begin = time.perf_counter()
            body = {"text": text + " " * round_, "called": "shops.yaml", "fresh": True}
            epoch = client.post("/v1/apply", body)["epoch"]
            figures["apply"].append(time.perf_counter() - begin)
            until(lambda: all(one.epoch >= epoch for one in agents), 60, "all agents have taken it")  # noqa: B023
            figures["apply, until all have it"].append(time.perf_counter() - begin)
            begin = time.perf_counter()
            client.get("/v1/status")
            figures["status"].append(time.perf_counter() - begin)
        for what, times in figures.items():
            print(f"{what}: best {min(times):.2f} s, worst {max(times):.2f} s", flush=True)
        until(lambda: client.get("/v1/status")["state"] == "running", 30, "it runs")
        best = {"Tradewind": {what: min(times) for what, times in figures.items()}}
        chart("agents", f"a coordinator of {given.agents} sites", "seconds", best)
    finally:
        with ThreadPoolExecutor(len(agents) or 1) as together:
            list(together.map(Agent.end, agents))
        served.stop()
        coordinator.stop_leading()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
