"""Two ends of a TLS connection over a real socket, and identities to try it with."""

import socket
import ssl
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tradewind.trust.authority import Authority
from tradewind.trust.identity import Identity

GREETING = b"welcome"


@dataclass(frozen=True)
class Met:
    """How it went: the client's DNS names as the server saw them, or what went wrong at either end."""

    names: tuple[str, ...] = ()
    version: str | None = None
    failure: Exception | None = None


def joined(folder: Path, authority: Authority, site: str, hosts: Sequence[str] = (), *, days: float = 365) -> Identity:
    """A site's identity, as it gets it."""
    _, csr = Identity.requested(folder, site)
    given = authority.certify(csr, site, hosts, days=days)
    return Identity.received(folder, site, given, authority.ca_pem, authority.verifying_key)


def meet(server: ssl.SSLContext, client: ssl.SSLContext, wanted: str) -> Met:
    """Connects the two; the client wants to speak to somebody of that name."""
    seen: list[Met] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(20)
        thread = threading.Thread(target=lambda: seen.append(_answer(listening, server)))
        thread.start()
        try:
            heard: bytes | Exception = _ask(listening.getsockname(), client, wanted)
        except (OSError, ssl.SSLError) as error:
            heard = error
        thread.join()
    at_server = seen[0]
    if at_server.failure is None and isinstance(heard, Exception):
        return Met(failure=heard)
    assert at_server.failure is not None or heard == GREETING
    return at_server


def _answer(listening: socket.socket, context: ssl.SSLContext) -> Met:
    try:
        connection, _ = listening.accept()
        with connection:
            connection.settimeout(20)
            with context.wrap_socket(connection, server_side=True) as secured:
                shown = secured.getpeercert() or {}
                version = secured.version()
                secured.sendall(GREETING)
                secured.recv(1)
    except (OSError, ssl.SSLError) as error:
        return Met(failure=error)
    alternatives = shown.get("subjectAltName", ())
    assert isinstance(alternatives, tuple)
    return Met(tuple(str(value) for kind, value in alternatives if kind == "DNS"), version)


def _ask(address: tuple[str, int], context: ssl.SSLContext, wanted: str) -> bytes:
    with (
        socket.create_connection(address, timeout=20) as connection,
        context.wrap_socket(connection, server_hostname=wanted) as secured,
    ):
        return secured.recv(len(GREETING))
