"""Connections: what is listened to is listened to again, whatever happens to the server."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.backbone.servers import connected, eventually, killed, served
from tests.patience import within
from tradewind.backbone.connection import Connection
from tradewind.errors import RunError


@pytest.mark.faults
def test_what_is_subscribed_to_is_told_in_order_and_again_after_the_server_died(tmp_path):
    heard: list[tuple[str, bytes]] = []
    with served(tmp_path) as server, connected(server.url) as one, connected(server.url) as other:

        def told(subject: str, payload: bytes) -> None:
            # Who is told may use the connection itself, and take time over it.
            one.publish("echo", payload)
            heard.append((subject, payload))

        one.subscribe("news.>", told)
        for number in range(100):
            other.publish("news.a", b"%d" % number)
        eventually("all are told", lambda: len(heard) == 100)
        assert heard == [("news.a", b"%d" % number) for number in range(100)]
        echoed: list[bytes] = []
        other.subscribe("echo", lambda _, payload: echoed.append(payload))
        killed(server)
        begin = time.perf_counter()

        def back() -> bool:
            other.publish("news.b", b"again")
            return ("news.b", b"again") in heard and b"again" in echoed

        eventually("both listen again", back)
        assert time.perf_counter() - begin < within(3.0)


def test_a_connection_is_known_by_its_name_and_answered_below_its_prefix(tmp_path):
    with served(tmp_path) as server:
        one = Connection.open(server.url, inbox_prefix="_INBOX.mine", name="me")
        with connected(server.url) as other:
            asked: list[str] = []
            other.call(other.subscribed("ask", lambda message: asked.append(message.reply)))
            one.patience = 0
            with pytest.raises(RunError, match="away"):
                one.call(one.patiently(lambda: one.request("ask", within=0.2), "asking"))
            assert asked[0].startswith("_INBOX.mine.")
        one.close()


@pytest.mark.faults
def test_one_that_is_just_coming_back_can_be_closed(tmp_path):
    with served(tmp_path) as server:
        # One that dies more often is given up on.
        for turn in range(4):
            connections = [Connection.open(server.url) for _ in range(3)]
            for one in connections:
                one.subscribe("news.>", lambda *_: None)
            restarts = server.restarts
            os.kill(server.pid, signal.SIGKILL)
            if turn % 2:
                eventually("it is back", lambda: server.restarts > restarts)  # noqa: B023  it is waited for here
            time.sleep(0.03 * turn)
            begin = time.perf_counter()
            for one in connections:
                one.close()
            assert time.perf_counter() - begin < within(5.0)
            eventually("it answers", server.settings.answers)
