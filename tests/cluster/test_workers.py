"""Several agents of one site: what one of them does is split over two, and made one again, while rows keep coming."""

from __future__ import annotations

import json
import time

import pytest

from tests.cluster.test_moving import FILE, Market
from tests.tiers import TIER, Tier
from tradewind.errors import InputError

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

TEXT = (
    FILE.replace("  south: {cores: 1, region: eu}\n  depot: {cores: 2, region: eu}\n", "")
    .replace("  - {between: [south, depot], mbps: 50, ms: 2, usd_per_gb: 0.02}\n", "")
    .replace("  - {between: [depot, hq], mbps: 50, ms: 5, usd_per_gb: 0.09}\n", "")
    .replace("[north, depot]", "[north, hq]")
    .replace("      south: {format: parquet, path: data/south, rows_per_second: 100}\n", "")
    .replace("pin: {partial: depot, merge: depot}", "pin: {partial: hq, merge: hq}")
)


class Yard(Market):
    """A shop, and headquarters with two agents."""

    all_sites = ("north", "hq")
    shops = ("north",)

    def worker(self, site: str, number: int) -> str:
        """Start a further agent of a site; what it is called."""
        name = f"{site}~{number}"
        token = self.state / "tokens" / name
        if not token.exists():
            token.write_text(self.command("token", site, "--worker", str(number)).strip())
        place = ["--root", str(self.folder), "--state", str(self.folder / "agents" / name), "--memory", self.memory]
        join = f"{token}@127.0.0.1:{self.port}"
        self._start(name, ["agent", "--site", site, "--worker", str(number), "--join", join, "--cores", "1", *place])
        self.until(lambda: self.status()["sites"].get(name, {}).get("state") == "alive", 120, "the worker is there")
        return name

    def until_split(self, state: str | None) -> None:
        def holds() -> bool:
            found = self.status()["splits"]
            assert not any(one["state"].startswith("not ") for one in found), found
            return (found[-1]["state"] if found else None) == state

        self.until(holds, 400, f"it is {state or 'one again'}")

    def at_work(self, place: str) -> int:
        """How many fragments run at a place, and have done something."""
        found = self.status()["sites"][place]["fragments"].values()
        return sum(one["state"] == "running" and one["rows"] > 0 for one in found)


def test_a_fragment_is_split_over_two_agents_of_its_site(tmp_path):
    with Yard(tmp_path, TEXT) as yard:
        yard.begin()
        with pytest.raises(InputError, match="0 free workers"):
            yard.client.post("/v1/split", {"what": "best", "over": 2})
        worker = yard.worker("hq", 2)
        assert yard.status()["sites"][worker]["worker_of"] == "hq"
        with yard.selling():
            begun = yard.client.post("/v1/split", {"what": "best"})
            assert (begun["over"], begun["places"], begun["keys"]) == (2, ["hq", worker], ["item"])
            yard.until_split("split")
            yard.until(lambda: yard.at_work(worker) == 1, 200, "the worker does its share")
            with pytest.raises(InputError, match="split already"):
                yard.client.post("/v1/split", {"what": "best"})
            if TIER is Tier.ALL:
                time.sleep(5)
                # Whoever takes part may die.
                yard.kill(worker)
                yard.worker("hq", 2)
                time.sleep(5)
            assert yard.client.post("/v1/merge", {"what": "best"})["fragment"] == begun["fragment"]
            yard.until_split(None)
            time.sleep(3)
        yard.check()
        assert begun["fragment"] in yard.status()["sites"]["hq"]["fragments"]
        assert yard.at_work(worker) == 0
        assert [one["state"] for one in yard.status()["moves"]] == ["done", "done"]
        _root_moves(yard, begun["fragment"])


def _root_moves(yard: Yard, root: str) -> None:
    """What merges and delivers goes to another site, where only its work is done, and comes back to be one again."""
    with yard.selling():
        gone = json.loads(yard.command("move", "best", "north", "--json"))
        assert (gone["source"], gone["target"], gone["state"]) == ("hq", "north", "done")
        assert gone["state_bytes"] > 0
        assert [one["state"] for one in yard.status()["splits"]] == ["apart"]
        yard.until(lambda: gone["arrives_as"] in yard.status()["sites"]["north"]["fragments"], 60, "north tells so")
        time.sleep(3)
        if TIER is Tier.ALL:
            assert "runs at hq" in yard.command("move", "best", "hq")
            yard.until_split(None)
    yard.check()
    if TIER is Tier.ALL:
        yard.until(lambda: root in yard.status()["sites"]["hq"]["fragments"], 60, "hq tells so")
