"""Channels in files: read back, they hold the same under the same numbers, whatever was trimmed before."""

from __future__ import annotations

import random

import pytest

from tests.backbone.servers import batch, connected, fresh, served
from tradewind.backbone import jetstream, records
from tradewind.backbone.channels import Limits, Publisher, Reader, create, fetch_part, publish_part
from tradewind.backbone.commits import Commit
from tradewind.backbone.connection import Connection
from tradewind.backbone.copies import restore, save
from tradewind.backbone.names import Address
from tradewind.backbone.retention import read_to, subscribed, trim, whole
from tradewind.errors import DataError


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    with served(tmp_path_factory.mktemp("server")) as server, connected(server.url) as connection:
        yield connection


def known(connection: Connection, address: Address):
    """All that readers can know of a channel."""
    commits = Reader(connection, address).commits(0)
    rows = [[fetch_part(connection, address, part) for part in one.commit.parts] for one in commits]
    readers = connection.call(records.read(connection, *records.of_readers(address)))[0]
    last = connection.call(jetstream.check(connection, address.stream))["state"]["last_seq"]
    return commits, rows, readers, last, whole(connection, address)


@pytest.mark.parametrize("seed", range(12))
def test_what_is_read_back_is_the_same(connection, tmp_path, seed):
    chance = random.Random(seed)
    address = fresh(connection)
    subscribed(connection, address, "reader")
    publisher = Publisher(connection, address, "f", 1)
    number = 0
    for _ in range(chance.randrange(8)):
        # Parts that nobody names, and some that stand before those of an earlier commit.
        parts = [publish_part(connection, address, chance.randbytes(chance.randrange(1, 99)), 1) for _ in range(4)]
        early = parts.pop(0)
        for some in (parts[: chance.randrange(3)], [early]):
            placed = publisher.commit(Commit("f", 1, number, tuple(some), {"s/ams": number}))
            number += 1
            assert placed is not None
            if chance.random() < 0.6:
                read_to(connection, address, "reader", placed.number)
        if chance.random() < 0.6:
            trim(connection, address, Limits())
    save(connection, address, tmp_path / "copy")
    again = Address("again", "ams", address.channel)
    # What is there already, as of a restoring that died, is removed.
    create(connection, again)
    batch(connection, again, 7)
    restore(connection, again, tmp_path / "copy", Limits())
    assert known(connection, again) == known(connection, address)
    # It goes on as the other does.
    for one in (address, again):
        create(connection, one, Limits())
        batch(connection, one, number, b"more")
        trim(connection, one, Limits())
    assert known(connection, again)[0][-1] == known(connection, address)[0][-1]


def test_a_damaged_copy_is_refused(connection, tmp_path):
    address = fresh(connection)
    batch(connection, address, 0)
    path = tmp_path / "copy"
    save(connection, address, path)
    whole_copy = path.read_bytes()
    for damaged in (b"", whole_copy[:-1], whole_copy[:9], whole_copy[:-1] + b"?"):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="copy"):
            restore(connection, Address("broken", "ams", "c"), path, Limits())
