"""Each route asks the desk what it says it asks, and errors have the status of their kind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.web.paper_desk import CA, HOST, SECRET, STATUS, TOKEN, Asker, PaperDesk, made
from tradewind.errors import InputError
from tradewind.web.app import app
from tradewind.web.metrics import exposed


@pytest.fixture
def desk() -> PaperDesk:
    return PaperDesk()


@pytest.fixture
def ask(desk: PaperDesk) -> Asker:
    return Asker(made(desk))


ANSWERS = [
    ("GET", "/v1/status", None, STATUS),
    ("GET", "/v1/stats", None, {"requests": {"rows": 12, "fullest": "inf"}}),
    ("POST", "/v1/check", {"text": "fine"}, {"problems": []}),
    ("POST", "/v1/check", {"text": "bad", "called": "a.yaml"},
     {"problems": [{"where": "a.yaml:1", "what": "no sites.", "hint": None}]}),
    ("POST", "/v1/difference", {"text": "", "called": "ä.yaml", "planner": "exact", "fresh": True},
     {"added": ["ä.yaml"], "planner": "exact", "until_done": False, "fresh": True}),
    ("POST", "/v1/apply", {"text": "x", "expected_epoch": 3, "until_done": True}, {"epoch": 4}),
    ("POST", "/v1/stop", None, {"state": "stopped"}),
    ("POST", "/v1/pause", None, {"changed": True}),
    ("POST", "/v1/resume", None, {"changed": False}),
    ("GET", "/v1/savepoints", None, {"savepoints": [{"name": "noon", "state": "taken"}]}),
    ("POST", "/v1/savepoints", {"name": "noon"}, {"name": "noon"}),
    ("DELETE", "/v1/savepoints/noon", None, {"removed": "noon"}),
    ("POST", "/v1/queries", {"text": "queries: {}"}, {"added": ["more"]}),
    ("DELETE", "/v1/queries/top", None, {"removed": "top"}),
    (
        "GET", "/v1/queries/top/rows?limit=1", None,
        {"rows": [{"domain": "top-2", "hits": 2}], "total": 3, "final": 0, "left_out": 2, "which": "newest"},
    ),
    (
        "GET", "/v1/queries/top/rows?limit=1&oldest=true", None,
        {"rows": [{"domain": "top-0", "hits": 0}], "total": 3, "final": 0, "left_out": 2, "which": "oldest"},
    ),
    ("GET", "/v1/streams", None, {"streams": [{"name": "requests", "schema": "ts TIMESTAMP"}]}),
    ("POST", "/v1/streams/requests/rows", {"rows": [{"a": [1, None, "x"]}, {}]}, {"pushed": 2}),
    ("GET", "/v1/describe/ams", None, {"name": "ams", "mean": "nan"}),
    ("POST", "/v1/tokens", {"site": "syd", "seconds": 60}, {"token": TOKEN}),
    ("POST", "/v1/sites/ams/revoke", None, {"revoked": "ams"}),
    ("POST", "/v1/move", {"what": "leaf-ams", "site": "hq"}, {"moved": "leaf-ams", "to": "hq"}),
    ("POST", "/v1/move/cancel", None, {"fragment": "leaf-ams"}),
    ("POST", "/v1/split", {"what": "top", "over": 3}, {"fragment": "top", "over": 3}),
    ("POST", "/v1/split", {"what": "top"}, {"fragment": "top", "over": None}),
    ("POST", "/v1/merge", {"what": "top"}, {"fragment": "top"}),
    ("POST", "/v1/join", {"token": TOKEN, "csr": "request"}, {"certificate": CA}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "expected"), ANSWERS)
def test_answers(ask: Asker, method: str, path: str, body: Any, expected: Any) -> None:
    got = ask(method, path, **({} if body is None else {"json": body}))
    assert got.status_code == 200, got.text
    assert got.headers["content-type"] == "application/json"
    assert got.json() == expected


def test_the_desk_is_asked_what_was_sent(ask: Asker, desk: PaperDesk) -> None:
    ask(
        "POST",
        "/v1/apply",
        json={"text": "x", "called": "a.yaml", "planner": "exact", "until_done": True, "savepoint": "noon"},
    )
    ask("POST", "/v1/streams/requests/rows", json={"rows": [{"a": 1.5}]})
    ask("POST", "/v1/tokens", json={"site": "ams", "hosts": ["ams.test", "2001:db8::1"]})
    assert desk.asked == [
        ("apply", "x", "a.yaml", "exact", None, True, False, "noon"),
        ("push", "requests", [{"a": 1.5}]),
        ("token", "ams", 3600.0, ["ams.test", "2001:db8::1"]),
    ]


def test_entities(ask: Asker) -> None:
    assert [one["name"] for one in ask("GET", "/v1/entities").json()["entities"]] == ["ams", "sin", "hq", "syd"]


ERRORS = [
    ("POST", "/v1/apply", {"text": "bad", "called": "a.yaml"}, 422),
    ("POST", "/v1/apply", {"text": "who"}, 400),
    ("POST", "/v1/apply", {"text": "starting"}, 503),
    ("POST", "/v1/apply", {"text": "x", "expected_epoch": 1}, 409),
    ("GET", "/v1/describe/nobody", None, 404),
    ("DELETE", "/v1/queries/nobody", None, 404),
    ("POST", "/v1/move", {"what": "top", "site": "nowhere"}, 404),
    ("POST", "/v1/split", {"what": "nothing", "over": 2}, 404),
    ("POST", "/v1/merge", {"what": "nothing"}, 404),
    ("POST", "/v1/join", {"token": "guessed", "csr": "x"}, 400),
    ("GET", "/v1/nothing", None, 404),
    ("PUT", "/v1/status", None, 405),
    ("GET", "/v1/status/", None, 404),
]


@pytest.mark.parametrize(("method", "path", "body", "status"), ERRORS)
def test_errors_have_the_status_of_their_kind(ask: Asker, method: str, path: str, body: Any, status: int) -> None:
    got = ask(method, path, **({} if body is None else {"json": body}))
    assert got.status_code == status
    assert got.json()["what"]
    assert {"where", "hint"} <= got.json().keys()


def test_problems_of_a_file_are_listed(ask: Asker) -> None:
    got = ask("POST", "/v1/apply", json={"text": "bad", "called": "a.yaml"}).json()
    assert got["problems"] == [
        {"where": "a.yaml:1:1", "what": "no sites.", "hint": "name one.", "line": 0, "column": 0}
    ]
    assert "candidates" not in got


MALFORMED = [
    ("POST", "/v1/apply", {"text": 1}),
    ("POST", "/v1/apply", {"text": "x", "more": 1}),
    ("POST", "/v1/apply", {"text": "x", "until_done": "yes"}),
    ("POST", "/v1/apply", {"text": "x", "expected_epoch": -1}),
    ("POST", "/v1/apply", {"text": "x", "expected_epoch": 1.0}),
    ("POST", "/v1/apply", {"text": "x", "planner": "../x"}),
    ("POST", "/v1/apply", {"text": "x", "called": "two\nlines"}),
    ("POST", "/v1/apply", {"text": "x" * 1_000_001}),
    ("POST", "/v1/apply", []),
    ("POST", "/v1/tokens", {"site": "ams", "seconds": 0}),
    ("POST", "/v1/tokens", {"site": "ams", "seconds": 1e9}),
    ("POST", "/v1/tokens", {"site": "a b"}),
    ("POST", "/v1/tokens", {"site": "ams", "hosts": ["a b"]}),
    ("POST", "/v1/tokens", {"site": "ams", "hosts": ["a"] * 21}),
    ("POST", "/v1/streams/requests/rows", {"rows": [1]}),
    ("POST", "/v1/streams/requests/rows", {"rows": [{}] * 10_001}),
    ("GET", "/v1/queries/top/rows?limit=0", None),
    ("GET", "/v1/queries/top/rows?limit=10001", None),
    ("GET", "/v1/describe/-x", None),
    ("GET", "/v1/describe/x%0A", None),
    ("GET", "/v1/describe/x%00y", None),
    ("GET", "/v1/describe/" + "x" * 101, None),
    ("DELETE", "/v1/queries/..", None),
    ("POST", "/v1/join", {"token": "", "csr": "x"}),
    ("POST", "/v1/join", {"token": "x", "csr": "x" * 16_385}),
]


@pytest.mark.parametrize(("method", "path", "body"), MALFORMED)
def test_what_is_not_as_described_is_refused(ask: Asker, desk: PaperDesk, method: str, path: str, body: Any) -> None:
    got = ask(method, path, **({} if body is None else {"json": body}))
    assert got.status_code in (404, 422) if ".." in path else got.status_code == 422, got.text
    assert desk.asked == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"text": "\xff"}',
        b'{"text": "\\ud800"}',
        b'{"text": "x", "expected_epoch": ' + b"9" * 5000 + b"}",
        b"[" * 500_000,
        b'{"text": "x", "expected_epoch": NaN}',
    ],
)
def test_what_is_not_json_is_refused(ask: Asker, desk: PaperDesk, body: bytes) -> None:
    got = ask("POST", "/v1/apply", content=body, headers={"Content-Type": "application/json"})
    assert got.status_code in (400, 422), got.text
    assert desk.asked == []


def test_rows_that_are_nested_too_deep_or_hold_half_letters_do_no_harm(ask: Asker) -> None:
    for value in ("[" * 900 + "]" * 900, '"\\ud800"', "1e999", "9" * 4000):
        body = f'{{"rows": [{{"a": {value}}}]}}'.encode()
        got = ask("POST", "/v1/streams/requests/rows", content=body, headers={"Content-Type": "application/json"})
        assert got.status_code in (200, 400, 422), got.text


def test_only_json_is_taken_for_json(ask: Asker, desk: PaperDesk) -> None:
    # What a foreign form could send without asking first.
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        got = ask("POST", "/v1/apply", content=json.dumps({"text": "x"}), headers={"Content-Type": kind})
        assert got.status_code == 422
    assert desk.asked == []


def test_the_authoritys_certificate_is_pem(ask: Asker) -> None:
    got = ask("GET", "/v1/ca")
    assert (got.text, got.headers["content-type"]) == (CA, "application/x-pem-file")


def test_metrics_of_one_name_stand_together(ask: Asker) -> None:
    got = ask("GET", "/metrics")
    assert got.headers["content-type"].startswith("text/plain; version=")
    assert got.text.splitlines() == [
        "# HELP tradewind_site_memory_bytes Memory of a site.",
        "# TYPE tradewind_site_memory_bytes gauge",
        'tradewind_site_memory_bytes{site="ams"} 14.0',
        'tradewind_site_memory_bytes{site="h\\"q"} 39.0',
        "# HELP tradewind_link_bytes_total Bytes over a link.",
        "# TYPE tradewind_link_bytes_total counter",
        'tradewind_link_bytes_total{from="ams",to="hq"} 48.0',
    ]
    assert exposed([]) == b""


def test_the_page_comes_in_three_files_without_data(desk: PaperDesk) -> None:
    ask = Asker(made(desk), secret=None)
    for path, kind in (("/", "text/html"), ("/page.js", "text/javascript"), ("/page.css", "text/css")):
        got = ask("GET", path)
        assert (got.status_code, got.headers["content-type"]) == (200, f"{kind}; charset=utf-8")
        assert "cdn" not in got.text
        assert "http" not in got.text.replace("http-equiv", "")


@pytest.mark.parametrize("secret", ["", "short", "x" * 40 + " ", "ü" * 40, "x" * 40 + "\n"])
def test_a_weak_or_unsendable_secret_is_refused(secret: str) -> None:
    with pytest.raises(InputError, match="secret"):
        app(PaperDesk(), secret, [HOST])


def test_every_route_is_described(ask: Asker) -> None:
    described = ask("GET", "/v1/openapi.json").json()
    open_paths = {path for path, item in described["paths"].items() for one in item.values() if "security" not in one}
    assert open_paths == {"/v1/ca", "/v1/join"}
    assert len(described["paths"]) == 27
    assert SECRET not in json.dumps(described)
