"""Channels: a batch is seen once, whole, and only when it is committed; whatever happens between."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.backbone.servers import background, batch, committed, connected, fresh, killed, served
from tradewind.backbone import catalog, jetstream
from tradewind.backbone.channels import (
    Limits,
    Publisher,
    Reader,
    create,
    delete,
    fetch_part,
    fetch_parts,
    publish_part,
    publish_parts,
)
from tradewind.backbone.commits import Commit, Part
from tradewind.backbone.connection import Connection
from tradewind.backbone.names import Address
from tradewind.backbone.retention import read_to, subscribed, trim
from tradewind.errors import DataError, InternalError, RunError


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="module")
def connection(server):
    with connected(server.url) as connection:
        yield connection


def test_what_is_committed_is_read(connection):
    address = fresh(connection)
    reader = Reader(connection, address)
    assert (reader.head(), reader.last(), reader.commits(0)) == (0, None, [])
    parts = publish_parts(connection, address, [(bytes([n]) * n, n) for n in range(200)])
    assert [part.rows for part in parts] == list(range(200))
    publisher = Publisher(connection, address, "f", 1)
    placed = [
        committed(publisher, Commit("f", 1, 0, tuple(parts[:150]), {"s/ams": -7}, late=True, before=12)),
        committed(publisher, Commit("f", 1, 1, tuple(parts[150:]))),
        committed(publisher, Commit("f", 1, 1, (), {"s/ams": 9}, closing=True)),
        committed(Publisher(connection, address, "f", 2), Commit("f", 2, 2)),
    ]
    assert reader.commits(0) == placed
    assert reader.commits(placed[0].number, upto=placed[2].number) == placed[1:3]
    assert reader.commits(0, limit=2) == placed[:2]
    assert reader.commits(placed[1].number, limit=1) == placed[2:3]
    assert (reader.head(), reader.last()) == (placed[-1].number, placed[-1])
    fetched = fetch_parts(connection, address, [part for one in placed for part in one.commit.parts])
    assert list(fetched) == [bytes([n]) * n for n in range(200)]


def test_more_commits_than_one_request_gets(connection):
    address = fresh(connection)
    publisher = Publisher(connection, address, "f", 1)
    placed = [committed(publisher, Commit("f", 1, number)) for number in range(600)]
    assert Reader(connection, address).commits(0) == placed
    assert Reader(connection, address).commits(0, limit=512) == placed[:512]
    assert Reader(connection, address).commits(placed[9].number, upto=placed[300].number) == placed[10:301]


def test_a_replayed_batch_is_a_no_op(connection):
    address = fresh(connection)
    first, second = batch(connection, address, 4), batch(connection, address, 5)
    publisher = Publisher(connection, address, "f", 1)
    assert publisher.last == second
    for number in (4, 5):
        assert publisher.commit(Commit("f", 1, number)) is None
    # Also in a later epoch, and by a publisher that has not seen what came after it was made.
    assert Publisher(connection, address, "f", 2).commit(Commit("f", 2, 5)) is None
    batch(connection, address, 6)
    assert publisher.commit(Commit("f", 1, 6)) is None
    assert [one.commit.batch for one in Reader(connection, address).commits(0)] == [4, 5, 6]
    assert Reader(connection, address).commits(0)[0] == first


def test_an_old_epoch_is_refused(connection):
    address = fresh(connection)
    old = Publisher(connection, address, "f", 1)
    assert old.commit(Commit("f", 1, 0)) is not None
    batch(connection, address, 1, epoch=2)
    with pytest.raises(RunError, match="epoch 1 of fragment 'f' is over: epoch 2 has committed"):
        old.commit(Commit("f", 1, 1))
    with pytest.raises(RunError, match="is over"):
        Publisher(connection, address, "f", 1)
    assert [one.commit.epoch for one in Reader(connection, address).commits(0)] == [1, 2]


def test_of_racing_publishers_one_wins_each_batch(connection):
    address = fresh(connection)
    start = threading.Barrier(4)

    def wins(_: int) -> int:
        publisher = Publisher(connection, address, "f", 1)
        start.wait()
        return sum(publisher.commit(Commit("f", 1, number)) is not None for number in range(40))

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(wins, range(4))) == 40
    assert [one.commit.batch for one in Reader(connection, address).commits(0)] == list(range(40))


def test_parts_that_no_commit_names_are_invisible(connection):
    address = fresh(connection)
    publish_part(connection, address, b"of a batch that died", 1)
    assert Reader(connection, address).head() == 0
    placed = batch(connection, address, 0, b"whole")
    assert Reader(connection, address).commits(0) == [placed]
    assert list(fetch_parts(connection, address, placed.commit.parts)) == [b"whole"]


@pytest.mark.parametrize("size", [0, 4 << 20, 10_000_000])
def test_a_part_of_any_size(connection, size):
    address = fresh(connection)
    payload = random.Random(1).randbytes(size)
    part = publish_part(connection, address, payload, 3)
    assert part == Part(part.messages, 3, size)
    assert len(part.messages) == max(1, -(-size // (4 << 20)))
    assert fetch_part(connection, address, part) == payload


def test_a_damaged_or_missing_part_is_named(connection):
    address = fresh(connection)
    number = connection.call(jetstream.stored(connection, address.stream, address.parts, b"rows", {"crc": "00000000"}))
    with pytest.raises(DataError, match=f"message {number} does not have the checksum") as error:
        fetch_part(connection, address, Part((number,), 1, 4))
    assert address.channel in str(error.value)
    with pytest.raises(DataError, match=f"message {number + 7}, .* is not there"):
        list(fetch_parts(connection, address, [Part((number + 7,), 1, 4)]))
    whole = publish_part(connection, address, b"rows", 1)
    with pytest.raises(DataError, match="4 bytes instead of 5"):
        fetch_part(connection, address, whole._replace(bytes=5))
    connection.call(jetstream.stored(connection, address.stream, address.commits, b"{", {}))
    with pytest.raises(DataError, match="a commit cannot be read"):
        Reader(connection, address).last()


def test_a_full_stream_lets_writers_wait_and_commits_through(connection):
    address = fresh(connection, Limits(max_bytes=1_000_000))
    subscribed(connection, address, "reader")
    placed = [batch(connection, address, number, os.urandom(90_000)) for number in range(9)]
    parts = [publish_part(connection, address, os.urandom(90_000), 1)]
    waiting = background(lambda: parts.append(publish_part(connection, address, os.urandom(90_000), 1)))
    waiting.join(0.3)
    assert waiting.is_alive()
    # A commit that does not fit any more, since it names very many parts, gets through all the same.
    large = Publisher(connection, address, "f", 1).commit(Commit("f", 1, 9, tuple(parts) * 5000))
    assert large is not None
    assert trim(connection, address, Limits()) == 0
    assert waiting.is_alive()
    read_to(connection, address, "reader", placed[5].number)
    assert trim(connection, address, Limits()) == 6
    waiting.join(5)
    assert not waiting.is_alive()
    assert Reader(connection, address).commits(0) == [*placed[6:], large]
    assert fetch_part(connection, address, parts[1])
    # Neither does it lose anything when it is given less than it holds.
    create(connection, address, Limits(max_bytes=10_000))
    assert Reader(connection, address).commits(0) == [*placed[6:], large]


def test_a_batch_that_can_never_fit_is_told(server):
    with connected(server.url, patience=0.3) as connection:
        address = fresh(connection, Limits(max_bytes=100_000))
        with pytest.raises(RunError, match=r"95,000 bytes of parts, and a single message .* larger"):
            publish_part(connection, address, bytes(200_000), 1)
        with pytest.raises(RunError, match="not been committed yet is larger"):
            publish_parts(connection, address, [(bytes(30_000), 1)] * 5)


def test_a_channel_that_was_deleted_from_outside_is_named(server):
    with connected(server.url) as connection:
        address = fresh(connection)
        placed = batch(connection, address, 0)
        publisher, reader = Publisher(connection, address, "f", 1), Reader(connection, address)
        connection.call(jetstream.managed(connection, f"STREAM.DELETE.{address.stream}"))
        for use in (
            reader.head,
            lambda: reader.commits(0),
            lambda: publisher.commit(Commit("f", 1, 1)),
            lambda: publish_part(connection, address, b"rows", 1),
            lambda: fetch_part(connection, address, placed.commit.parts[0]),
            lambda: list(fetch_parts(connection, address, placed.commit.parts)),
            lambda: trim(connection, address, Limits()),
            lambda: subscribed(connection, address, "reader"),
        ):
            with pytest.raises(RunError, match=rf"{address.channel}' at ams: .*deleted from outside"):
                use()
        # A new one of the same name begins anew.
        create(connection, address)
        assert Reader(connection, address).commits(0) == []
        delete(connection, address)
        delete(connection, address)


@pytest.mark.faults
def test_a_server_killed_while_it_is_written_to_loses_and_doubles_nothing(tmp_path):
    with served(tmp_path) as server, connected(server.url) as connection:
        address = fresh(connection)
        payloads = [random.Random(n).randbytes(20_000) for n in range(6)]

        def kills() -> None:
            for seconds in (0.15, 0.3, 0.2):
                time.sleep(seconds)
                killed(server)

        killing = background(kills)
        publisher, number = Publisher(connection, address, "f", 1), 0
        placed = []
        while killing.is_alive() or number < 20:
            parts = publish_parts(connection, address, [(payload, number) for payload in payloads])
            placed.append(committed(publisher, Commit("f", 1, number, tuple(parts))))
            number += 1
        assert server.restarts == 3
        assert Reader(connection, address).commits(0) == placed
        assert [one.commit.batch for one in placed] == list(range(number))
        for one in placed:
            assert list(fetch_parts(connection, address, one.commit.parts)) == payloads


@pytest.mark.faults
def test_a_server_that_stays_away_is_told(tmp_path):
    with served(tmp_path) as server, connected(server.url, patience=0.4) as connection:
        address = fresh(connection)
        server.stop()
        for use in (Reader(connection, address).head, lambda: publish_part(connection, address, b"rows", 1)):
            with pytest.raises(RunError, match="the server has been away for"):
                use()


def test_the_channels_of_a_deployment_are_listed(connection):
    addresses = [Address("list", site, "Zürich 1") for site in ("b", "a")]
    for address in addresses:
        create(connection, address)
    assert catalog.channels(connection, "nothing") == []
    placed = [batch(connection, addresses[0], number) for number in range(3)]
    subscribed(connection, addresses[0], "hq")
    read_to(connection, addresses[0], "hq", placed[1].number)
    empty, full = catalog.channels(connection, "list")
    assert (empty.address, empty.batches, empty.head, empty.subscribers) == (addresses[1], 0, 0, {})
    assert (full.address, full.batches, full.rows, full.head) == (addresses[0], 3, 3, placed[2].number)
    assert full.subscribers == {"hq": placed[1].number}
    assert full.bytes > 12


def test_the_catalogue_keeps_the_newest_value_of_each_key(connection):
    assert catalog.get(connection, "kept", "link a>b.c") is None
    assert catalog.all_(connection, "kept") == {}
    for total in (1, 2):
        catalog.put(connection, "kept", "link a>b.c", {"bytes": total})
    catalog.put(connection, "kept", "Zürich=", {"rows": []})
    assert catalog.get(connection, "kept", "link a>b.c") == {"bytes": 2}
    assert catalog.all_(connection, "kept") == {"link a>b.c": {"bytes": 2}, "Zürich=": {"rows": []}}


FORKING = """
import os, sys
from tradewind.backbone import catalog
from tradewind.backbone.connection import Connection, shared
from tradewind.errors import InternalError
url = sys.argv[1]
ours, one = Connection.open(url), shared(url)
assert shared(url) is one
catalog.put(one, "forked", "by", {"parent": 1})
child = os.fork()
if child == 0:
    assert shared(url) is not one
    catalog.put(shared(url), "forked", "by", {"child": 1})
    try:
        catalog.get(ours, "forked", "by")
    except InternalError:
        os._exit(0)
    os._exit(1)
assert os.waitpid(child, 0)[1] == 0
assert catalog.get(one, "forked", "by") == catalog.get(ours, "forked", "by") == {"child": 1}
ours.close()
"""


def test_a_shared_connection_is_one_per_process(server):
    # In a process of its own: this one has threads of others, too.
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING, server.url],
        check=False,
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_a_closed_connection_is_not_used(server):
    connection = Connection.open(server.url)
    address = fresh(connection)
    connection.close()
    connection.close()
    with pytest.raises(InternalError, match="after it was closed"):
        Reader(connection, address).head()
