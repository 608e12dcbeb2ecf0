"""A site's interface: its metrics, behind the same guard as the coordinator's, and nothing that is public."""

from __future__ import annotations

import pytest

from tests.web.paper_desk import HOST, SECRET, Asker, Clock
from tradewind.errors import InputError
from tradewind.web.app import site_app

PATHS = [
    ("GET", "/metrics"), ("GET", "/"), ("GET", "/v1/ca"), ("POST", "/v1/join"), ("GET", "/v1/status"),
    ("GET", "/v1/openapi.json"), ("GET", "/nothing"), ("POST", "/metrics"),
]  # fmt: skip


class Measured:
    def metrics(self):
        return [("tradewind_coordinator_up", "Whether it is there.", "gauge", {"site": "ams"}, 1.0)]


def made():
    return site_app(Measured(), SECRET, (HOST, "127.0.0.1"), clock=Clock())


def test_metrics_are_for_who_has_the_secret():
    got = Asker(made())("GET", "/metrics")
    assert got.status_code == 200
    assert got.headers["content-type"].startswith("text/plain")
    assert 'tradewind_coordinator_up{site="ams"} 1.0' in got.text
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["cache-control"] == "no-store"
    assert "sandbox" in got.headers["content-security-policy"]


@pytest.mark.parametrize(("method", "path"), PATHS)
@pytest.mark.parametrize("secret", [None, "wrong-secret-of-some-length"])
def test_nothing_is_public(method, path, secret):
    got = Asker(made(), secret=secret)(method, path)
    assert got.status_code == 401
    assert SECRET not in got.text
    assert "tradewind_coordinator_up" not in got.text


@pytest.mark.parametrize(("method", "path"), [one for one in PATHS if one not in {PATHS[0], PATHS[5], PATHS[7]}])
def test_there_is_nothing_but_metrics(method, path):
    assert Asker(made())(method, path).status_code == 404


def test_nothing_can_be_changed():
    assert Asker(made())("POST", "/metrics").status_code == 405


def test_another_host_is_refused():
    got = Asker(made())("GET", "/metrics", headers={"Host": "evil.example"})
    assert got.status_code == 421


def test_guessing_is_slowed_down():
    served = made()
    guess = Asker(served, secret="wrong-secret-of-some-length")
    codes = [guess("GET", "/metrics").status_code for _ in range(25)]
    assert (codes[0], codes[-1]) == (401, 429)
    assert Asker(served, address="192.0.2.2")("GET", "/metrics").status_code == 200


def test_a_short_secret_is_none():
    with pytest.raises(InputError):
        site_app(Measured(), "short", (HOST,))
