"""What goes wrong between sites leaves no trace in the answer: processes killed, links cut, streams deleted."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time

import pytest

from tests.sites.killing import finish, kill_after
from tests.sites.shops import Shops, write
from tests.tiers import TIER, Tier
from tradewind.backbone.channels import Reader, delete
from tradewind.backbone.connection import Connection
from tradewind.backbone.disturbances import Disturbance
from tradewind.backbone.names import Address
from tradewind.backbone.server import Server
from tradewind.errors import RunError
from tradewind.runtime.planned import planned
from tradewind.runtime.wiring import Network

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.timeout(600)]

KILLS = int(os.environ.get("TRADEWIND_KILLS", "20"))
"""`TRADEWIND_KILLS=50 ./dev test tests/sites` does more of them, and `./dev bench faults` many."""
IN_A_ROW = 10 if TIER is Tier.ALL else 3
"""So many kills hit the same state, one after the other."""


def seen_twice(shops: Shops) -> list[str]:
    """Channels on which a batch was committed twice, at any site."""
    found = []
    server = Server.start(shops.folder / "state" / "backbone")
    connection = Connection.open(server.url)
    try:
        for channel in planned(shops.found).deployed.channels.values():
            for site in channel.sites:
                commits = Reader(connection, Address("shops", site, channel.name)).commits(0)
                orders = [placed.commit.order for placed in commits]
                if orders != sorted(set(orders)):
                    found.append(f"{channel.name} at {site}: {orders}")
    finally:
        connection.close()
        server.stop()
    return found


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(KILLS // IN_A_ROW))
def test_killed_at_random_moments_it_goes_on_as_if_nothing_had_been(tmp_path, seed) -> None:
    chance = random.Random(seed)
    shops = Shops(tmp_path, seed)
    for _ in range(IN_A_ROW):
        kill_after(shops, chance.uniform(0, 5))
    finish(shops)
    shops.check()
    assert seen_twice(shops) == []


def test_the_server_killed_in_the_middle(spark, tmp_path) -> None:
    shops = Shops(tmp_path, 11)
    with shops.found.run(state=tmp_path / "state", spark=spark) as live:
        server = live.wiring.server
        assert server is not None
        killed = 0
        while not live.wait(1.5):
            if killed < 3:
                os.kill(server.pid, signal.SIGKILL)
                killed += 1
        assert killed
        assert server.restarts >= 1
    shops.check()


def test_a_cut_link_makes_answers_tentative_and_is_made_good_after_it_heals(spark, tmp_path) -> None:
    shops = Shops(tmp_path, 12)
    network = Network((Disturbance("north", "depot", None, 0.0, None),))
    with shops.found.run(state=tmp_path / "state", spark=spark, network=network) as live:
        missing: tuple[str, ...] = ()
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not (missing and live.totals["best"].tentative):
            assert not live.wait(0.2), "it ends though a shop is cut off"
            missing = live.missing().get("best", ())
        assert missing == ("sales/north",)
        totals = live.totals["best"]
        assert (totals.final, totals.tentative > 0) == (0, True)
        assert live.links()["north", "depot"].cut
        live.wiring.links_between.heal("north", "depot")
        assert live.wait(120)
    shops.check()


@pytest.mark.slow
def test_more_rows_after_the_end_take_back_what_only_the_end_made_true(spark, tmp_path) -> None:
    shops = Shops(tmp_path, 13)
    with shops.found.run(state=tmp_path / "state", spark=spark) as live:
        live.wait()
    shops.check()
    more = [(time * 1_000_000, "i1", 5) for time in range(90, 130, 4)]
    shops.rows["sales"]["south"] += more
    write(tmp_path / "data" / "south", more, shops.found.streams["sales"].source.schema, 1, first=50)
    with shops.found.run(state=tmp_path / "state", spark=spark) as live:
        live.wait()
    shops.check()


def test_a_stream_deleted_from_outside_ends_the_run_with_its_name(spark, tmp_path) -> None:
    shops = Shops(tmp_path, 14)
    channel = next(iter(planned(shops.found).deployed.channels.values()))
    with shops.found.run(state=tmp_path / "state", spark=spark, until_done=False) as live:
        delete(live.wiring.connection, Address("shops", channel.sites[-1], channel.name))
        with pytest.raises(RunError, match=channel.name):
            live.wait(120)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="a small file system needs root")
def test_a_full_disk_ends_the_run_and_with_more_room_it_goes_on(spark, tmp_path) -> None:
    shops = Shops(tmp_path, 15, rows=20_000)
    state = tmp_path / "state"
    state.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(state)], check=True)
    try:
        with (
            pytest.raises(RunError, match=r"[Nn]o (space|room)") as told,
            shops.found.run(state=state, spark=spark) as live,
        ):
            live.wait()
        assert "free disk space" in str(told.value)
        subprocess.run(["mount", "-o", "remount,size=500m", str(state)], check=True)
        with shops.found.run(state=state, spark=spark) as live:
            live.wait()
        shops.check()
    finally:
        subprocess.run(["umount", "--lazy", str(state)], check=True)
