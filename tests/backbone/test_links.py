"""Links on a real server: every batch is copied once and in order, whatever happens, and what crosses is counted."""

from __future__ import annotations

import itertools
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import pytest

from tests.backbone.servers import connected, eventually, killed, served
from tests.patience import within
from tradewind.backbone import jetstream, pump, watch
from tradewind.backbone.channels import (
    Limits,
    Publisher,
    Reader,
    create,
    delete,
    fetch_part,
    publish_part,
    publish_parts,
)
from tradewind.backbone.commits import Commit
from tradewind.backbone.links import Disturbance, Links, LinkShape
from tradewind.backbone.names import Address
from tradewind.backbone.retention import positions, trim
from tradewind.errors import DataError, RunError, UnknownNameError

PART = 130_000
_numbers = itertools.count()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="module")
def connection(server):
    with connected(server.url) as connection:
        yield connection


@pytest.fixture
def name():
    """A deployment that nobody has used."""
    return f"links-{next(_numbers)}"


@contextmanager
def running(links: Links):
    links.start()
    try:
        yield links
    finally:
        links.stop()


def both(mbps=None, ms=0.0, ends=("a", "b")):
    one, other = ends
    return [LinkShape(one, other, mbps, ms), LinkShape(other, one, mbps, ms)]


def made(connection, name, channel="c", site="a"):
    address = Address(name, site, channel)
    create(connection, address)
    return address


def write(connection, address, number, sizes=(100,), epoch=1, **more):
    """Commits a batch of parts of these sizes, each with a content of its own, and as many rows as bytes."""
    payloads = [f"{number}.{one}.".encode().ljust(size, b"#") for one, size in enumerate(sizes)]
    parts = publish_parts(connection, address, [(payload, len(payload)) for payload in payloads])
    return Publisher(connection, address, "f", epoch).commit(Commit("f", epoch, number, tuple(parts), **more))


def seen(connection, address):
    """What a reader sees: each batch with what its parts hold."""
    return [
        (
            commit.batch,
            commit.closing,
            dict(commit.marks),
            [fetch_part(connection, address, part) for part in commit.parts],
        )
        for _, commit in Reader(connection, address).commits(0)
    ]


def copied(links, seconds=15.0):
    eventually("all is copied", lambda: links.failure is not None or links.idle(), seconds)
    assert links.failure is None


def test_batches_are_copied_and_a_second_run_goes_on(connection, server, name):
    source, copy = made(connection, name), Address(name, "b", "c")
    links = Links(server.url, name, both())
    links.carry("a", "b", "c")
    write(connection, source, 0, [10, 5_000_000, PART], marks={"s/a": 5}, late=True)
    with running(links):
        copied(links)
        write(connection, source, 1, [], marks={"s/a": 7})
        eventually("marks are there", lambda: links.counts()["a", "b"].batches == 2)
        first = links.counts()["a", "b"]
        assert not any((first.backlog_batches, first.backlog_bytes, first.cut))
    write(connection, source, 2, [20])
    again = Links(server.url, name, both())
    again.carry("a", "b", "c")
    with running(again):
        copied(again)
        counts = again.counts()
    assert seen(connection, copy) == seen(connection, source)
    originals, copies = Reader(connection, source).commits(0), Reader(connection, copy).commits(0)
    assert [one.commit.before for one in copies] == [one.number for one in originals]
    assert copies[0].commit.late
    total = counts["a", "b"]
    assert (total.rows, total.batches, total.messages) == (5_000_030 + PART, 3, 8)
    assert list(counts) == [("a", "b")]
    assert first.bytes < total.bytes < sum(one.commit.bytes for one in originals) + 8 * 400
    assert total.control_bytes > first.control_bytes > 0
    assert (total.round_trip_ms or 0) > 0


def test_a_link_that_comes_later_carries_too(connection, server, name):
    source, copy = made(connection, name), Address(name, "w", "c")
    for number in range(2):
        links = Links(server.url, name, both())
        with pytest.raises(UnknownNameError, match="unknown link"):
            links.carry("a", "w", "c")
        with running(links):
            links.add([*both(mbps=1.0), *both(ends=("a", "w"))])
            links.carry("a", "w", "c")
            write(connection, source, number, [2_000_000])
            copied(links, 10.0)
            assert links.counts()["a", "w"].batches == number + 1
    assert seen(connection, copy) == seen(connection, source)


class Ear(threading.Thread):
    """Stands between a client and the server, and writes down what the client says."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._door = socket.create_server(("127.0.0.1", 0))
        self._server = urlsplit(url).hostname, urlsplit(url).port
        self.url = url.replace(f":{self._server[1]}", f":{self._door.getsockname()[1]}")
        self.said: list[bytearray] = []

    def run(self) -> None:
        with suppress(OSError):
            while True:
                client = self._door.accept()[0]
                server = socket.create_connection(self._server)
                self.said.append(bytearray())
                threading.Thread(target=self._hear, args=(client, server, self.said[-1]), daemon=True).start()
                threading.Thread(target=self._hear, args=(server, client, bytearray()), daemon=True).start()

    def _hear(self, one: socket.socket, other: socket.socket, heard: bytearray) -> None:
        with one, other, suppress(OSError):
            while data := one.recv(1 << 16):
                heard += data
                other.sendall(data)

    def close(self) -> None:
        self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        self.join()


def test_a_byte_counted_is_a_byte_that_a_client_of_nats_sends(connection, server, name):
    source = made(connection, name)
    ear = Ear(server.url)
    ear.start()
    links = Links(ear.url, name, both())
    links.carry("a", "b", "c")
    with running(links):
        for number in range(20):
            write(connection, source, number, [1, 100, 3000, PART] * 2, marks={"s/a": number})
        copied(links)
        counted = links.counts()["a", "b"]
    ear.close()
    frames = re.compile(rb"HPUB tw\.%s\.b\.c\.\w+ \S+ \d+ (\d+)\r\n" % name.encode())
    found = [frame for said in ear.said for frame in frames.finditer(said)]
    sent = sum(len(frame[0]) + int(frame[1]) + 2 for frame in found)
    assert counted.messages == len(found) == 20 * 9
    # Replies are numbered, and their numbers have one digit or six.
    assert abs(counted.bytes - sent) <= 6 * len(found)


def test_repeated_old_and_superseded_commits_do_not_fool_a_reader_of_the_copy(connection, server, name):
    source, copy = made(connection, name), Address(name, "b", "c")
    links = Links(server.url, name, both(), disturbances=[Disturbance("a", "b", None, 0.0, 1.0)])
    links.carry("a", "b", "c")
    write(connection, source, 0)
    second = write(connection, source, 1, epoch=2)
    part = publish_part(connection, source, b"not to be seen", 14)
    for wrong in (second.commit, Commit("f", 1, 7, (part,)), Commit("f", 2, 0, (part,))):
        answer = connection.call(connection.request(source.commits, wrong.encoded()))
        assert b"seq" in answer.data
    write(connection, source, 1, [50], epoch=2, closing=True)
    write(connection, source, 2, epoch=3)
    write(connection, source, 2, [60], epoch=3, closing=True)
    with running(links):
        eventually("they are known", lambda: links.counts()["a", "b"].backlog_batches == 8)
        copied(links)
        assert links.counts()["a", "b"].rows == 360
    assert [one[:2] for one in seen(connection, copy)] == [(0, False), (1, False), (2, False), (2, True)]
    assert b"not to be seen" not in [payload for one in seen(connection, copy) for payload in one[3]]
    # Who is started again skips them again.
    with running(links):
        write(connection, source, 3, epoch=3)
        copied(links)
    assert [one[0] for one in seen(connection, copy)] == [0, 1, 2, 2, 3]


def test_relays_in_any_order_and_channels_that_come_and_go(connection, server, name):
    links = Links(server.url, name, both() + both(ends=("b", "c")))
    with pytest.raises(UnknownNameError, match="b:c"):
        links.carry("a", "c", "x")
    with pytest.raises(UnknownNameError, match="a:b"):
        Links(server.url, name, both(), disturbances=[Disturbance("a", "x")])
    with running(links):
        links.carry("b", "c", "x")
        links.carry("a", "b", "x")
        assert links.idle()
        source = made(connection, name, "x")
        eventually("it is subscribed", lambda: positions_of(connection, source) == {"link to b": 0})
        for number in range(5):
            write(connection, source, number)
        copied(links)
        assert seen(connection, Address(name, "c", "x")) == seen(connection, source)
        links.drop("a", "b", "x")
        write(connection, source, 5)
        assert positions_of(connection, source) == {}
        assert links.idle()
        links.carry("a", "b", "x")
        copied(links)
        assert seen(connection, Address(name, "c", "x")) == seen(connection, source)
        assert {link: counted.batches for link, counted in links.counts().items()} == {("a", "b"): 6, ("b", "c"): 6}


def positions_of(connection, address):
    return connection.call(positions(connection, address))


def test_nothing_is_trimmed_before_it_was_copied(connection, server, name, monkeypatch):
    monkeypatch.setattr(watch, "_WINDOW", 5)
    monkeypatch.setattr(pump, "_BATCHES", 2)
    source, copy = made(connection, name), Address(name, "b", "c")
    links = Links(server.url, name, both())
    links.carry("a", "b", "c")
    with running(links):
        links.cut("a", "b")
        for number in range(30):
            write(connection, source, number)
        original = seen(connection, source)
        assert trim(connection, source, Limits()) == 0
        # More than are held here: the others are known by their number.
        eventually("the backlog is known", lambda: links.counts()["a", "b"].backlog_batches == 30)
        assert links.counts()["a", "b"].backlog_bytes == 3000
        links.heal("a", "b")
        copied(links)
        assert seen(connection, copy) == original
        eventually("it is told", lambda: bool(trim(connection, source, Limits())))
        eventually("all of it", lambda: trim(connection, source, Limits()) + len(seen(connection, source)) == 1)


def test_a_cut_link_loses_what_is_under_way_and_goes_on_at_once_when_it_heals(connection, server, name):
    source, copy = made(connection, name), Address(name, "b", "c")
    links = Links(server.url, name, both(mbps=80, ms=50), disturbances=[Disturbance("b", "a", None, 0.5, 0.7)])
    links.carry("a", "b", "c")
    write(connection, source, 0, [PART] * 80)
    begin = time.perf_counter()
    with running(links):
        eventually("it is cut", lambda: links.counts()["a", "b"].cut)
        time.sleep(0.1)
        before = links.counts()["a", "b"]
        time.sleep(0.3)
        assert links.counts()["a", "b"].bytes == before.bytes
        assert before.cut_since == pytest.approx(0.5, abs=0.4)
        eventually("it heals", lambda: not links.counts()["a", "b"].cut)
        healed = time.perf_counter()
        eventually("it goes on", lambda: links.counts()["a", "b"].bytes > before.bytes)
        assert time.perf_counter() - healed < within(1.0)
        copied(links)
        took = time.perf_counter() - begin
        total = links.counts()["a", "b"]
    assert seen(connection, copy) == seen(connection, source)
    # About half a megabyte was under way, and has left twice.
    assert 81 < total.messages < 81 + 10
    assert 0.7 + total.bytes * 8 / 80e6 < took < 0.7 + total.bytes * 8 / 80e6 + within(1.5)
    assert (total.round_trip_ms or 0) >= 100


def test_the_rate_is_kept_and_a_throttle_changes_it(connection, server, name):
    source = made(connection, name)
    write(connection, source, 0, [PART] * 40)
    links = Links(server.url, name, both(mbps=40))
    links.carry("a", "b", "c")
    begin = time.perf_counter()
    with running(links):
        copied(links)
        took = time.perf_counter() - begin
        first = links.counts()["a", "b"].bytes
        assert first * 8 / 40e6 <= took < first * 8 / 40e6 + within(1.5)
        links.throttle("a", "b", 10)
        begin = time.perf_counter()
        write(connection, source, 1, [PART] * 6)
        copied(links)
        assert time.perf_counter() - begin >= (links.counts()["a", "b"].bytes - first) * 8 / 10e6
        links.throttle("a", "b", None)
        begin = time.perf_counter()
        write(connection, source, 2, [PART] * 6)
        copied(links)
        assert time.perf_counter() - begin < within(took)


def test_marks_overtake_and_little_is_not_held_up_by_much(connection, server, name):
    big, small, marks = (made(connection, name, channel) for channel in ("big", "small", "marks"))
    links = Links(server.url, name, both(mbps=20))
    for channel in ("big", "small", "marks"):
        links.carry("a", "b", channel)
    write(connection, big, 0, [PART] * 60)
    with running(links):
        eventually("it has begun", lambda: links.counts()["a", "b"].messages > 1)
        write(connection, small, 0, [1000])
        write(connection, marks, 0, [], marks={"s/a": 1})
        before = links.counts()["a", "b"].messages
        eventually("both are there", lambda: links.counts()["a", "b"].batches == 2)
        # One part of the big channel may be leaving already, and each of the small one's waits for one more at most.
        assert links.counts()["a", "b"].messages - before < 20
        assert Reader(connection, Address(name, "b", "big")).last() is None


def test_who_dies_in_the_middle_leaves_parts_that_nobody_sees(connection, server, name):
    source, copy = made(connection, name), Address(name, "b", "c")
    for number in range(6):
        write(connection, source, number, [PART] * 5)
    original = seen(connection, source)

    def broken_off() -> Links:
        links = Links(server.url, name, both(mbps=40))
        links.carry("a", "b", "c")
        with running(links):
            sent = links.counts()["a", "b"].messages
            eventually("it is in the middle of a batch", lambda: links.counts()["a", "b"].messages >= sent + 9)
        assert seen(connection, copy) == original[: links.counts()["a", "b"].batches]
        return links

    links = [broken_off() for _ in range(3)][-1]
    links.throttle("a", "b", 1000)
    with running(links):
        copied(links)
    assert seen(connection, copy) == original
    total = links.counts()["a", "b"]
    assert (total.rows, total.batches) == (30 * PART, 6)
    assert total.messages > 36


def test_two_who_copy_the_same_do_not_copy_it_twice(connection, server, name):
    source, copy = made(connection, name), Address(name, "b", "c")
    both_of_them = [Links(server.url, name, both()) for _ in range(2)]
    for links in both_of_them:
        links.carry("a", "b", "c")
    with running(both_of_them[0]), running(both_of_them[1]):
        for number in range(60):
            write(connection, source, number)
        for links in both_of_them:
            copied(links)
    assert seen(connection, copy) == seen(connection, source)


def test_what_cannot_go_on_says_why(connection, server, name):
    sources = {one: made(connection, name, one) for one in ("lost", "gone", "damaged", "anew", "fine")}
    links = Links(server.url, name, both())
    for channel, source in sources.items():
        links.carry("a", "b", channel)
        write(connection, source, 0)
    with running(links):
        copied(links)
    delete(connection, sources["anew"])
    made(connection, name, "anew")

    def delete_source():
        delete(connection, sources["lost"])

    def delete_copy():
        delete(connection, Address(name, "b", "gone"))
        write(connection, sources["gone"], 1)

    def damage():
        address = sources["damaged"]
        bad = connection.call(jetstream.stored(connection, address.stream, address.parts, b"x", {"crc": "00000000"}))
        part = publish_part(connection, address, b"y", 1)._replace(messages=(bad,))
        Publisher(connection, address, "f", 1).commit(Commit("f", 1, 1, (part,)))

    for number, (channel, action, kind, what) in enumerate(
        [
            ("lost", delete_source, RunError, "deleted from outside"),
            ("gone", delete_copy, RunError, "deleted from outside"),
            ("damaged", damage, DataError, "checksum"),
            ("anew", lambda: None, RunError, "ahead"),
        ]
    ):
        links = Links(server.url, name, both())
        links.carry("a", "b", channel)
        links.carry("a", "b", "fine")
        with running(links):
            if channel != "anew":
                copied(links)  # it has looked at what it is to lose
            action()
            failure = failed(links)
            assert isinstance(failure, kind)
            assert what in str(failure)
            assert f"channel {channel!r}" in str(failure)
            write(connection, sources["fine"], number + 1)
            assert_goes_on(connection, sources["fine"], Address(name, "b", "fine"))


def assert_goes_on(connection, source, copy):
    expected = seen(connection, source)
    eventually("others go on", lambda: seen(connection, copy) == expected)


def failed(links):
    eventually("it fails", lambda: links.failure is not None)
    return links.failure


CRASHING = """
import sys, time
from tradewind.backbone.links import Links, LinkShape
links = Links(*sys.argv[1:], [LinkShape("a", "b", 40.0)])
links.carry("a", "b", "c")
links.start()
while links.counts()["a", "b"].batches < 1 or links.counts()["a", "b"].messages < 12:
    time.sleep(0.005)
print("half", flush=True)
time.sleep(60)
"""


@pytest.mark.faults
def test_a_process_that_is_killed_goes_on_where_it_was(connection, server, name):
    source, copy = made(connection, name), Address(name, "b", "c")
    for number in range(6):
        write(connection, source, number, [PART] * 8)
    with subprocess.Popen([sys.executable, "-c", CRASHING, server.url, name], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"half\n"
        process.kill()
    before = len(seen(connection, copy))
    assert before > 0
    links = Links(server.url, name, both())
    links.carry("a", "b", "c")
    with running(links):
        copied(links)
        total = links.counts()["a", "b"]
    assert seen(connection, copy) == seen(connection, source)
    # What it had counted within its last second is lost; nothing is counted twice.
    assert 6 - before <= total.batches <= 6
    assert total.rows == total.batches * 8 * PART


@pytest.mark.faults
def test_a_server_that_is_killed_again_and_again_costs_nothing(connection, server, name):
    source, copy = made(connection, name), Address(name, "b", "c")
    links = Links(server.url, name, both(mbps=200, ms=5))
    links.carry("a", "b", "c")
    with running(links):
        writer = threading.Thread(
            target=lambda: [write(connection, source, number, [1000, PART, PART]) for number in range(60)]
        )
        writer.start()
        for _ in range(3):
            time.sleep(0.4)
            killed(server)
        writer.join()
        copied(links, 20.0)
        total = links.counts()["a", "b"]
    assert [one[0] for one in seen(connection, copy)] == list(range(60))
    assert seen(connection, copy) == seen(connection, source)
    assert (total.rows, total.batches) == (60 * (1000 + 2 * PART), 60)


def test_many_links_cost_little_while_nothing_happens(connection, server, name):
    sites = [f"s{number}" for number in range(6)]
    links = Links(server.url, name, [LinkShape(one, other) for one in sites for other in sites if one != other])
    for number in range(20):
        source = made(connection, name, f"c{number}", "s0")
        write(connection, source, 0)
        for site in sites[1:]:
            links.carry("s0", site, f"c{number}")
    with running(links):
        copied(links)
        # The least of some seconds: other threads of this process may have something to do in one of them.
        eventually("a second costs little", lambda: _processor_in_a_second() < 0.3)
        assert sum(counted.batches for counted in links.counts().values()) == 100


def _processor_in_a_second() -> float:
    begin = time.process_time()
    time.sleep(1.0)
    return time.process_time() - begin
