"""How a server is joined to those of other sites: along each link by a leaf node of NATS, over TLS on both ends.

Each link has an account of its own at both ends. So leaf nodes never form a loop, whatever the links do, and the far
side reaches nothing of ours but what we answer in that account.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tradewind.backbone.names import token
from tradewind.errors import InputError

# The account of our own clients, which holds the streams.
OWN_ACCOUNT = "SITE"
_PRINCIPAL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?")
_HOST = re.compile(r"[A-Za-z0-9_.-]{1,253}|[0-9A-Fa-f:.]{2,45}")
_PLACE = re.compile(r"(?P<host>[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):(?P<port>[0-9]{1,5})")
# A link that fell silent is noticed after three of these, and a far end that is away is tried again each second.
_PING = "3s"
_AGAIN = 1
# A slow link may take long for one message. What is cut off in the middle of one would have to begin anew.
_WRITE = "120s"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A site at the other end of a link: the DNS name in its certificate, and where we dial it; None: it dials us."""

    site: str
    principal: str
    dial: str | None = None

    def __post_init__(self) -> None:
        check_principal(self.principal, self.site)
        if self.dial is not None:
            found = _PLACE.fullmatch(self.dial)
            if found is None or not 0 < int(found["port"]) < 1 << 16:
                raise InputError(
                    f"{self.dial[:80]!r} is no address.", where=f"link to {self.site}", hint="write it as host:port."
                )

    @property
    def urls(self) -> list[str]:
        """Where we dial it, if we do. By whose certificate the one at an IP address is judged, the server takes from
        the first name that stands beside the address: so that is the principal, though nobody is found under it.
        """
        if self.dial is None:
            return []
        host, port = self.dial.rsplit(":", 1)
        named = [] if _address(host) is None else [f"tls://{self.principal}:{port}"]
        return [f"tls://{self.dial}", *named]

    @property
    def account(self) -> str:
        """The account of the link."""
        return f"LINK_{token(self.site)}"

    @property
    def user(self) -> str:
        """Who uses it on our side."""
        return f"link-{token(self.site)}"


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a site shows to its neighbours: where they reach it, and who it is.

    Where `listen` is None, those whom we do not dial are not met. The certificate holds the name or address at which
    we are dialled.
    """

    domain: str
    listen: tuple[str, int] | None
    certificate: Path
    key: Path
    ca: Path
    neighbours: tuple[Neighbour, ...] = ()

    def __post_init__(self) -> None:
        if self.listen is not None:
            check_listen(self.listen)
        for what in ("site", "principal"):
            names = [getattr(one, what) for one in self.neighbours]
            if len(set(names)) < len(names):
                raise InputError(f"two neighbours have the same {what}.", where=f"links of {self.domain}")

    @property
    def dialling_us(self) -> tuple[Neighbour, ...]:
        """The neighbours that we wait for."""
        return tuple(one for one in self.neighbours if one.dial is None)

    @property
    def opened(self) -> tuple[str, int] | None:
        """Where it listens. With nobody to wait for nowhere: a listener without users would let in anybody."""
        return self.listen if self.dialling_us else None

    def lines(self, secret: str) -> list[str]:
        """The part of the configuration that says who is let in, and whom to dial."""
        found = [f'ping_interval: "{_PING}"', "ping_max: 2", f'write_deadline: "{_WRITE}"', "leafnodes {"]
        # Rows are packed already.
        found += [f"  reconnect: {_AGAIN}", "  compression: off", "  no_advertise: true"]
        if self.opened is not None:
            users = _list(
                f"{{ user: {json.dumps(one.principal)}, account: {json.dumps(one.account)} }}"
                for one in self.dialling_us
            )
            found += [
                f"  listen: {json.dumps(written(self.opened))}",
                f"  {self._tls('verify_and_map: true, handshake_first: true')}",
                f"  authorization {{ users: {users} }}",
            ]
        dialled = _list(
            f"{{ urls: {json.dumps(one.urls)}, no_randomize: true, account: {json.dumps(one.account)}, "
            f"{self._tls('handshake_first: true')} }}"
            for one in self.neighbours
            if one.dial is not None
        )
        return [*found, f"  remotes: {dialled}", "}", *self._accounts(secret)]

    def _tls(self, more: str) -> str:
        return tls(self.certificate, self.key, self.ca, more)

    def _accounts(self, secret: str) -> list[str]:
        return [
            "accounts {",
            f"  {OWN_ACCOUNT} {{ jetstream: enabled, users: [{user('tradewind', secret)}] }}",
            *(
                f"  {json.dumps(one.account)} {{ users: [{user(one.user, link_password(secret, one))}] }}"
                for one in self.neighbours
            ),
            "}",
        ]


def link_password(secret: str, neighbour: Neighbour) -> str:
    """The password of a link's account, which only who knows the server's own secret can tell."""
    return derived(secret, f"link {neighbour.site}")


def derived(secret: str, purpose: str) -> str:
    """Another secret, from which the first cannot be told."""
    return hmac.new(secret.encode(), purpose.encode(), hashlib.sha256).hexdigest()[:48]


def user(name: str, password: str) -> str:
    """A user with a password, as it stands in a configuration."""
    return f"{{ user: {json.dumps(name)}, password: {json.dumps(password)} }}"


def tls(certificate: Path, key: Path, ca: Path, more: str) -> str:
    """What is shown to the other end, and by what it is judged, as it stands in a configuration."""
    files = (("cert_file", certificate), ("key_file", key), ("ca_file", ca))
    named = ", ".join(f"{name}: {quoted(path)}" for name, path in files)
    return f'tls {{ {named}, min_version: "1.3", {more} }}'


def quoted(path: Path) -> str:
    """A path, as it stands in a configuration."""
    return json.dumps(str(path), ensure_ascii=False)


def written(listen: tuple[str, int]) -> str:
    """An address as it stands in a configuration.

    >>> written(("::", 7422))
    '[::]:7422'
    """
    host, port = listen
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def check_principal(principal: str, site: str) -> None:
    """A principal is a DNS name, and nothing else."""
    if not _PRINCIPAL.fullmatch(principal):
        raise InputError(
            f"{principal[:80]!r} is no DNS name.", where=f"certificate of {site}", hint="such as ams.example.org."
        )


def check_listen(listen: tuple[str, int]) -> None:
    """An address to listen at: a name or number of this machine, and a port."""
    host, port = listen
    if not _HOST.fullmatch(host) or not 0 < port < 1 << 16:
        raise InputError(f"one cannot listen at {host[:80]!r}, port {port}.", hint="such as 0.0.0.0, port 7422.")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def _list(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"
