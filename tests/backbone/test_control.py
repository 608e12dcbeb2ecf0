"""The coordinator's server: each member may do what it may, in its own name, and nothing else."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import time
from contextlib import closing, contextmanager

import pytest

from tests.backbone.certificates import Authority
from tests.backbone.servers import alive, eventually
from tests.patience import within
from tradewind.backbone import catalog, jetstream
from tradewind.backbone.connection import Connection
from tradewind.backbone.control import ControlServer
from tradewind.backbone.session import AwayError
from tradewind.errors import InputError, RunError

OWNER = "coordinator.tradewind"
SITES = {"ams": "ams.site.tradewind", "hq": "hq.site.tradewind"}
DESIRED = "$JS.API.DIRECT.GET.KV_tw_desired.$KV.tw_desired.current"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"))


@contextmanager
def controlled(folder, authority, members=SITES, port=0):
    own = authority.shown(OWNER)
    server = ControlServer.start(folder, ("127.0.0.1", port), own.certificate, own.key, own.ca, members, OWNER)
    try:
        yield server
    finally:
        server.stop()


def entered(server, authority, principal, site=None, patience=5.0):
    return closing(
        Connection.open(
            f"tls://127.0.0.1:{server.port}",
            patience=patience,
            tls=authority.shown(principal).context(),
            inbox_prefix=None if site is None else f"_INBOX.{site}",
        )
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory, authority):
    with controlled(tmp_path_factory.mktemp("control"), authority) as server:
        yield server


@pytest.fixture
def owner(server, authority):
    with entered(server, authority, OWNER) as owner:
        catalog.put(owner, "desired", "current", {"epoch": 1})
        yield owner


@pytest.fixture
def ams(server, authority):
    with entered(server, authority, SITES["ams"], "ams") as ams:
        yield ams


@pytest.fixture
def hq(server, authority):
    with entered(server, authority, SITES["hq"], "hq") as hq:
        yield hq


def test_a_member_reports_asks_reads_and_hears(owner, ams):
    heard: list[tuple[str, bytes]] = []
    owner.subscribe("tw.report.>", lambda subject, payload: heard.append((subject, payload)))

    def answer(message):
        owner._loop.create_task(owner.published(message.reply, b"yes: " + message.data))

    owner.call(owner.subscribed("tw.ask.>", answer))
    ams.publish("tw.report.ams.state", b"fine")
    eventually("it is heard", lambda: heard == [("tw.report.ams.state", b"fine")])
    assert ams.call(ams.request("tw.ask.ams.join", b"may I?")).data == b"yes: may I?"
    assert catalog.get(ams, "desired", "current") == {"epoch": 1}
    catalog.put(owner, "desired", "current", {"epoch": 2})
    assert catalog.get(ams, "desired", "current") == {"epoch": 2}
    news: list[bytes] = []
    ams.subscribe("tw.news", lambda _, payload: news.append(payload))
    owner.publish("tw.news", b"look")
    eventually("it is told", lambda: news == [b"look"])


def test_a_member_writes_nothing_that_is_wanted_and_nothing_in_the_name_of_another(owner, ams, hq):
    everything: list[tuple[str, bytes]] = []
    told: list[tuple[str, bytes]] = []
    owner.subscribe("tw.>", lambda *one: everything.append(one))
    owner.subscribe("$KV.>", lambda *one: everything.append(one))
    hq.subscribe("tw.news", lambda *one: told.append(one))
    hq.subscribe("_INBOX.hq.>", lambda *one: told.append(one))
    subjects = (
        "$KV.tw_desired.current",
        "tw.report.hq.state",
        "tw.ask.hq.x",
        "tw.news",
        "_INBOX.hq.x",
        "tw.report.ams",
    )
    for subject in subjects:
        ams.publish(subject, b'{"epoch": 99}')
        # Nor by way of the answer to a question that is allowed, which the server itself writes.
        ams.call(_asked_for(ams, DESIRED, subject))
        ams.call(_asked_for(ams, "tw.ask.ams.x", subject))
    for verb in (
        "STREAM.DELETE.KV_tw_desired",
        "STREAM.PURGE.KV_tw_desired",
        "STREAM.INFO.KV_tw_desired",
        "STREAM.NAMES",
    ):
        with pytest.raises(AwayError):
            ams.call(ams.request(f"$JS.API.{verb}", within=0.3))
    ams.publish("tw.report.ams.last", b"")
    eventually("all was sent", lambda: ("tw.report.ams.last", b"") in everything)
    time.sleep(0.2)
    assert {subject for subject, _ in everything} == {"tw.report.ams.last", "tw.ask.ams.x"}
    assert told == []
    assert catalog.all_(owner, "desired") == {"current": {"epoch": 1}}


async def _asked_for(connection, subject, reply):
    await (await connection._current())._client.publish(subject, b"", reply=reply)


def test_a_member_hears_nothing_that_is_not_for_it(owner, ams, hq):
    heard: list[tuple[str, bytes]] = []
    for subject in (
        ">",
        "tw.>",
        "tw.report.>",
        "tw.report.hq.>",
        "_INBOX.>",
        "_INBOX.hq.>",
        "$KV.>",
        "$JS.>",
        "$SYS.>",
    ):
        ams.subscribe(subject, lambda *one: heard.append(one))

    def answer(message):
        owner._loop.create_task(owner.published(message.reply, b"secret"))

    owner.call(owner.subscribed("tw.ask.hq.>", answer))
    hq.publish("tw.report.hq.state", b"secret")
    assert hq.call(hq.request("tw.ask.hq.x", b"secret")).data == b"secret"
    assert catalog.get(hq, "desired", "current") == {"epoch": 1}
    catalog.put(owner, "desired", "current", {"epoch": 1, "again": True})
    time.sleep(0.3)
    assert heard == []


def test_strangers_are_not_let_in(server, authority, tmp_path):
    other = Authority(tmp_path, "other")
    forged = other.shown(SITES["ams"]).context()
    forged.load_verify_locations(authority.ca)
    bare = ssl.create_default_context(cafile=str(authority.ca))
    unknown = authority.shown("paris.site.tradewind").context()
    believing = ssl.create_default_context(cafile=str(other.ca))
    for context in (forged, bare, unknown, believing):
        with pytest.raises(RunError, match="let us in"):
            Connection.open(f"tls://127.0.0.1:{server.port}", patience=0.2, tls=context)
    with pytest.raises(RunError):
        Connection.open(f"nats://127.0.0.1:{server.port}", patience=0.2)
    # Before anybody is known, the server gives away nothing that could be used.
    with socket.create_connection(("127.0.0.1", server.port)) as plain:
        said = plain.recv(4096)
    assert server.server.settings.secret[:8].encode() not in said


def test_a_client_never_speaks_in_the_open(authority):
    """Who stands between and says that no TLS is wanted learns nothing."""
    with socket.create_server(("127.0.0.1", 0)) as liar:
        liar.settimeout(5)
        with pytest.raises(RunError):
            Connection.open(
                f"tls://127.0.0.1:{liar.getsockname()[1]}",
                patience=0.0,
                tls=authority.shown(SITES["ams"]).context(),
            )
        with liar.accept()[0] as client:
            client.settimeout(1)
            said = client.recv(65536)
    assert said.startswith(b"\x16\x03")


@pytest.mark.faults
def test_members_come_and_go(tmp_path, authority):
    with controlled(tmp_path, authority) as server, entered(server, authority, OWNER) as owner:
        heard: list[bytes] = []
        owner.subscribe("tw.report.>", lambda _, payload: heard.append(payload))
        catalog.put(owner, "desired", "current", {"epoch": 1})
        with (
            entered(server, authority, SITES["ams"], "ams") as ams,
            entered(server, authority, SITES["hq"], "hq") as hq,
        ):
            pid = server.server.pid
            server.reconfigure(dict(SITES))
            assert server.server.pid == pid
            socket_of_hq, begin = hq._session, time.perf_counter()
            server.reconfigure({"hq": SITES["hq"], "Zürich 1": "zurich.site.tradewind"})
            assert time.perf_counter() - begin < within(2.0)
            with pytest.raises(RunError, match="let us in"):
                ams.publish("tw.report.ams.state", b"gone")
            # All others go on, the new one too, and nothing that was wanted is lost.
            with entered(server, authority, "zurich.site.tradewind", "Z-rich-1-x0b0065d8") as zurich:
                for one in (hq, zurich):
                    assert catalog.get(one, "desired", "current") == {"epoch": 1}

                def reported() -> bool:
                    hq.publish("tw.report.hq.state", b"hq")
                    zurich.publish("tw.report.Z-rich-1-x0b0065d8.state", b"zurich")
                    return {b"hq", b"zurich"} <= set(heard)

                eventually("the owner listens again", reported)
            assert b"gone" not in heard
            assert server.server.restarts == 0
            assert (server.server.pid, hq._session) == (pid, socket_of_hq)
            server.reconfigure(SITES)
            assert catalog.get(ams, "desired", "current") == {"epoch": 1}
            # Another edition of a member is somebody else.
            server.reconfigure({**SITES, "ams": "ams.2.site.tradewind"})
            with pytest.raises(RunError, match="let us in"):
                ams.publish("tw.report.ams.state", b"gone")
            with entered(server, authority, "ams.2.site.tradewind", "ams") as again:
                assert catalog.get(again, "desired", "current") == {"epoch": 1}
        pid, port = server.server.pid, server.port
        assert server.failure is None
    assert not alive(pid)
    with controlled(tmp_path, authority) as server, entered(server, authority, OWNER) as owner:
        assert server.port == port
        assert catalog.get(owner, "desired", "current") == {"epoch": 1}


@pytest.mark.faults
def test_a_server_that_is_killed_comes_back_with_the_members_of_now(tmp_path, authority):
    with controlled(tmp_path, authority) as server, entered(server, authority, OWNER) as owner:
        catalog.put(owner, "desired", "current", {"epoch": 1})
        for number in range(3):
            server.reconfigure({**SITES, f"new{number}": f"new{number}.site.tradewind"})
        os.kill(server.server.pid, signal.SIGKILL)
        eventually("it is started again", lambda: server.server.restarts == 1)
        with entered(server, authority, "new2.site.tradewind", "new2") as new:
            assert catalog.get(new, "desired", "current") == {"epoch": 1}
        with pytest.raises(RunError, match="let us in"), entered(server, authority, "new1.site.tradewind", "new1"):
            pass
        # One that is told while it is away is told by being started.
        os.kill(server.server.pid, signal.SIGKILL)
        server.reconfigure(SITES)
        with entered(server, authority, SITES["ams"], "ams") as ams:
            assert catalog.get(ams, "desired", "current") == {"epoch": 1}


def test_principals_that_are_none_or_the_same_are_told(tmp_path, authority):
    for members, what in (
        ({"a": 'x"} evil'}, "no DNS name"),
        ({"a": OWNER}, "same principal"),
        ({"a": "x.org", "b": "x.org"}, "same principal"),
    ):
        with pytest.raises(InputError, match=what), controlled(tmp_path, authority, members):
            pass
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} is in use"), controlled(tmp_path, authority, SITES, port):
            pass


def test_jetstream_is_the_owners(owner):
    assert owner.call(jetstream.check(owner, "KV_tw_desired"))["state"]["messages"] >= 1
