"""Those who may not: certificates that are none, or over, or another's, and messages that make no sense."""

from __future__ import annotations

import json
import random
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

from tests.faults.bed import Bed
from tests.faults.network import COORDINATOR
from tradewind.backbone.connection import Connection
from tradewind.backbone.names import token
from tradewind.trust.authority import Authority
from tradewind.trust.identity import Identity

_DAY = 86_400.0


def authority(bed: Bed, *, days_ago: float = 0.0) -> Authority:
    """The cluster's own authority, or as it was some days ago."""
    return Authority.open(bed.state / "trust", clock=lambda: time.time() - days_ago * _DAY)


def identity(by: Authority, site: str, folder: Path, *, days: float = 365.0) -> Identity:
    """Whoever an authority says that one is."""
    _, request = Identity.requested(folder, site)
    given = by.certify(request, site, ["127.0.0.1"], days=days)
    return Identity.received(folder, site, given, by.ca_pem, by.verifying_key)


def nobody(bed: Bed) -> ssl.SSLContext:
    """Someone without a certificate, who believes the cluster's authority."""
    return ssl.create_default_context(cadata=authority(bed).ca_pem.decode())


def leaf_of(bed: Bed, site: str) -> tuple[str, int]:
    """Where a site listens for others."""
    host, _, port = bed.net.listening(site)[1].rpartition(":")
    return host, int(port)


def let_in(context: ssl.SSLContext, address: tuple[str, int]) -> bool:
    """Whether a site's server takes one for a neighbour: it greets, and does not object to what is said then."""
    context.check_hostname = False
    try:
        with socket.create_connection(address, timeout=5) as plain, context.wrap_socket(plain) as secured:
            if not secured.recv(4096).startswith(b"INFO"):
                return False
            secured.sendall(b'CONNECT {"tls_required":true,"name":"stranger"}\r\nPING\r\n')
            said = b""
            while b"-ERR" not in said and b"PONG" not in said:
                if not (more := secured.recv(4096)):
                    return False
                said += more
            return b"-ERR" not in said
    except OSError:  # that of TLS is one too
        return False


def at_coordinator(bed: Bed, context: ssl.SSLContext, site: str) -> Connection:
    """A connection to the coordinator's server, as a site."""
    where = json.loads((bed.state_of(bed.market.shops[0]) / "identity" / "coordinator.json").read_text())
    return Connection.open(
        f"tls://{where['coordinator']}", patience=2.0, tls=context, inbox_prefix=f"_INBOX.{token(site)}",
        whom="coordinator.tradewind",
    )  # fmt: skip


def as_coordinator(bed: Bed) -> Connection:
    """A connection to the coordinator's server, as the coordinator itself."""
    return at_coordinator(bed, authority(bed).own([bed.net.address(COORDINATOR)]).client_context(), COORDINATOR)


def nonsense(seed: int, count: int) -> Iterator[bytes]:
    """Messages that nobody sends who means well."""
    chance = random.Random(seed)
    yield from (b"", b"{}", b"[]", b"null", b"[" * 100_000, b'{"a":' * 50_000, b"\xff\xfe", b"9" * 5_000, b"NaN")
    words = [
        "key",
        "kind",
        "rows",
        "push",
        "query",
        "limit",
        "channel",
        "after",
        "most",
        "number",
        "at",
        "site",
        "large",
    ]
    odd: list[object] = [
        None,
        True,
        -1,
        1 << 70,
        1.5,
        "x",
        "",
        [],
        {},
        {"a": [1]},
        "\ud800",
        "large",
        "sales",
        "rows",
        "push",
    ]
    for _ in range(count):
        if chance.random() < 0.3:
            yield chance.randbytes(chance.randrange(2_000))
        else:
            made = {chance.choice(words): chance.choice(odd) for _ in range(chance.randrange(7))}
            yield json.dumps({**made, "key": "k"} if chance.random() < 0.7 else made).encode()
