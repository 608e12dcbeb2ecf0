"""The interface at a real port: TLS, events as they happen, and an end that leaves nothing behind."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.patience import within
from tests.web.certificates import written
from tests.web.paper_desk import SECRET, Clock, PaperDesk, made
from tradewind.errors import InputError, RunError
from tradewind.web.serving import Served

AUTHORISED = {"Authorization": f"Bearer {SECRET}"}


def said(lines: Iterator[str]) -> dict[str, str]:
    """The next event, or a comment under the name of nothing."""
    found: dict[str, str] = {}
    for line in lines:
        if not line:
            return found
        name, _, value = line.partition(": ")
        found[name] = value
    raise AssertionError(f"the stream ended after {found}")


def changed_often(desk: PaperDesk, stop: threading.Event) -> None:
    while not stop.wait(0.02):
        desk.change()


def test_tls_and_nothing_else_where_there_is_a_certificate(tmp_path: Path) -> None:
    certificate, key = written(tmp_path)
    with Served.start(made(), "127.0.0.1", 0, certificate, key) as served:
        trusted = ssl.create_default_context(cafile=str(certificate))
        got = httpx.get(f"https://127.0.0.1:{served.port}/v1/status", headers=AUTHORISED, verify=trusted)
        assert (got.status_code, got.http_version) == (200, "HTTP/1.1")
        assert "server" not in got.headers
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"https://127.0.0.1:{served.port}/")
        with pytest.raises(httpx.TransportError):
            httpx.get(f"http://127.0.0.1:{served.port}/")


def test_a_certificate_that_is_renewed_meanwhile_is_shown_to_whoever_comes_then(tmp_path: Path) -> None:
    certificate, key = written(tmp_path)
    with Served.start(made(), "127.0.0.1", 0, certificate, key) as served:
        at = ("127.0.0.1", served.port)
        first = ssl.get_server_certificate(at)
        assert first == certificate.read_text()
        (tmp_path / "new").mkdir()
        new, new_key = written(tmp_path / "new")
        new.replace(certificate)
        # Key and certificate do not fit as long as only one of them was replaced.
        assert ssl.get_server_certificate(at) == first
        new_key.replace(key)
        assert ssl.get_server_certificate(at) == certificate.read_text() != first
        trusted = ssl.create_default_context(cafile=str(certificate))
        assert httpx.get(f"https://127.0.0.1:{served.port}/v1/status", headers=AUTHORISED, verify=trusted).is_success


def test_a_port_is_ours_and_free_again_afterwards() -> None:
    before = set(threading.enumerate())
    served = Served.start(made(), "127.0.0.1", 0)
    assert served.port > 0
    assert httpx.get(f"http://127.0.0.1:{served.port}/").status_code == 200
    with pytest.raises(InputError, match="in use") as refused:
        Served.start(made(), "127.0.0.1", served.port)
    assert refused.value.hint
    served.stop()
    served.stop()
    assert set(threading.enumerate()) <= before  # those of other tests may have ended meanwhile
    with Served.start(made(), "127.0.0.1", served.port) as again:
        assert again.port == served.port


@pytest.mark.parametrize(("host", "port"), [("192.0.2.1", 0), ("no such host", 0), ("127.0.0.1", 70_000)])
def test_where_one_cannot_listen_is_said(host: str, port: int) -> None:
    with pytest.raises(InputError) as refused:
        Served.start(made(), host, port)
    assert refused.value.hint


def test_certificates_that_cannot_be_used_are_said(tmp_path: Path) -> None:
    certificate, key = written(tmp_path)
    (tmp_path / "other").mkdir()
    _, other = written(tmp_path / "other")
    for one, two in ((tmp_path / "none.pem", key), (key, certificate), (certificate, other), (certificate, None)):
        with pytest.raises(InputError, match="certificate"):
            Served.start(made(), "127.0.0.1", 0, one, two)


def test_events_tell_the_status_when_it_changes_and_at_most_twice_a_second() -> None:
    desk = PaperDesk()
    with Served.start(made(desk)) as served:
        url = f"http://127.0.0.1:{served.port}/v1/events"
        with httpx.stream("GET", url, headers=AUTHORISED, timeout=5) as got:
            assert got.headers["content-type"].startswith("text/event-stream")
            assert got.headers["cache-control"] == "no-store"
            lines = got.iter_lines()
            first = said(lines)
            assert (first["event"], first["id"], json.loads(first["data"])) == ("status", "1", desk.status())
            start = time.perf_counter()
            stop = threading.Event()
            changing = threading.Thread(target=changed_often, args=(desk, stop))
            changing.start()
            told = [int(said(lines)["id"]) for _ in range(3)]
            stop.set()
            changing.join()
            assert time.perf_counter() - start > 0.9
            assert told == sorted(set(told))


def test_a_quiet_stream_is_kept_alive() -> None:
    clock = Clock()
    with Served.start(made(clock=clock)) as served:
        url = f"http://127.0.0.1:{served.port}/v1/events"
        with httpx.stream("GET", url, headers=AUTHORISED, timeout=5) as got:
            lines = got.iter_lines()
            assert said(lines)["event"] == "status"
            clock.now += 10
            assert said(lines) == {"": "nothing new"}


def test_those_who_watch_are_let_go_and_not_too_many() -> None:
    app = made()
    app.state.watch.most = 1
    served = Served.start(app)
    try:
        url = f"http://127.0.0.1:{served.port}/v1/events"
        with httpx.stream("GET", url, headers=AUTHORISED, timeout=5) as got:
            lines = got.iter_lines()  # who drops it leaves
            assert said(lines)
            refused = httpx.get(url, headers=AUTHORISED)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        end = time.monotonic() + 5
        while app.state.watch.watchers:
            assert time.monotonic() < end, "who left still counts"
            time.sleep(0.05)
        with httpx.stream("GET", url, headers=AUTHORISED, timeout=5) as got:
            lines = got.iter_lines()
            assert said(lines)
            start = time.perf_counter()
            threading.Thread(target=served.stop).start()
            assert list(lines) == []
            assert time.perf_counter() - start < within(4)
    finally:
        served.stop()


class Leaving(PaperDesk):
    """A desk whose coordinator stops leading."""

    def status(self):
        if self.version() > 1:
            raise RunError(f"another leads, {SECRET}.")
        return super().status()


def test_a_stream_that_cannot_go_on_says_why() -> None:
    desk = Leaving()
    with Served.start(made(desk)) as served:
        url = f"http://127.0.0.1:{served.port}/v1/events"
        with httpx.stream("GET", url, headers=AUTHORISED, timeout=5) as got:
            lines = got.iter_lines()
            assert said(lines)["event"] == "status"
            desk.change()
            problem = said(lines)
            assert (problem["event"], json.loads(problem["data"])["what"]) == ("problem", "another leads, ….")
            assert list(lines) == []


def test_chunked_bodies_are_bounded_at_the_socket_too() -> None:
    with Served.start(made()) as served, socket.create_connection(("127.0.0.1", served.port), timeout=5) as line:
        head = f"POST /v1/apply HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {SECRET}\r\n"
        line.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        chunk = b"186a0\r\n" + b"x" * 100_000 + b"\r\n"
        for _ in range(21):
            line.sendall(chunk)
        assert line.recv(100).startswith(b"HTTP/1.1 413 ")


def test_it_is_quiet_and_sends_no_secret_to_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    with Served.start(made()) as served:
        for _ in range(3):
            httpx.get(f"http://127.0.0.1:{served.port}/v1/status", headers=AUTHORISED)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


@pytest.mark.parametrize("sent", [b"", b"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"GET / HT"])
def test_headers_that_stay_incomplete_end_the_connection(sent: bytes) -> None:
    with (
        Served.start(made(), headers_within=0.2) as served,
        socket.create_connection(("127.0.0.1", served.port), timeout=30) as caller,
    ):
        caller.sendall(sent)
        assert caller.recv(1) == b""


def test_headers_that_trickle_in_end_the_connection_too_also_of_a_second_request() -> None:
    whole = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{{}}\r\nAuthorization: Bearer {SECRET}\r\n\r\n"
    with (
        Served.start(made(), headers_within=2.0) as served,
        socket.create_connection(("127.0.0.1", served.port), timeout=30) as caller,
    ):
        caller.sendall(whole.format(served.port).encode())
        assert caller.recv(12) == b"HTTP/1.1 200"
        caller.sendall(b"GET / HTTP/1.1\r\n")
        stop = threading.Event()

        def trickle() -> None:
            while not stop.wait(0.05):
                try:
                    caller.sendall(b"X: y\r\n")
                except OSError:
                    return

        thread = threading.Thread(target=trickle)
        thread.start()
        try:
            with contextlib.suppress(ConnectionError):
                while caller.recv(65536):
                    pass
        finally:
            stop.set()
            thread.join()


def test_a_request_that_takes_long_is_not_cut_off_by_the_time_for_headers() -> None:
    with (
        Served.start(made(), headers_within=2.0) as served,
        httpx.stream("GET", f"http://127.0.0.1:{served.port}/v1/events", headers=AUTHORISED, timeout=30) as got,
    ):
        lines = got.iter_lines()
        said(lines)
        time.sleep(2.5)
        assert not got.is_closed
        assert got.status_code == 200
