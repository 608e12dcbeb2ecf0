"""Retention: never what a subscriber has not read, never the newest commit, and no commit without its parts."""

from __future__ import annotations

import random
import time

import pytest

from tests.backbone.servers import background, batch, connected, fresh, served
from tradewind.backbone.channels import Limits, Publisher, Reader, create, fetch_part, fetch_parts, publish_part
from tradewind.backbone.commits import Commit
from tradewind.backbone.retention import read_to, subscribed, trim, unsubscribed
from tradewind.errors import DataError, InputError, RunError


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="module")
def connection(server):
    with connected(server.url) as connection:
        yield connection


def numbers(connection, address):
    return [one.commit.batch for one in Reader(connection, address).commits(0)]


def test_never_below_the_slowest_subscriber(connection):
    address = fresh(connection)
    for subscriber in ("slow", "fast"):
        subscribed(connection, address, subscriber)
    placed = [batch(connection, address, number) for number in range(5)]
    assert trim(connection, address, Limits()) == 0
    read_to(connection, address, "fast", placed[4].number)
    assert trim(connection, address, Limits()) == 0
    read_to(connection, address, "slow", placed[1].number)
    assert trim(connection, address, Limits()) == 2
    assert numbers(connection, address) == [2, 3, 4]
    with pytest.raises(DataError, match="trimmed"):
        fetch_part(connection, address, placed[1].commit.parts[0])
    # Nobody goes back, and who subscribes again keeps its position.
    read_to(connection, address, "slow", placed[0].number)
    subscribed(connection, address, "slow")
    read_to(connection, address, "slow", placed[2].number)
    assert trim(connection, address, Limits()) == 1
    unsubscribed(connection, address, "slow")
    unsubscribed(connection, address, "slow")
    assert trim(connection, address, Limits()) == 1
    assert Reader(connection, address).last() == placed[4]
    assert fetch_part(connection, address, placed[4].commit.parts[0]) == b"rows"


def test_never_the_newest_commit(connection):
    address = fresh(connection)
    assert trim(connection, address, Limits()) == 0
    for number in range(300):
        Publisher(connection, address, "f", 1).commit(Commit("f", 1, number))
    assert trim(connection, address, Limits()) == 299
    assert numbers(connection, address) == [299]
    assert Publisher(connection, address, "f", 1).commit(Commit("f", 1, 299)) is None


def test_limits_keep_more(connection):
    address = fresh(connection)
    for number in range(10):
        batch(connection, address, number, bytes(1000))
    assert trim(connection, address, Limits(keep_seconds=60)) == 0
    assert trim(connection, address, Limits(keep_batches=8)) == 2
    assert numbers(connection, address) == list(range(2, 10))
    assert trim(connection, address, Limits(keep_bytes=6000, keep_batches=2)) > 0
    assert len(numbers(connection, address)) == 5
    time.sleep(0.02)
    assert trim(connection, address, Limits(keep_seconds=0.01, keep_batches=2)) > 0
    assert numbers(connection, address) == [8, 9]
    with pytest.raises(InputError):
        Limits(keep_batches=-1)


def test_orphans_go_with_what_is_before_them_and_parts_of_the_next_batch_stay(connection):
    address = fresh(connection)
    publisher = Publisher(connection, address, "f", 1)
    batch(connection, address, 0)
    orphan = publish_part(connection, address, b"of a batch that died", 1)
    early = [publish_part(connection, address, b"%d" % number, 1) for number in (1, 2)]
    # Both batches' parts are there before the first of them is committed.
    assert publisher.commit(Commit("f", 1, 1, (early[0],))) is not None
    assert trim(connection, address, Limits()) == 1
    second = publisher.commit(Commit("f", 1, 2, (early[1],)))
    assert second is not None
    assert trim(connection, address, Limits()) == 1
    assert numbers(connection, address) == [2]
    assert fetch_part(connection, address, early[1]) == b"2"
    for gone in (orphan, early[0]):
        with pytest.raises(DataError):
            fetch_part(connection, address, gone)


def test_a_reader_that_is_not_subscribed_cannot_move(connection):
    address = fresh(connection)
    with pytest.raises(RunError, match="'stranger' is not subscribed"):
        read_to(connection, address, "stranger", 3)
    subscribed(connection, address, "reader")
    create(connection, address)
    read_to(connection, address, "reader", 3)


def test_readers_and_trimming_at_the_same_time(connection):
    """Readers that come, read and go while everything is trimmed all the time find each batch that they are owed."""
    address = fresh(connection)
    batches, readers = 60, 3
    found: dict[str, list[int]] = {}

    def reads(name: str, seed: int) -> None:
        seeded = random.Random(seed)
        time.sleep(seeded.random() * 0.1)
        subscribed(connection, address, name)
        mine, after = found.setdefault(name, []), 0
        while not mine or mine[-1] < batches - 1:
            for one in Reader(connection, address).commits(after, limit=seeded.randint(1, 5)):
                assert list(fetch_parts(connection, address, one.commit.parts)) == [b"%d" % one.commit.batch]
                mine.append(one.commit.batch)
                after = one.number
            if after:
                read_to(connection, address, name, after)

    threads = [background(reads, f"reader-{n}", n) for n in range(readers)]
    for number in range(batches):
        batch(connection, address, number, b"%d" % number)
        trim(connection, address, Limits())
    for thread in threads:
        thread.join(20)
    assert len(found) == readers
    for mine in found.values():
        assert mine == list(range(mine[0], batches))
