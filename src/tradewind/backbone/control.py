"""The coordinator's server: sites report and ask there, each in its own name, and read what is wanted of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tradewind.backbone.leaf import check_listen, check_principal, tls, written
from tradewind.backbone.names import token
from tradewind.backbone.parcels import STREAM, may_read, may_write
from tradewind.backbone.server import Server, started
from tradewind.backbone.settings import Settings, port_of, secret_of
from tradewind.errors import InputError, TradewindError

_OWNER = "COORDINATOR"
# What is wanted of sites, which all of them may read.
_WANTED = "$JS.API.DIRECT.GET.KV_tw_desired.$KV.tw_desired.>"
NEWS = "tw.news"
"""Where sites listen for word that there is something new for them: the epoch of what is wanted, in digits."""
# What is sent from site to site: each writes in its own name, and reads what is for it.
_PARCELS = ("tw.state.>", f"$JS.API.DIRECT.GET.{STREAM}.>")
# Who fell silent is taken for gone after three of these.
_PING = "5s"
_HERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  they are what is replaced


@dataclass(frozen=True, slots=True)
class ControlSettings(Settings):
    """The settings of a coordinator's server: it listens to other machines, and knows all by their certificates.

    Each member has an account of its own, from which a few subjects lead into the owner's. Permissions alone would not
    do: what the server itself answers to a question goes wherever the question says, whoever may write there.
    """

    at: str = "127.0.0.1"
    certificate: Path = field(default_factory=Path)
    key: Path = field(default_factory=Path)
    ca: Path = field(default_factory=Path)
    owner: str = ""
    members: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        check_listen((self.at, self.port))
        check_principal(self.owner, "the coordinator")
        for site, principal in self.members:
            check_principal(principal, site)
        names = [self.owner, *(principal for _, principal in self.members)]
        if len(set(names)) < len(names):
            raise InputError("two members have the same principal, or one has the coordinator's.", where="members")

    @property
    def listens_at(self) -> str:
        """The address that clients are awaited at."""
        return self.at

    @property
    def host(self) -> str:
        """Where clients on this machine find it."""
        return _HERE.get(self.at, self.at)

    @property
    def url(self) -> str:
        """Where clients on this machine connect; they have to show a certificate."""
        return f"tls://{written((self.host, self.port))}"

    def door(self) -> list[str]:
        """The part of the configuration that says where to listen, and who is let in."""
        shown = tls(self.certificate, self.key, self.ca, "verify_and_map: true, handshake_first: auto, timeout: 5")
        exports: list[object] = [
            *({"service": one} for one in ("tw.report.>", "tw.ask.>", _WANTED, *_PARCELS)),
            {"stream": NEWS},
        ]
        # What a site is asked is for it alone.
        exports += [{"stream": _orders(site), "accounts": [f"MEMBER_{token(site)}"]} for site, _ in self.members]
        owner = {"jetstream": "enabled", "users": [{"user": self.owner}], "exports": exports}
        accounts = {_OWNER: owner, **{f"MEMBER_{token(site)}": _member(site, who) for site, who in self.members}}
        return [
            f"listen: {json.dumps(written((self.at, self.port)))}",
            f'ping_interval: "{_PING}"',
            "ping_max: 2",
            shown,
            # JSON is what such a configuration may be written in, too.
            f"accounts: {json.dumps(accounts)}",
        ]


class ControlServer:
    """A nats-server for a coordinator and its members, on whatever machines they are."""

    def __init__(self, server: Server, settings: ControlSettings) -> None:
        self._server = server
        self._settings = settings

    @staticmethod
    def start(  # noqa: PLR0917  as many as it takes, in the order in which they are known
        folder: Path,
        listen: tuple[str, int],
        certificate: Path,
        key: Path,
        ca: Path,
        members: Mapping[str, str],
        owner: str,
    ) -> ControlServer:
        """Starts it in a folder; it listens when this returns. `members` are principals by sites; port 0: a free one.

        The owner may do everything. A member, `SITE` being its token, may publish below tw.report.SITE and tw.ask.SITE,
        read the records of tw_desired, listen to tw.news and tw.order.SITE, and be answered below _INBOX.SITE. It may
        send parcels in its own name, and read those that are for it; nothing else.
        """
        host, port = listen
        chosen: list[ControlSettings] = []

        def choose(folder: Path) -> ControlSettings:
            at = port or port_of(folder, host)
            files = (certificate.resolve(), key.resolve(), ca.resolve())
            chosen.append(
                ControlSettings(folder, at, secret_of(folder), None, None, host, *files, owner, _listed(members))
            )
            return chosen[-1]

        server = started(folder, choose, port or None)
        return ControlServer(server, replace(chosen[-1], port=server.settings.port))

    @property
    def port(self) -> int:
        """Where members connect."""
        return self._settings.port

    @property
    def url(self) -> str:
        """Where clients on this machine connect; they have to show a certificate."""
        return self._settings.url

    @property
    def server(self) -> Server:
        """The server itself: its process, how often it died, and why it is not started any more."""
        return self._server

    @property
    def failure(self) -> TradewindError | None:
        """Why it is not started any more."""
        return self._server.failure

    def reconfigure(self, members: Mapping[str, str]) -> None:
        """Others are members from now on. Who is none any more is cut off when this returns; others stay connected."""
        chosen = replace(self._settings, members=_listed(members))
        self._server.adopt(chosen)
        self._settings = chosen

    def stop(self) -> None:
        """Ends it; what it stored stays."""
        self._server.stop()


def _listed(members: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(members.items()))


def _member(site: str, principal: str) -> dict[str, object]:
    word = token(site)
    asked = [f"tw.report.{word}.>", f"tw.ask.{word}.>", _WANTED, may_write(site), may_read(site)]
    may = {"publish": {"allow": asked}, "subscribe": {"allow": [f"_INBOX.{word}.>", NEWS, _orders(site)]}}
    return {
        "users": [{"user": principal, "permissions": may}],
        "imports": [
            *({"service": {"account": _OWNER, "subject": one}} for one in asked),
            *({"stream": {"account": _OWNER, "subject": one}} for one in (NEWS, _orders(site))),
        ],
    }


def _orders(site: str) -> str:
    return f"tw.order.{token(site)}"
