"""Links between servers of their own: leaf nodes over TLS, in whatever way links, servers and questions break."""

from __future__ import annotations

import itertools
import json
import socket
import ssl
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.backbone.cable import Cable
from tests.backbone.certificates import Authority
from tests.backbone.servers import alive, background, connected, eventually, killed, served
from tests.backbone.sites import joined, leaves
from tests.backbone.test_links import failed, made, positions_of, running, seen, write
from tests.patience import within
from tradewind.backbone import jetstream, link_protocol, watch
from tradewind.backbone.channels import Limits, Publisher, delete, publish_part
from tradewind.backbone.commits import Commit
from tradewind.backbone.link_protocol import read_answer, subject
from tradewind.backbone.names import Address
from tradewind.backbone.reach import Reach
from tradewind.backbone.retention import trim
from tradewind.backbone.server import Server
from tradewind.backbone.session import AwayError
from tradewind.backbone.settings import Leaf, Neighbour, free_port
from tradewind.backbone.taps import RemoteTap
from tradewind.errors import DataError, InputError, RunError, UnknownNameError

PART = 130_000
_numbers = itertools.count()
pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Two sites: a dials b."""
    folder = tmp_path_factory.mktemp("pair")
    with joined(folder, leaves(folder / "tls", "ab", ("ab",))) as sites:
        met(sites)
        yield sites


@pytest.fixture
def name():
    """A deployment that nobody has used."""
    return f"far-{next(_numbers)}"


def met(sites):
    for site in sites.values():
        for far, reach in site.reaches.items():
            eventually(f"{site.name} reaches {far}", partial(getattr, reach, "answers"))


def offered(site, name, channel="c"):
    address = made(site.connection, name, channel, site.name)
    site.offered[channel] = address
    return address


def all_copied(links, source_site, source, copy_site, copy, *, seconds=15.0):
    def same() -> bool:
        return links.failure is not None or (
            links.idle() and seen(copy_site.connection, copy) == seen(source_site.connection, source)
        )

    eventually("all is copied", same, seconds)
    assert links.failure is None


@pytest.mark.parametrize(("start", "end"), ["ab", "ba"])
def test_a_channel_is_copied_whoever_dials_and_kept_until_it_is(pair, name, start, end, monkeypatch):
    monkeypatch.setattr(watch, "_WINDOW", 5)
    here, there = pair[start], pair[end]
    source, copy = offered(here, name), Address(name, end, "c")
    for number in range(30):
        write(here.connection, source, number, [number, PART] if number % 7 else [1_000_000], marks={"s/a": number})
    # Only the copy is made there.
    links = there.carrying(name, (start, "c"))
    with running(links):
        all_copied(links, here, source, there, copy)
        counted = links.counts()[start, end]
        assert counted.reached
        assert not any((counted.backlog_batches, counted.backlog_bytes, counted.cut))
        assert 0 < (counted.round_trip_ms or 0) < 1000
        begin = time.perf_counter()
        write(here.connection, source, 30)
        eventually("it is told of", lambda: links.counts()[start, end].batches == 31)
        assert time.perf_counter() - begin < within(1.0)
        eventually("it is told", lambda: bool(trim(here.connection, source, Limits())))
        assert list(positions_of(here.connection, source)) == [f"link to {end}"]
        links.drop(start, end, "c")
        assert positions_of(here.connection, source) == {}
    with pytest.raises(RunError, match="deleted"):
        seen(there.connection, source)
    assert not here.services[end].refused


def test_a_mesh_of_three_has_no_loops_and_relays(tmp_path, name):
    with joined(tmp_path, leaves(tmp_path / "tls", "abc", ("ab", "bc", "ca"))) as sites:
        met(sites)
        a, b, c = sites.values()
        source, relay = offered(a, name), Address(name, "b", "c")
        b.offered["c"] = relay
        back = offered(c, name, "back")
        with (
            running(b.carrying(name, ("a", "c"))) as first,
            running(c.carrying(name, ("b", "c"))) as second,
            running(a.carrying(name, ("c", "back"))) as third,
        ):
            for number in range(20):
                write(a.connection, source, number, [PART])
                write(c.connection, back, number)
            all_copied(first, a, source, b, relay)
            all_copied(second, b, relay, c, Address(name, "c", "c"))
            all_copied(third, c, back, a, Address(name, "a", "back"))
        for site in sites.values():
            assert "loop" not in (tmp_path / site.name / "nats.log").read_text().lower()
            assert site.server.restarts == 0
            for far in site.reaches:
                # Nothing of a server but what its service answers is reached over a link, not even by ourselves.
                with connected(site.server.link_url(far)) as link, pytest.raises(AwayError):
                    link.call(link.request(f"$JS.API.STREAM.INFO.{source.stream}", within=0.5))


@contextmanager
def writing(site, source, batches, sizes=(1000, PART)):
    thread = background(lambda: [write(site.connection, source, number, sizes) for number in range(batches)])
    yield
    thread.join()


def test_servers_that_are_killed_or_given_other_neighbours_cost_nothing(tmp_path, name):
    every = leaves(tmp_path / "tls", "abc", ("ab", "ac"))
    alone = {one: replace(every[one], neighbours=every[one].neighbours[:1]) for one in "ab"}
    with joined(tmp_path, alone) as sites:
        a, b = sites.values()
        source, copy = offered(a, name), Address(name, "b", "c")
        pids = {site.server.pid for site in sites.values()}
        a.server.reconfigure(replace(alone["a"]))
        assert {site.server.pid for site in sites.values()} == pids
        with pytest.raises(UnknownNameError, match="neighbour"):
            a.server.link_url("c")
        with running(b.carrying(name, ("a", "c"))) as links:
            with writing(a, source, 60):
                time.sleep(0.3)
                killed(a.server)
                time.sleep(0.3)
                a.server.reconfigure(every["a"])
                assert a.server.restarts == 1
                time.sleep(0.3)
                killed(b.server)
                b.server.reconfigure(replace(every["b"], domain="other"))
                assert b.server.restarts == 1
            all_copied(links, a, source, b, copy, seconds=30.0)
            total = links.counts()["a", "b"]
            assert (total.rows, total.batches) == (60 * (1000 + PART), 60)
        assert pids.isdisjoint(site.server.pid for site in sites.values())
        assert a.server.link_url("c")


def test_a_far_server_that_is_away_is_told_and_met_again_within_seconds(tmp_path, name):
    both = leaves(tmp_path / "tls", "ab", ("ab",))
    with joined(tmp_path, both) as sites:
        met(sites)
        a, b = sites.values()
        source, copy = offered(b, name), Address(name, "a", "c")
        with running(a.carrying(name, ("b", "c"))) as links:
            write(b.connection, source, 0)
            all_copied(links, b, source, a, copy)
            b.server.stop()
            eventually("it is told", lambda: not links.counts()["b", "a"].reached)
            assert not links.idle()
            time.sleep(3.0)
            with served(tmp_path / "b", leaf=both["b"]):
                begin = time.perf_counter()
                write(b.connection, source, 1)
                eventually("it goes on", lambda: links.counts()["b", "a"].batches == 2, 5.0)
                assert time.perf_counter() - begin < within(5.0)
                assert links.counts()["b", "a"].reached
                assert links.failure is None


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seconds", [1.0, 6.5, 12.0])
def test_a_cable_that_is_pulled_is_noticed_and_nothing_is_lost(tmp_path, name, seconds):
    both = leaves(tmp_path / "tls", "ab", ("ab",))
    assert both["b"].listen is not None
    with closing(Cable(both["b"].listen[1])) as cable:
        both["a"] = replace(both["a"], neighbours=(replace(both["a"].neighbours[0], dial=cable.dial),))
        with joined(tmp_path, both) as sites:
            met(sites)
            a, b = sites.values()
            source, copy = offered(b, name), Address(name, "a", "c")
            with running(a.carrying(name, ("b", "c"))) as links:
                write(b.connection, source, 0, [PART] * 3)
                all_copied(links, b, source, a, copy)
                cable.pull()
                write(b.connection, source, 1, [PART] * 30)
                time.sleep(seconds)
                assert links.counts()["b", "a"].reached == (seconds < 3)
                assert links.counts()["b", "a"].batches == 1
                cable.plug()
                eventually("it goes on", lambda: links.counts()["b", "a"].batches == 2, 5.0)
                all_copied(links, b, source, a, copy)


def test_a_link_that_carries_little_carries_much_in_its_time(tmp_path, name):
    both = leaves(tmp_path / "tls", "ab", ("ab",))
    assert both["b"].listen is not None
    with closing(Cable(both["b"].listen[1], mbps=8.0)) as cable:
        both["a"] = replace(both["a"], neighbours=(replace(both["a"].neighbours[0], dial=cable.dial),))
        with joined(tmp_path, both) as sites:
            met(sites)
            a, b = sites.values()
            source, copy = offered(b, name), Address(name, "a", "c")
            write(b.connection, source, 0, [3_000_000, 1_000_000])
            with running(a.carrying(name, ("b", "c"))) as links:
                begin = time.perf_counter()
                all_copied(links, b, source, a, copy, seconds=within(20.0))
                assert 3.5 < time.perf_counter() - begin < within(12.0)
                assert links.counts()["b", "a"].reached


def test_what_is_not_offered_is_not_there_and_what_is_withdrawn_is_waited_for(pair, name):
    a, b = pair["a"], pair["b"]
    secret, source = made(a.connection, name, "secret", "a"), offered(a, name)
    write(a.connection, secret, 0)
    refused = a.services["b"].refused
    with running(b.carrying(name, ("a", "secret"), ("a", "c"))) as links:
        write(a.connection, source, 0)
        eventually("the other is copied", lambda: links.counts()["a", "b"].batches == 1)
        eventually("it is refused", lambda: a.services["b"].refused > refused + 1)
        tap = RemoteTap(b.reaches["a"], secret)
        for ask in (tap.exists, tap.head, lambda: tap.message(1), tap.subscribe, lambda: tap.read_to(1)):
            with pytest.raises(AwayError, match="no such channel for you"):
                b.connection.call(ask())
        assert positions_of(a.connection, secret) == {}
        assert not links.counts()["a", "b"].reached

        del a.offered["c"]
        write(a.connection, source, 1)
        time.sleep(0.3)
        assert links.failure is None
        a.offered["c"] = source
        a.offered["secret"] = secret
        eventually("both are copied", lambda: links.counts()["a", "b"].batches == 3, 12.0)
        assert links.counts()["a", "b"].reached


def test_what_is_damaged_or_lost_at_the_far_end_is_told(pair, name):
    a, b = pair["a"], pair["b"]
    sources = {channel: offered(a, name, channel) for channel in ("damaged", "ahead")}
    links = {channel: b.carrying(name, ("a", channel)) for channel in sources}
    for channel, source in sources.items():
        write(a.connection, source, 0)
        with running(links[channel]):
            all_copied(links[channel], a, source, b, Address(name, "b", channel))

    damaged = sources["damaged"]
    stored = jetstream.stored(a.connection, damaged.stream, damaged.parts, b"x", {"crc": "00000000"})
    part = publish_part(a.connection, damaged, b"y", 1)._replace(messages=(a.connection.call(stored),))
    Publisher(a.connection, damaged, "f", 1).commit(Commit("f", 1, 1, (part,)))
    delete(a.connection, sources["ahead"])
    made(a.connection, name, "ahead", "a")
    for channel, what, kind in (("damaged", "checksum", DataError), ("ahead", "ahead", RunError)):
        with running(links[channel]):
            failure = failed(links[channel])
            assert isinstance(failure, kind)
            assert what in str(failure)
            assert f"channel {channel!r} at a" in str(failure)


# --- what a far site may send -------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
KEYS = st.sampled_from(["channel", "after", "most", "number", "at", "x"])
VALUES = JSON | st.just("fuzzed") | st.sampled_from([-1, 0, 1, 2, 10**9, 2**62, 2**64, 10**30, 1.0, True])
QUESTIONS = (
    st.binary(max_size=200)
    | JSON.map(lambda one: json.dumps(one).encode())
    | st.dictionaries(KEYS, VALUES, max_size=5).map(lambda one: json.dumps(one).encode())
    | st.sampled_from([b"[" * 4000, b"{" * 9000, b'{"channel":' + b"1" * 4000 + b"}", b"\xff", b'{"channel":NaN}'])
)
WORDS = ("ping", "exists", "head", "commits", "message", "subscribe", "read_to", "unsubscribe", "delete")


@pytest.mark.parametrize("verb", WORDS)
def test_a_service_outlives_whatever_it_is_sent(pair, verb, monkeypatch):
    monkeypatch.setattr("tradewind.backbone.link_service.HOLD", 0.02)
    a, b = pair["a"], pair["b"]
    source = a.offered.get("fuzzed")
    if source is None:
        source = offered(a, "fuzz", "fuzzed")
        write(a.connection, source, 0, [10])
    before = seen(a.connection, source)
    with connected(b.server.link_url("a")) as link:

        @settings(max_examples=40)
        @given(QUESTIONS)
        def ask(payload):
            refused = a.services["b"].refused
            answer = read_answer(link.call(link.request(subject("a", verb), payload, within=5.0)).data)
            if "refused" in answer.head:
                assert (list(answer.head), answer.body) == (["refused"], b"")
                assert len(answer.head["refused"]) < 80
                assert a.services["b"].refused > refused
            else:
                assert isinstance(json.loads(payload), dict)
                assert verb in WORDS[:-1]

        ask()
        # Without a place for the answer nothing happens, and nobody is in the way of others.
        link.publish(subject("a", verb), b"{}")
    eventually("it still answers", lambda: b.reaches["a"].answers)
    assert set(positions_of(a.connection, source)) <= {"link to b"}
    assert seen(a.connection, source) == before


@pytest.mark.slow  # gigabytes over one link: on a busy machine it has failed twice for want of an answer
def test_one_who_asks_for_much_does_not_keep_others_waiting(pair, name):
    a, b = pair["a"], pair["b"]
    source = offered(a, name, "much")
    write(a.connection, source, 0, [4_000_000] * 4)
    with connected(b.server.link_url("a")) as greedy:
        question = link_protocol.question({"channel": "much", "number": 1, "at": 0})
        waiting = link_protocol.question({"channel": "much", "after": 10**6, "most": 5})

        async def much() -> None:
            for number in range(1500):
                verb, payload = ("commits", waiting) if number % 3 == 0 else ("message", question)
                with suppress(AwayError):
                    await (await greedy._current())._client.publish(subject("a", verb), payload, reply="nobody.listens")

        thread = background(lambda: greedy.call(much()))
        begin = time.perf_counter()
        tap = RemoteTap(b.reaches["a"], source)
        eventually("it is answered", lambda: answered(b, tap) == 5, 30.0)
        # Others are answered while there is still much to do, if the machine is not busy with something else.
        assert time.perf_counter() - begin < within(10.0)
        thread.join()


def test_two_who_follow_one_channel_do_not_chase_each_other(pair, name):
    """Each question ends the other's; nobody asks again at once, and both learn of what comes."""
    a, b = pair["a"], pair["b"]
    source, copy = offered(a, name, "both"), Address(name, "b", "both")
    asked: list[bytes] = []
    with connected(a.server.link_url("b")) as spy:
        spy.call(spy.subscribed(subject("a", "commits"), lambda message: asked.append(message.data)))
        with running(b.carrying(name, ("a", "both"))) as one, running(b.carrying(name, ("a", "both"))) as other:
            eventually("both ask", lambda: len(asked) >= 4)
            before, begin = len(asked), time.perf_counter()
            time.sleep(2.0)
            assert (len(asked) - before) / (time.perf_counter() - begin) < 10
            write(a.connection, source, 0)
            for links in (one, other):
                all_copied(links, a, source, b, copy)


def answered(site, tap):
    try:
        return site.connection.call(tap.head())
    except AwayError:
        return None


def test_answers_that_make_no_sense_are_no_answers(pair, name):
    """The far site's own service is not there; somebody else answers in its place."""
    a, b = pair["a"], pair["b"]
    said: list[bytes] = [b""]
    with connected(a.server.link_url("b")) as liar, closing(Reach.open(b.server.link_url("a"), "liar")) as reach:

        def lie(message):
            liar._loop.create_task(
                liar.published(message.reply, b"{}\n" if message.subject.endswith("ping") else said[0])
            )

        liar.call(liar.subscribed(subject("liar", "*"), lie))
        eventually("it answers", lambda: reach.answers)
        tap = RemoteTap(reach, Address(name, "liar", "c"))
        for said[0] in (b"", b"\n\n", b"[1]\n", b'{"head":-1}\n', b'{"head":true}\n', b'{"head":"x"}', b"[" * 5000):
            with pytest.raises(AwayError):
                b.connection.call(tap.head())
        said[0] = b'{"size":99999999999,"crc":"00000000"}\nabc'
        with pytest.raises(DataError, match="bytes"):
            b.connection.call(tap.message(3))
        said[0] = b'{"size":3,"crc":"00000000"}\nabc'
        with pytest.raises(DataError, match="checksum"):
            b.connection.call(tap.message(3))


# --- who is let in ------------------------------------------------------------------------------------------------


def hello(port: int, context: ssl.SSLContext | None) -> bytes:
    """What a stranger is told who connects to a port, and says what a leaf node would."""
    said = b""
    with socket.create_connection(("127.0.0.1", port), timeout=3) as plain, suppress(OSError):
        stream = plain if context is None else context.wrap_socket(plain, server_hostname="127.0.0.1")
        stream.settimeout(3)
        with stream, suppress(OSError):
            stream.sendall(b'CONNECT {"name":"stranger","server_id":"x","headers":true}\r\nPING\r\nLS+ >\r\n')
            while data := stream.recv(4096):
                said += data
    return said


def test_strangers_get_nothing(tmp_path):
    both = leaves(tmp_path / "tls", "ab", ("ab",))
    assert both["b"].listen is not None
    port = both["b"].listen[1]
    forged = Authority(tmp_path / "other", "other").shown("a.example.org").context()
    forged.load_verify_locations(both["b"].ca)
    bare = ssl.create_default_context(cafile=str(both["b"].ca))
    with joined(tmp_path, both) as sites:
        met(sites)
        assert hello(port, None) == b""
        for context in (bare, forged):
            context.check_hostname = False
            assert b"INFO" not in hello(port, context)
        # One whom the authority knows, but who is no neighbour of ours.
        known = ssl.create_default_context(cafile=str(both["b"].ca))
        known.load_cert_chain(both["b"].certificate, both["b"].key)
        told = hello(port, known)
        assert b"Authorization Violation" in told
        assert b"LS+" not in told
        shown = urlsplit(sites["b"].server.url)
        # Nor is a client let in without a name, or with that of another account.
        with pytest.raises(RunError, match="does not let us in"), connected(f"nats://127.0.0.1:{shown.port}"):
            pass
        wrong = sites["b"].server.link_url("a").replace("link-a", "tradewind")
        with pytest.raises(RunError, match="does not let us in"), connected(wrong):
            pass
        assert (shown.password or "") not in sites["b"].server.link_url("a")
        assert sites["a"].reaches["b"].answers


def test_a_member_at_anothers_address_is_not_taken_for_it(tmp_path):
    """Its certificate is good for the address as well; but who is dialled is known by name."""
    all_ = leaves(tmp_path / "tls", "abs", ("ab",))
    listens = all_["b"].listen
    impostor = replace(all_["s"], listen=listens, neighbours=(Neighbour("a", "a.example.org"),))
    with joined(tmp_path, {"a": all_["a"], "s": impostor}) as sites:
        log = tmp_path / "a" / "nats.log"
        eventually("it is refused", lambda: "valid for" in log.read_text() and "b.example.org" in log.read_text(), 20)
        time.sleep(2.0)
        assert not sites["a"].reaches["b"].answers
        assert not sites["s"].reaches["a"].answers
        sites["s"].server.stop()
        with joined(tmp_path, {"b": all_["b"]}) as late:
            eventually("it is met", lambda: sites["a"].reaches["b"].answers, 20)
            eventually("it is met", lambda: late["b"].reaches["a"].answers, 20)


def test_odd_names_are_only_names_and_bad_ones_are_told(tmp_path):
    both = leaves(tmp_path / "tls", "ab", ("ab",))
    odd = ('Zürich 1"; }', "LINK_x", "$SYS", "a" * 300, "b")
    neighbours = tuple(
        Neighbour(name, f"{number}.example.org", "127.0.0.1:1" if number else None) for number, name in enumerate(odd)
    )
    leaf = replace(both["a"], domain="Zürich }", neighbours=neighbours)
    with served(tmp_path / "odd", leaf=leaf) as server:
        urls = {server.link_url(name) for name in odd}
        assert len(urls) == len(odd)
        for url in urls:
            with connected(url):
                pass
    for wrong in ("", "x y", 'a"b', "a\nb", "*", "-a", "é.example.org", "a" * 300):
        with pytest.raises(InputError, match="no DNS name"):
            Neighbour("x", wrong)
    for wrong in ("", "host", "host:", ":1", "host:0", "host:70000", "a b:1", 'a":1', "host:1/x", "[::1"):
        with pytest.raises(InputError, match="no address"):
            Neighbour("x", "x.example.org", wrong)
    assert Neighbour("x", "x.example.org", "[::1]:7422").dial
    with pytest.raises(InputError, match="listen"):
        replace(both["a"], listen=("a b", 1))
    with pytest.raises(InputError, match="same principal"):
        replace(both["a"], neighbours=(Neighbour("x", "x.org"), Neighbour("y", "x.org")))


def test_settings_that_do_not_work_leave_the_former_ones(tmp_path):
    both = leaves(tmp_path / "tls", "ab", ("ab",))
    with served(tmp_path / "b", leaf=both["b"]) as server, connected(server.url) as connection:
        made(connection, "kept", "c", "b")
        with socket.create_server(("127.0.0.1", 0)) as other:
            with pytest.raises(InputError, match="cannot listen for its neighbours"):
                server.reconfigure(replace(both["b"], listen=other.getsockname()))
            with pytest.raises(InputError, match="cannot listen for its neighbours"):
                Server.start(tmp_path / "other", leaf=replace(both["b"], listen=other.getsockname()))
        with pytest.raises(RunError, match="does not start with other settings"):
            server.reconfigure(replace(both["b"], certificate=tmp_path / "nowhere"))
        assert server.settings.leaf == both["b"]
        assert (server.restarts, server.failure) == (0, None)
        assert connection.call(jetstream.check(connection, Address("kept", "b", "c").stream))
        # A server that nobody dials does not listen for neighbours; without users it would let in anybody.
        port = free_port()
        server.reconfigure(replace(both["b"], listen=("127.0.0.1", port), neighbours=()))
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        server.reconfigure(Leaf("b", None, both["b"].certificate, both["b"].key, both["b"].ca, (Neighbour("x", "x"),)))
        pid = server.pid
        assert alive(pid)
    assert not alive(pid)
    with pytest.raises(RunError, match="stopped"):
        server.reconfigure(both["b"])
