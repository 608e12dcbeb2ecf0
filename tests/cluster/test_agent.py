"""A real agent and a real coordinator, with nothing to run: what the agent says, shows and answers."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.backbone.servers import eventually
from tests.cluster.clusters import COMMAND, telling
from tests.cluster.lines import joined
from tradewind.runtime.cluster.agent import Agent, Post
from tradewind.runtime.cluster.coordinator import Coordinator
from tradewind.runtime.cluster.delivered import KIND
from tradewind.trust.certificates import DAY, certificate

FILE = """
sites: {ams: {cores: 1}}
streams: {s: {schema: "ts TIMESTAMP, n INT", time: ts, at: {ams: {format: json, path: data}}}}
queries: {q: {sql: SELECT n FROM s, deliver: {site: ams, format: json, path: out}}}
"""


@contextmanager
def working(coordinator: Coordinator, folder: Path, said: list[str]) -> Iterator[Agent]:
    identity = joined(coordinator, "ams", folder / "identity")
    post = Post(identity, "ams", folder, folder / "state", f"127.0.0.1:{coordinator.port}")
    agent = Agent(post, lambda text, **_: said.append(text))
    stopping = threading.Event()
    thread = threading.Thread(target=agent.run, args=(stopping,))
    thread.start()
    try:
        eventually("it reports", lambda: "ams" in coordinator.registry.alive(coordinator.clock()), 30)
        yield agent
    finally:
        stopping.set()
        thread.join()


def test_an_agent_takes_answers_renews_and_says_that_it_is_shut_out(coordinator, tmp_path):
    coordinator.members.days = 15.0 / DAY
    folder, said = tmp_path / "ams", list[str]()
    with working(coordinator, folder, said) as agent:
        coordinator.members.days = 365.0
        eventually("it has what is wanted", lambda: agent._desired.epoch == coordinator._desired.epoch)
        # Nothing runs, and it can be asked all the same what was delivered before.
        question = {"kind": KIND, "text": FILE, "called": "d.yaml"}
        assert coordinator._questions.ask("ams", question) == {}
        (folder / "out").mkdir()
        (folder / "out" / "batch-00000000-0.json").write_text("{}")
        assert coordinator._questions.ask("ams", question) == {"q": 1}
        server = agent._server
        assert server is not None
        first, pid = certificate(agent.post.identity.certificate.read_bytes()), server.pid
        eventually("its server shows another certificate", lambda: server.pid != pid, 60)
        assert certificate(agent.post.identity.certificate.read_bytes()).serial_number != first.serial_number
        epoch = coordinator._want().epoch
        eventually("it goes on", lambda: agent._desired.epoch == epoch, 20)
        assert not any("refuses" in one for one in said)
        coordinator.revoke("ams")
        eventually("it says that it is shut out", lambda: any("refuses this site" in one for one in said), 20)
        # What says so may have reached it before it was cut off.
        told = next(one for one in said if "refuses" in one)
        assert f"epoch {epoch}." in told or f"epoch {epoch + 1}." in told


def test_an_agent_waits_for_its_token_file(tmp_path):
    token = tmp_path / "tokens" / "ams"
    words = ["agent", "--site", "ams", "--state", str(tmp_path / "state"), "--join", f"{token}@127.0.0.1:1"]
    with subprocess.Popen([*COMMAND, *words], stderr=subprocess.PIPE, text=True, env=telling()) as agent:
        assert agent.stderr is not None
        assert f"waiting for the token file {token}" in agent.stderr.readline()
        token.parent.mkdir()
        partial = token.with_suffix(".partial")
        partial.write_text("tw1.nonsense")
        partial.rename(token)
        assert "token" in agent.stderr.read()
        assert agent.wait(60) == 2


def test_an_agent_that_waits_for_its_token_file_can_be_ended(tmp_path):
    words = ["agent", "--site", "ams", "--state", str(tmp_path / "state"), "--join", f"{tmp_path / 'ams'}@127.0.0.1:1"]
    with subprocess.Popen([*COMMAND, *words], stderr=subprocess.PIPE, text=True, env=telling()) as agent:
        assert agent.stderr is not None
        assert "waiting" in agent.stderr.readline()
        agent.terminate()
        assert agent.wait(60) == 0
