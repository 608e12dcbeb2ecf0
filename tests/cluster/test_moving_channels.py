"""A fragment's channels and its state on real servers when its writer moves: no Spark, no agents."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.backbone.certificates import Authority
from tests.backbone.servers import batch, connected, eventually, served
from tests.backbone.sites import joined, leaves
from tests.backbone.test_control import OWNER, SITES, controlled, entered
from tests.cluster.test_moving import FILE
from tests.cluster.test_moving_state import memory
from tests.fragments.test_cut import planned
from tradewind.backbone import parcels
from tradewind.backbone.channels import Limits, Reader, create, inherit
from tradewind.backbone.commits import Commit
from tradewind.backbone.links import Links, LinkShape
from tradewind.backbone.names import Address
from tradewind.backbone.parcels import Label
from tradewind.backbone.retention import whole
from tradewind.backbone.taps import RemoteTap
from tradewind.errors import DataError, RunError, TradewindError
from tradewind.runtime.cluster.moving import Parcel
from tradewind.runtime.cluster.moving_in import Arriving
from tradewind.runtime.cluster.moving_routes import chosen
from tradewind.runtime.cluster.moving_state import Manifest, Said, order_of, pack
from tradewind.spark.memory import last_commit

TERM = 1 << 20


def orders(connection, address) -> list[tuple[int, int]]:
    """The batches of a channel, each with the term that it was written in."""
    return [(one.commit.batch, one.commit.epoch >> 20) for one in Reader(connection, address).commits(0)]


def test_a_copy_goes_on_when_its_writer_has_moved(tmp_path) -> None:
    with joined(tmp_path, leaves(tmp_path, "abq", ("qa", "qb"))) as sites:
        a, b, q = (sites[name] for name in "abq")
        at = {name: Address("d", name, "c") for name in "abq"}
        create(a.connection, at["a"])
        # Orphans and other batches let the numbers at the two starts have nothing to do with each other.
        for number in range(6):
            batch(a.connection, at["a"], number, b"x" * 10, epoch=3)
        a.offered["c"], b.offered["c"] = at["a"], at["b"]
        links = Links(q.server.url, "d", [LinkShape("a", "q"), LinkShape("b", "q")])
        links.carry("a", "q", "c", tap=RemoteTap(q.reaches["a"], at["a"]))
        links.start()
        try:
            eventually("all was copied", lambda: orders(q.connection, at["q"]) == [(n, 0) for n in range(6)])
            inherit(b.connection, at["b"], Commit("f", TERM, 5, marks={"s/ams": 5}))
            assert not whole(b.connection, at["b"])
            links.carry("b", "q", "c", tap=RemoteTap(q.reaches["b"], at["b"], TERM))
            links.drop("a", "q", "c")
            batch(b.connection, at["b"], 6, epoch=TERM + 1)
            batch(b.connection, at["b"], 7, epoch=TERM + 1)
            wanted = [*((n, 0) for n in range(6)), (6, 1), (7, 1)]
            eventually("it goes on, and nothing comes twice", lambda: orders(q.connection, at["q"]) == wanted)
            # One who does not know that it has moved has nothing to say any more.
            with pytest.raises(RunError, match="is over"):
                batch(b.connection, at["b"], 8, epoch=9)
            links.stop()
            links.start()
            batch(b.connection, at["b"], 8, epoch=TERM + 1)
            eventually("also after a restart", lambda: orders(q.connection, at["q"]) == [*wanted, (8, 1)])
            assert links.failure is None
        finally:
            links.stop()


def test_a_channel_that_was_copied_before_is_inherited_as_it_is(tmp_path) -> None:
    with served(tmp_path / "server") as server, connected(server.url) as connection:
        address = Address("d", "b", "c")
        create(connection, address)
        batch(connection, address, 5)
        for _ in range(2):
            inherit(connection, address, Commit("f", TERM, 5, marks={"s/ams": 5}))
        assert orders(connection, address) == [(5, 0)]
        assert whole(connection, address)


@pytest.fixture
def fragment(tmp_path):
    file = tmp_path / "market.yaml"
    file.write_text(FILE)
    return replace(chosen(planned(file), "best"), site="hq")


def test_a_state_is_fetched_and_finds_its_place(tmp_path, fragment) -> None:
    one, two = fragment.inputs
    (output,) = fragment.outputs
    source = memory(tmp_path / "there")
    said = {output: Said(order_of(7, True), {"sales/north": 5})}
    packed = pack(source, Manifest({one: order_of(4, False), two: order_of(2, True)}, said, 2), tmp_path / "sent")
    authority = Authority(_made(tmp_path / "tls"))
    label = Label("ams", "hq", "market-1-1")
    parcel = Parcel(packed.digest, packed.size, 1, packed.state_bytes)
    with (
        controlled(tmp_path / "control", authority) as control,
        entered(control, authority, OWNER) as owner,
        entered(control, authority, SITES["ams"], "ams") as ams,
        entered(control, authority, SITES["hq"], "hq") as hq,
        served(tmp_path / "server") as server,
        connected(server.url) as here,
    ):
        parcels.opened(owner)
        parcels.send(ams, label, 0, (tmp_path / "sent").read_bytes())
        arriving = Arriving(fragment, 1, TERM, "market-1", tmp_path / "fragments" / fragment.name)
        for channel, batches in ((one, (3, 4, 5)), (two, (2, 3))):
            create(here, arriving.address(channel))
            for number in batches:
                batch(here, arriving.address(channel), number)
        with pytest.raises(DataError, match="not what was announced"):
            arriving.fetch(lambda: hq, label, replace(parcel, digest="0" * 64), server.url, Limits())
        assert not arriving.arrived
        for _ in range(2):
            arriving.fetch(lambda: hq, label, parcel, server.url, Limits())
            assert arriving.arrived
        notes = last_commit(arriving.folder / "memory").notes
        numbers = {name: [p.number for p in Reader(here, arriving.address(name)).commits(0)] for name in (one, two)}
        assert notes["positions"] == {one: numbers[one][1], two: numbers[two][0]}
        assert (notes["begins"], notes["buckets"]) == (8, 2)
        assert orders(here, arriving.address(output)) == [(7, 1)]
        assert [path.name for path in (tmp_path / "fragments").iterdir()] == [fragment.name]
        assert not replace(arriving, term=2).arrived


def test_a_channel_that_does_not_reach_back_is_refused(tmp_path, fragment) -> None:
    one, two = fragment.inputs
    with served(tmp_path / "server") as server, connected(server.url) as here:
        arriving = Arriving(fragment, 1, TERM, "market-1", tmp_path / "f")
        create(here, arriving.address(one))
        batch(here, arriving.address(one), 5)
        with pytest.raises(RunError, match="does not reach back"):
            arriving._number(here, one, order_of(4, True))
        assert arriving._number(here, two, None) == 0


@pytest.mark.slow
def test_state_is_sent_in_ones_own_name_and_read_by_whom_it_is_for(tmp_path) -> None:
    authority, label = Authority(_made(tmp_path / "tls")), Label("ams", "hq", "x-1")
    with (
        controlled(tmp_path / "control", authority) as control,
        entered(control, authority, OWNER) as owner,
        entered(control, authority, SITES["ams"], "ams", patience=1.0) as ams,
        entered(control, authority, SITES["hq"], "hq", patience=1.0) as hq,
    ):
        with pytest.raises(RunError):
            parcels.send(ams, label, 0, b"nobody asked for it")
        parcels.opened(owner)
        parcels.send(ams, label, 0, b"one")
        parcels.send(ams, label, 1, b"two")
        assert list(parcels.pieces(hq, label, 2)) == [b"one", b"two"]
        with pytest.raises(RunError, match="is not there"):
            list(parcels.pieces(hq, label, 3))
        with pytest.raises(TradewindError):
            parcels.send(hq, label, 0, b"not hq's to write")
        with pytest.raises(TradewindError):
            list(parcels.pieces(ams, label, 1))
        assert list(parcels.pieces(hq, label, 1)) == [b"one"]
        parcels.closed(owner)


def _made(folder):
    folder.mkdir()
    return folder
