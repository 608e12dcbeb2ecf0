"""Sites with servers of their own, joined by links over TLS, for the tests of the backbone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.backbone.certificates import Authority
from tests.backbone.servers import connected, served
from tradewind.backbone.connection import Connection
from tradewind.backbone.link_service import LinkService
from tradewind.backbone.links import Links, LinkShape
from tradewind.backbone.names import Address
from tradewind.backbone.reach import Reach
from tradewind.backbone.server import Server
from tradewind.backbone.settings import Leaf, Neighbour, free_port
from tradewind.backbone.taps import RemoteTap


@dataclass
class Site:
    """A site: its server, a connection to it, and what it answers and asks over its links."""

    name: str
    server: Server
    connection: Connection
    offered: dict[str, Address] = field(default_factory=dict)
    services: dict[str, LinkService] = field(default_factory=dict)
    reaches: dict[str, Reach] = field(default_factory=dict)

    def carrying(self, deployment: str, *channels: tuple[str, str]) -> Links:
        """Links that copy channels, each from a far site, to here."""
        links = Links(self.server.url, deployment, [LinkShape(far, self.name) for far, _ in channels])
        for far, channel in channels:
            tap = RemoteTap(self.reaches[far], Address(deployment, far, channel))
            links.carry(far, self.name, channel, tap=tap)
        return links


def leaves(folder: Path, names: str, pairs: tuple[str, ...]) -> dict[str, Leaf]:
    """How sites are joined: of each pair, such as "ab", the first dials the second."""
    authority = Authority(folder)
    ports = {name: free_port() for name in names}
    found: dict[str, Leaf] = {}
    for name in names:
        dialled = [pair[1] for pair in pairs if pair[0] == name]
        dialling = [pair[0] for pair in pairs if pair[1] == name]
        neighbours = (
            *(Neighbour(far, f"{far}.example.org", f"127.0.0.1:{ports[far]}") for far in dialled),
            *(Neighbour(far, f"{far}.example.org") for far in dialling),
        )
        shown = authority.shown(f"{name}.example.org")
        listen = ("127.0.0.1", ports[name])
        found[name] = Leaf(name, listen, shown.certificate, shown.key, shown.ca, neighbours)
    return found


@contextmanager
def joined(folder: Path, leaves: Mapping[str, Leaf]) -> Iterator[dict[str, Site]]:
    """Sites at work."""
    with ExitStack() as stack:
        sites: dict[str, Site] = {}
        for name, leaf in leaves.items():
            server = stack.enter_context(served(folder / name, leaf=leaf))
            sites[name] = site = Site(name, server, stack.enter_context(connected(server.url)))
            for far in (one.site for one in leaf.neighbours):
                url = server.link_url(far)
                service = LinkService(url, site.connection, name, far, lambda site=site: site.offered)  # type: ignore[misc]
                stack.callback(service.close)
                reach = Reach.open(url, far)
                stack.callback(reach.close)
                site.services[far], site.reaches[far] = service, reach
        yield sites
