"""Who is let in, who is not, and what nobody is ever told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from tests.web.paper_desk import HOST, SECRET, TOKEN, Asker, Clock, PaperDesk, client, made
from tradewind.web import bodies
from tradewind.web.failures import Failures

PRIVATE = [
    ("GET", "/v1/status"), ("POST", "/v1/check"), ("POST", "/v1/difference"), ("POST", "/v1/apply"),
    ("POST", "/v1/stop"), ("GET", "/v1/entities"), ("GET", "/v1/streams"), ("GET", "/v1/queries/top/rows"),
    ("POST", "/v1/queries"), ("DELETE", "/v1/queries/top"), ("POST", "/v1/streams/requests/rows"),
    ("GET", "/v1/describe/ams"), ("GET", "/v1/stats"), ("GET", "/v1/events"), ("POST", "/v1/tokens"),
    ("POST", "/v1/sites/ams/revoke"), ("POST", "/v1/move"), ("POST", "/v1/split"),
    ("POST", "/v1/merge"), ("POST", "/v1/pause"), ("POST", "/v1/resume"),
    ("GET", "/v1/savepoints"), ("POST", "/v1/savepoints"), ("DELETE", "/v1/savepoints/noon"),
    ("GET", "/metrics"), ("GET", "/v1/openapi.json"), ("GET", "/docs"),
    ("GET", "/nothing"), ("GET", "/v1/join"), ("POST", "/v1/ca"), ("POST", "/"),
    ("OPTIONS", "/v1/status"), ("HEAD", "/v1/status"), ("GET", "//v1/ca"), ("GET", "/v1/ca/"), ("GET", "/v1/CA"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), PRIVATE)
def test_everything_else_needs_the_secret(method: str, path: str) -> None:
    ask = Asker(made(), secret=None)
    got = ask(method, path)
    assert got.status_code == 401
    assert got.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "given",
    ["Bearer", "Bearer ", "Bearer wrong", f"Basic {SECRET}", SECRET, f"Bearer {SECRET}x", f"Bearer x {SECRET}",
     f"Bearer {SECRET[:-1]}", f"Bearer {SECRET.upper()}", b"Bearer \xff\xfe"],
)  # fmt: skip
def test_only_the_secret_is_the_secret(given: str | bytes) -> None:
    ask = Asker(made(), secret=None)
    raw = given if isinstance(given, bytes) else given.encode()
    assert ask("GET", "/v1/status", headers=[(b"authorization", raw)]).status_code == 401
    twice = [(b"authorization", f"Bearer {SECRET}".encode()), (b"authorization", b"Bearer x")]
    assert ask("GET", "/v1/status", headers=twice).status_code == 401


def test_the_scheme_may_be_written_as_one_likes() -> None:
    ask = Asker(made(), secret=None)
    assert ask("GET", "/v1/status", headers={"Authorization": f"bearer {SECRET}"}).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [(HOST, 200), (HOST.upper(), 200), (f"{HOST}:8443", 200), ("[::1]:1", 200), ("127.0.0.1:1", 200),
     ("other.test:8080", 200), ("other.test", 421), ("other.test:1", 421), ("evil.test", 421), ("", 421),
     (f"{HOST}.evil.test", 421), (f"evil.test@{HOST}", 421), (f"{HOST}:x", 421), (f"{HOST}/", 421), ("::1", 421)],
)  # fmt: skip
def test_only_our_hosts_are_served(host: str, status: int) -> None:
    ask = Asker(made())
    for path in ("/v1/status", "/", "/v1/ca"):
        got = ask("GET", path, headers={"Host": host})
        assert got.status_code == status, path


def test_two_hosts_are_none() -> None:
    got = Asker(made())("GET", "/", headers=[(b"host", HOST.encode()), (b"host", b"evil.test")])
    assert got.status_code == 421


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, True),
        ({"Origin": f"https://{HOST}"}, True),
        ({"Origin": f"https://{HOST}", "Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Origin": f"http://{HOST}"}, False),
        ({"Origin": f"https://{HOST}:444"}, False),
        ({"Origin": "https://evil.test"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": ""}, False),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Origin": f"https://{HOST}", "Sec-Fetch-Site": "cross-site"}, False),
    ],
)
def test_foreign_pages_change_nothing_even_with_the_secret(headers: dict[str, str], allowed: bool) -> None:
    ask = Asker(made())
    for method, path in (("POST", "/v1/stop"), ("DELETE", "/v1/queries/top")):
        assert ask(method, path, headers=headers).status_code == (200 if allowed else 403)
    joined = ask("POST", "/v1/join", headers=headers, json={"token": TOKEN, "csr": "x"})
    assert joined.status_code == (200 if allowed else 403)
    assert ask("GET", "/v1/status", headers=headers).status_code == 200


def test_no_answer_invites_foreign_pages() -> None:
    asked = {"Origin": "https://evil.test", "Access-Control-Request-Method": "POST"}
    for secret in (SECRET, None):
        ask = Asker(made(), secret=secret)
        for method in ("OPTIONS", "GET", "POST"):
            got = ask(method, "/v1/apply", headers=asked)
            assert not [name for name in got.headers if name.startswith("access-control")]


def test_every_answer_has_the_headers_of_security() -> None:
    served = made()
    ask, stranger = Asker(served), Asker(served, secret=None)
    answers = [
        ask("GET", "/"), ask("GET", "/page.js"), ask("GET", "/v1/status"), ask("GET", "/metrics"),
        ask("GET", "/v1/nothing"), ask("PUT", "/v1/status"), ask("POST", "/v1/apply", json={}),
        ask("POST", "/v1/apply", json={"text": "break"}), stranger("GET", "/v1/status"),
        ask("GET", "/", headers={"Host": "evil.test"}), ask("POST", "/v1/apply", content=b"x" * 2_000_001),
    ]  # fmt: skip
    assert {one.status_code for one in answers} == {200, 404, 405, 422, 500, 401, 421, 413}
    for one in answers:
        policy = one.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert one.headers["x-content-type-options"] == "nosniff"
        assert one.headers["referrer-policy"] == "no-referrer"
        assert one.headers["cache-control"] == "no-store"
        assert one.headers["cross-origin-opener-policy"] == "same-origin"
        assert "camera=()" in one.headers["permissions-policy"]


def test_a_body_is_bounded_whether_or_not_it_says_its_length() -> None:
    desk = PaperDesk()
    sent = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(100):
            sent += 1
            yield b"x" * 100_000

    ask = Asker(made(desk))
    assert ask("POST", "/v1/apply", content=chunks()).status_code == 413
    assert sent < 30
    assert ask("POST", "/v1/apply", content=b"x" * 2_000_001).status_code == 413
    assert ask("POST", "/v1/apply", headers={"Content-Length": "9" * 5000}).status_code == 413
    assert ask("POST", "/v1/apply", headers={"Content-Length": "-1"}).status_code == 400
    # A body that lies about its length is counted all the same.
    assert ask("POST", "/v1/apply", content=b"x" * 2_000_001, headers={"Content-Length": "5"}).status_code == 413
    # Strangers may send only what a join needs.
    assert Asker(made(), secret=None)("POST", "/v1/join", content=b"x" * 64_001).status_code == 413
    assert desk.asked == []


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slowly() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(5)

    monkeypatch.setattr(bodies, "_SECONDS", 0.1)
    assert Asker(made())("POST", "/v1/apply", content=slowly()).status_code == 408


def test_a_body_of_strangers_is_not_even_read() -> None:
    async def never() -> AsyncIterator[bytes]:
        raise AssertionError("read")
        yield b""

    assert Asker(made(), secret=None)("POST", "/v1/apply", content=never()).status_code == 401


def test_who_guesses_too_often_has_to_wait() -> None:
    clock, waited = Clock(), []

    async def pause(seconds: float) -> None:
        waited.append(seconds)

    served = made(clock=clock, pause=pause)
    guess, owner = Asker(served, secret="x" * 20), Asker(served)
    assert [guess("GET", "/v1/status").status_code for _ in range(20)] == [401] * 20
    got = guess("GET", "/v1/status")
    assert (got.status_code, got.headers["retry-after"]) == (429, "60")
    # Guesses are slowed down, and lock nobody out who has the secret.
    assert waited == [1.0]
    assert owner("GET", "/v1/status").status_code == 200
    assert waited == [1.0]
    assert guess("GET", "/v1/status").status_code == 429
    assert Asker(served, address="192.0.2.9")("GET", "/v1/status").status_code == 200
    assert guess("GET", "/").status_code == 200
    assert owner("POST", "/v1/join", json={"token": TOKEN, "csr": "x"}).status_code == 200
    clock.now += 59.5
    assert guess("GET", "/v1/status").headers["retry-after"] == "1"
    clock.now += 1
    assert owner("GET", "/v1/status").status_code == 200
    assert guess("GET", "/v1/status").status_code == 401


def test_asking_without_any_secret_is_no_guess() -> None:
    served = made()
    ask = Asker(served, secret=None)
    assert {ask("GET", "/v1/status").status_code for _ in range(30)} == {401}
    assert Asker(served)("GET", "/v1/status").status_code == 200


def test_who_fails_to_join_too_often_has_to_wait_but_shuts_nobody_else_out() -> None:
    clock = Clock()
    served = made(clock=clock)
    ask = Asker(served, secret=None)
    tried = [ask("POST", "/v1/join", json={"token": f"guess-{n}", "csr": "x"}).status_code for n in range(22)]
    assert tried == [400] * 20 + [429] * 2
    assert ask("POST", "/v1/join", json={"token": TOKEN, "csr": "x"}).status_code == 429
    assert Asker(served)("GET", "/v1/status").status_code == 200
    clock.now += 61
    assert ask("POST", "/v1/join", json={"token": TOKEN, "csr": "x"}).status_code == 200


def test_failures_are_forgotten_in_time_and_in_number() -> None:
    clock = Clock()
    failures = Failures(clock, allowed=3, within=10.0, addresses=2)
    for _ in range(5):
        failures.note("a")
        clock.now += 5.1
    assert failures.wait("a") == 0
    for _ in range(3):
        failures.note("2001:db8::1")
    assert failures.wait("2001:db8::2") == 10
    failures.note("b")
    failures.note("c")
    assert failures.wait("2001:db8::2") == 0


def test_bugs_are_told_by_a_number_that_the_log_knows(caplog: pytest.LogCaptureFixture) -> None:
    got = Asker(made())("POST", "/v1/apply", json={"text": "break"})
    assert got.status_code == 500
    assert got.json().keys() == {"what", "id"}
    assert "Traceback" not in got.text
    assert f"internal error {got.json()['id']}" in caplog.text
    assert "ValueError: broken by …" in caplog.text


def test_neither_the_secret_nor_a_token_is_ever_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    served = made()
    ask, stranger = Asker(served), Asker(served, secret=SECRET[:-1])
    answers = [
        ask(method, path, json={"text": f"{SECRET} bad", "called": SECRET, SECRET: 1}) for method, path in PRIVATE
        if path != "/v1/events"
    ]  # fmt: skip
    answers += [stranger(method, path) for method, path in PRIVATE[:15]]
    answers += [
        ask("POST", "/v1/apply", json={"text": f"bad {SECRET}", "called": SECRET}),
        ask("POST", "/v1/apply", json={"text": "break"}),
        ask("GET", f"/v1/describe/{SECRET}"),
        ask("GET", f"/v1/{SECRET}"),
        ask("GET", "/v1/queries/top/rows", params={"limit": SECRET}),
    ]
    answers += [
        stranger("POST", "/v1/join", json=body)
        for body in (
            {"token": TOKEN + "x", "csr": "x"},
            {"token": TOKEN, "csr": "break"},
            {"token": TOKEN, "csr": 5},
            {"token": TOKEN, "csr": "x"},
            {"token": TOKEN, "csr": "x"},
        )
    ]
    assert {500, 400, 200, 401, 422} <= {one.status_code for one in answers}
    for one in answers:
        for private in (SECRET, TOKEN):
            assert private not in one.text
            assert private not in str(one.headers)
    # The client that asks writes down what it asks.
    said = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith("httpx"))
    for private in (SECRET, TOKEN):
        assert private not in said
    assert "broken by …" in said


def test_a_name_cannot_write_lines_into_the_log(caplog: pytest.LogCaptureFixture) -> None:
    served = made()
    served.add_api_route("/v1/broken/{name:path}", _broken)
    Asker(served)("GET", "/v1/broken/%0Dinternal%20error%20made%20up%1b")
    assert "\\rinternal error made up\\x1b" in caplog.text
    assert "\r" not in caplog.text


def _broken(name: str) -> None:
    raise LookupError


def test_websockets_are_not_served() -> None:
    said = []

    async def ask() -> None:
        async def send(message):
            said.append(message)

        async def receive():
            return {"type": "websocket.connect"}

        scope = {"type": "websocket", "path": "/v1/status", "headers": [], "query_string": b"", "scheme": "ws"}
        await made()(scope, receive, send)

    asyncio.run(ask())
    assert [message["type"] for message in said] == ["websocket.close"]


def test_many_at_once() -> None:
    async def ask() -> set[int]:
        async with client(made()) as one:
            return {got.status_code for got in await asyncio.gather(*(one.get("/v1/status") for _ in range(100)))}

    assert asyncio.run(ask()) == {200}
