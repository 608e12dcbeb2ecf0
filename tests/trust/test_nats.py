"""nats-server takes these identities as they are: a site's name in its certificate is its user, and whoever is taken
off the list is cut off.
"""

import asyncio
import json
import signal
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.errors import Error as NatsError

from tests.trust.handshakes import joined
from tradewind.backbone import binary
from tradewind.backbone.settings import free_port
from tradewind.trust import tls
from tradewind.trust.authority import Authority
from tradewind.trust.identity import Identity
from tradewind.trust.names import COORDINATOR, principal


def settings(own: Identity, port: int, sites: list[str]) -> str:
    return json.dumps(
        {
            "listen": f"127.0.0.1:{port}",
            "tls": {
                "cert_file": str(own.certificate),
                "key_file": str(own.key),
                "ca_file": str(own.ca),
                "verify_and_map": True,
                "timeout": 10,
            },
            "authorization": {"users": [{"user": principal(site)} for site in sites]},
        }
    )


async def connected(port: int, context: ssl.SSLContext, closed: asyncio.Event | None = None) -> Client:
    async def quiet(_: Exception) -> None:
        pass

    async def told() -> None:
        if closed is not None:
            closed.set()

    return await nats.connect(
        f"tls://127.0.0.1:{port}",
        tls=context,
        tls_hostname=COORDINATOR,
        allow_reconnect=False,
        error_cb=quiet,
        closed_cb=told,
        connect_timeout=10,
    )


async def story(folder: Path, port: int, serve: Callable[[list[str]], None]) -> None:
    authority = Authority.open(folder / "authority")
    sites = {site: joined(folder / site, authority, site) for site in ("ams", "Zürich 1", "stranger")}
    foreign = joined(folder / "foreign", Authority.open(folder / "other"), "ams").client_context()
    foreign.load_verify_locations(cadata=authority.ca_pem.decode())  # so that it is the server that refuses
    cut = asyncio.Event()
    ams = await connected(port, sites["ams"].client_context(), cut)
    zurich = await connected(port, sites["Zürich 1"].client_context())
    for context in (
        sites["stranger"].client_context(),
        foreign,
        tls.joining(authority.ca_pem, authority.fingerprint),
    ):
        with pytest.raises((NatsError, OSError, ssl.SSLError)):
            await connected(port, context)
    serve(["Zürich 1"])
    await asyncio.wait_for(cut.wait(), 20)
    await zurich.flush(10)
    with pytest.raises((NatsError, OSError, ssl.SSLError)):
        await connected(port, sites["ams"].client_context())
    await zurich.close()
    await ams.close()


def test_nats_server_knows_sites_by_their_certificates(tmp_path):
    port = free_port()
    config = tmp_path / "nats.conf"
    own = Authority.open(tmp_path / "authority").own()
    config.write_text(settings(own, port, ["ams", "Zürich 1"]))

    def serve(sites: list[str]) -> None:
        config.write_text(settings(own, port, sites))
        server.send_signal(signal.SIGHUP)

    with subprocess.Popen([binary.found(), "-c", str(config)], stderr=subprocess.PIPE) as server:
        assert server.stderr is not None
        try:
            heard = []
            for line in server.stderr:
                heard.append(line)
                if b"Server is ready" in line:
                    break
            assert server.poll() is None, heard
            asyncio.run(story(tmp_path, port, serve))
        finally:
            server.terminate()
