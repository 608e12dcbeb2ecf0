"""A fragment that is cut into parts while rows come, and made one again: its answer is what it would have been."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from tests.cluster.test_moving import FILE, Market
from tradewind.runtime.asked import horizon_of
from tradewind.runtime.cluster.desired import Wanted, held_at
from tradewind.runtime.cluster.moving_reports import MoveTold
from tradewind.runtime.cluster.moving_routes import Roads
from tradewind.runtime.cluster.moving_site import guests_of
from tradewind.runtime.cluster.planning import wanted_of
from tradewind.runtime.cluster.recut_lead import Recuts, merge_begun, next_step, to_split
from tradewind.runtime.cluster.recut_site import SiteRecut
from tradewind.runtime.cluster.recutting import Recut, Split
from tradewind.runtime.places import prepare, sink_of
from tradewind.runtime.setting import Setting
from tradewind.runtime.sites import Sites
from tradewind.runtime.wiring import Network
from tradewind.spark.memory import last_commit

pytestmark = pytest.mark.spark

DELIVERED = FILE.replace("pin: {partial: depot, merge: depot}", "pin: {partial: hq, merge: hq}")
CASES = {"sent on": (FILE, 2), "delivered": (DELIVERED, 2), "set apart from its answers": (DELIVERED, 1)}


class Hall(Market):
    """The market in one process: all sites with one Spark."""

    def __init__(self, spark, folder, text):
        super().__init__(folder, text)
        self.spark = spark
        self.wanted = wanted_of(self.found, text, None, folder / "figures")
        self.home = to_split(self.wanted, "best").site
        self.sinks = {
            name: sink_of(name, query, folder, lambda *_: None, pulled=False)
            for name, query in self.found.queries.items()
        }
        prepare(self.sinks)
        self.sites = Sites(self.setting(self.wanted), spark)

    def setting(self, wanted: Wanted) -> Setting:
        return Setting(
            self.found, wanted.deployed, self.sinks, self.folder / "state", horizon_of(self.found), False,
            wanted.intervals, lambda _: None, Network(imitate=False), None, wanted.horizons, held_at(wanted, self.home),
            wanted.terms, guests_of(wanted),
        )  # fmt: skip

    def __enter__(self):
        self.sites.start()
        return self

    def __exit__(self, *_):
        self.sites.stop()

    def restart(self) -> None:
        """As a process that ends and begins again."""
        self.sites.stop()
        self.sites = Sites(self.setting(self.wanted), self.spark)
        self.sites.start()

    def want(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.sites.adapt(self.setting(wanted))

    def until_holds(self, holds, what: str) -> None:
        end = time.monotonic() + 200
        while not holds():
            self.sites.wait(0)
            assert time.monotonic() < end, what
            time.sleep(0.1)

    def check(self) -> None:
        expected = self.expected()
        self.until_holds(lambda: self.answer() == expected, "the answer is right")

    def asked(self, parts: int) -> Wanted:
        """What is wanted so that it is in parts, and stays where it is."""
        whole, term = to_split(self.wanted, "best"), self.wanted.term + 1
        return replace(self.wanted, recut=Recut(term, Split(whole, term, (whole.site,) * parts)), term=term)

    def recut(self, asked: Wanted, *, dying: bool = False) -> None:
        part, recut = SiteRecut(self.home, self.folder / "state", time.perf_counter), asked.recut
        assert recut is not None
        part.take(asked)
        self.until_holds(lambda: part.braked(recut, self.sites), "it stands still")
        self.want(asked)
        told: dict = {}

        def done() -> bool:
            told.update(part.done(recut, self.sites))
            assert told["problem"] is None, told
            return bool(told["recut"])

        self.until_holds(done, "it is dealt out")
        part.wait()
        if dying:
            self.restart()
            part = SiteRecut(self.home, self.folder / "state", time.perf_counter)
            part.take(asked)
            self.until_holds(done, "it is dealt out, still")
        after = Recuts().next(asked, {self.home: MoveTold(site=self.home, term=recut.term, **told)}, 0.0, {})
        assert after is not None
        self.want(after)
        part.take(after)

    def positions(self) -> list[dict]:
        """How far the shares have read."""
        shares = self.wanted.splits[0].parting.shares
        return [last_commit(self.sites.setting.folder(one) / "memory").notes["positions"] for one in shares]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("text", "parts"), CASES.values(), ids=CASES)
def test_a_fragment_is_cut_and_made_one_again(spark, tmp_path, text, parts):
    with Hall(spark, tmp_path, text) as hall:
        hall.sell()
        hall.check()
        hall.sell()
        hall.recut(hall.asked(parts), dying=text == FILE or parts == 1)
        names = [one.name for one in hall.wanted.deployed.fragments]
        assert set(hall.sites.running) == set(names)
        for _ in range(3):
            hall.sell()
        hall.check()
        assert all(set(one) == set(hall.positions()[0]) for one in hall.positions())
        if text == FILE:
            hall.restart()
        if parts > 1:
            # One share is behind the other when they are made one.
            hall.sites.brake(hall.wanted.splits[0].parting.shares[0].name, 30)
            for _ in range(2):
                hall.sell()
            hall.until_holds(lambda: hall.positions()[0] != hall.positions()[1], "the other one goes on")
        joining = next_step(merge_begun(hall.wanted, "best"), lambda: Roads.of(hall.found))
        assert joining is not None
        assert joining.recut is not None
        whole = joining.recut.split.whole
        hall.recut(joining)
        assert whole.name in hall.sites.running
        assert not [name for name in hall.wanted.deployed.channels if name.startswith(("share-", "answer-"))]
        hall.sell()
        hall.check()
        assert sum(hall.answer().values()) > 0
