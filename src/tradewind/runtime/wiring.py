"""What joins the sites of a run: the backbone server, its channels, the links between sites, and news of commits.

Where all sites run in one process they share a server, and pumps imitate the links. Where a process runs one site, its
server holds the channels of that site alone; those of others are asked for over links, and others ask for them here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tradewind.backbone.channels import Limits, create, delete
from tradewind.backbone.commits import Placed
from tradewind.backbone.connection import Connection
from tradewind.backbone.counting import Counted
from tradewind.backbone.disturbances import Disturbance
from tradewind.backbone.link_service import LinkService
from tradewind.backbone.links import Links, LinkShape
from tradewind.backbone.names import Address
from tradewind.backbone.news import News
from tradewind.backbone.reach import Reach
from tradewind.backbone.retention import subscribed, trim, unsubscribed, whole
from tradewind.backbone.server import Server
from tradewind.backbone.taps import RemoteTap
from tradewind.errors import InternalError, TradewindError
from tradewind.fragments.deployed import Deployed
from tradewind.fragments.differences import difference
from tradewind.frontends.deployment.model import ChannelKeys, Link
from tradewind.runtime.published import publish
from tradewind.runtime.sweeping import sweep

_TIDY = 10.0
_MEGABYTE, _SECOND = 1_000_000, 1_000_000
_HOLDER = "attaching"
"""Who is subscribed to all channels while a query is attached, so that nothing is removed meanwhile."""


@dataclass(frozen=True)
class Network:
    """How links behave: as declared, unless they are not to be imitated, and disturbed at times."""

    disturbances: Sequence[Disturbance] = ()
    imitate: bool = True
    backbone: str | None = None
    """The URL of a server that runs already; without it one is started."""


@dataclass(frozen=True)
class Here:
    """The one site that a process runs, what its deployment is called on backbones, and where, at the site's own
    server, another site is to be met.
    """

    site: str
    title: str
    link_url: Callable[[str], str]


def limits_of(keys: ChannelKeys) -> Limits:
    """What channels keep and how large they may grow, as a file declares it."""
    return Limits(
        int(keys.most_megabytes * _MEGABYTE),
        None if keys.keep is None else keys.keep / _SECOND,
        keys.keep_batches,
        int(keys.keep_megabytes * _MEGABYTE),
    )


@dataclass
class Wiring:
    """The backbone of a run, from its start to its end."""

    name: str
    """What the deployment is called there."""
    deployed: Deployed
    links: Sequence[Link]
    network: Network
    folder: Path
    limits: Limits = field(default_factory=Limits)
    here: Here | None = None
    since: Mapping[str, int] = field(default_factory=dict)
    """From which epoch on channels come from where they come from now, if that was otherwise before."""
    guests: frozenset[str] = frozenset()
    """Those who may be subscribed here besides the fragments and links that read channels."""
    _server: Server | None = None
    _connection: Connection | None = None
    _links: Links | None = None
    _news: list[News] = field(default_factory=list)
    _met: dict[str, Reach] = field(default_factory=dict)
    """The neighbours that channels come from."""
    _taps: dict[tuple[str, str], RemoteTap] = field(default_factory=dict)
    """Where they are taken from, by neighbour and channel."""
    _services: dict[str, LinkService] = field(default_factory=dict)
    """By neighbour, what answers those that channels go to."""
    _counts: dict[tuple[str, str], Counted] = field(default_factory=dict)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _janitor: threading.Thread | None = None
    _untidy: TradewindError | None = None
    _changing: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        """Start the server, make all channels, and let the links carry them."""
        if self.network.backbone is None:
            self._server = Server.start(self.folder)
        self._connection = Connection.open(self.url)
        self._links = Links(self.url, self.name, self._shapes(), disturbances=self.network.disturbances)
        self._open(self._connection, self._links, self.deployed)
        if self.here is not None:
            sweep(self._connection, self.name, self.here.site, self.deployed, self.guests)
        self._links.start()
        publish(self._connection, self.name, self.deployed)
        self._janitor = threading.Thread(target=self._tidy_always, name="tradewind-janitor", daemon=True)
        self._janitor.start()

    def add_links(self, links: Sequence[Link]) -> None:
        """From now on there are these links, too: those to workers come when they do."""
        self.links = links
        self.links_between.add(self._shapes())

    def adapt(
        self, deployed: Deployed, since: Mapping[str, int] | None = None, guests: frozenset[str] = frozenset()
    ) -> None:
        """Channels that are new, that go further or come from elsewhere, or that nobody wants; all others go on."""
        change = difference(self.deployed, deployed)
        self.since, self.guests = since or {}, guests
        self._open(self.connection, self.links_between, deployed)
        with self._changing:
            before, self.deployed = self.deployed, deployed
        for start, end, name in change.dropped:
            if self._has(end):
                self._taps.pop((start, name), None)
                self.links_between.drop(start, end, name)
        for name, channel in before.channels.items():
            for site in filter(self._has, channel.sites):
                if name not in deployed.channels or site not in deployed.channels[name].sites:
                    self._delete(self.address(site, name))
        self._part()
        if self.here is not None and not guests:
            sweep(self.connection, self.name, self.here.site, deployed, guests)
        publish(self.connection, self.name, self.deployed)

    def _delete(self, address: Address) -> None:
        for news in self._news:
            news.drop(address)
        delete(self.connection, address)

    def _part(self) -> None:
        """Let go of neighbours with whom nothing is exchanged any more."""
        if self.here is None:
            return
        hops = {hop for channel in self.deployed.channels.values() for hop in channel.hops}
        for far in [one for one in self._met if (one, self.here.site) not in hops]:
            self._met.pop(far).close()
        for far in [one for one in self._services if (self.here.site, one) not in hops]:
            self._services.pop(far).close()

    def linked(self, channel: str) -> bool:
        """Whether a channel is made here, or known to be kept for us where it comes from."""
        if self.here is None or self.deployed.channels[channel].site == self.here.site:
            return True
        ways = (start for start, end in self.deployed.channels[channel].hops if end == self.here.site)
        return any(tap.held for start in ways if (tap := self._taps.get((start, channel))) is not None)

    def _open(self, connection: Connection, links: Links, some: Deployed) -> None:
        for channel in some.channels.values():
            for site in filter(self._has, channel.sites):
                create(connection, self.address(site, channel.name), self.limits)
        for channel in some.channels.values():
            for begin, end in channel.hops:
                if self._has(end):
                    links.carry(begin, end, channel.name, self.limits, self._tap(begin, channel.name))
                elif self._has(begin):
                    self._serve(connection, end)

    def _has(self, site: str) -> bool:
        """Whether a site's channels are at the server of this process."""
        return self.here is None or self.here.site == site

    def _tap(self, begin: str, channel: str) -> RemoteTap | None:
        """Where a channel is taken from, if not from the same server."""
        if self.here is None:
            return None
        if begin not in self._met:
            self._met[begin] = Reach.open(self.here.link_url(begin), begin)
        if (begin, channel) not in self._taps:
            self._taps[begin, channel] = RemoteTap(
                self._met[begin], self.address(begin, channel), self.since.get(channel, 0)
            )
        return self._taps[begin, channel]

    def _serve(self, connection: Connection, far: str) -> None:
        """Answer a neighbour that takes channels from here."""
        if self.here is not None and far not in self._services:
            self._services[far] = LinkService(
                self.here.link_url(far), connection, self.here.site, far, lambda: self._offered(far)
            )

    def _offered(self, far: str) -> dict[str, Address]:
        """The channels that a neighbour may take from here: those that are to go there."""
        if self.here is None:
            return {}
        way = (self.here.site, far)
        return {
            name: self.address(self.here.site, name)
            for name, channel in self.deployed.channels.items()
            if way in channel.hops
        }

    @property
    def refused(self) -> int:
        """Requests of neighbours that asked for what they may not have."""
        return sum(one.refused for one in self._services.values())

    @contextmanager
    def held(self) -> Iterator[frozenset[str]]:
        """The channels of which everything that was ever sent is still to be had; that stays so meanwhile."""
        places = {
            name: [self.address(site, name) for site in filter(self._has, channel.sites)]
            for name, channel in self.deployed.channels.items()
        }
        every = [address for some in places.values() for address in some]
        for address in every:
            subscribed(self.connection, address, _HOLDER)
        try:
            yield frozenset(name for name, some in places.items() if all(whole(self.connection, one) for one in some))
        finally:
            for address in every:
                unsubscribed(self.connection, address, _HOLDER)

    def address(self, site: str, channel: str) -> Address:
        """Where a channel is to be found at a site."""
        return Address(self.name, site, channel)

    @property
    def url(self) -> str:
        """Where the server listens."""
        return self._server.url if self._server is not None else self.network.backbone or ""

    @property
    def server(self) -> Server | None:
        """The server, if it was started here."""
        return self._server

    @property
    def connection(self) -> Connection:
        """A connection to it."""
        if self._connection is None:
            raise InternalError("the backbone has not been started.")
        return self._connection

    @property
    def links_between(self) -> Links:
        """The links between sites, to be cut, healed and slowed down."""
        if self._links is None:
            raise InternalError("the links have not been started.")
        return self._links

    def listen(self, wanted: Mapping[Address, int], told: Callable[[Address, Placed], None]) -> News:
        """Tell of each commit on some channels, behind a number."""
        news = News(self.url, wanted, told)
        self._news.append(news)
        return news

    def unlisten(self, news: News) -> None:
        """Tell nothing more."""
        if news in self._news:
            self._news.remove(news)
            news.stop()

    def _shapes(self) -> list[LinkShape]:
        """Every declared link, in the directions that it has."""
        found: list[LinkShape] = []
        for link in self.links:
            ways = [link.between] if link.one_way else [link.between, link.between[::-1]]
            mbps, ms = (link.mbps, link.ms) if self.network.imitate else (None, 0.0)
            found.extend(LinkShape(begin, end, mbps, ms) for begin, end in ways)
        return found

    def _tidy_always(self) -> None:
        try:
            while not self._stopping.wait(_TIDY):
                self.tidy()
        except TradewindError as error:
            self._untidy = error

    def tidy(self) -> None:
        """Remove what all who read a channel have read, unless it is to be kept."""
        for channel in self.deployed.channels.values():
            for site in filter(self._has, channel.sites):
                with self._changing:
                    if self._stopping.is_set():
                        return
                    if channel == self.deployed.channels.get(channel.name):
                        trim(self.connection, self.address(site, channel.name), self.limits)

    def raise_failures(self) -> None:
        """Raise what has ended a part of it."""
        parts = (self._server, self._links, *self._news)
        failures = [part.failure for part in parts if part is not None]
        for failure in (*failures, self._untidy):
            if failure is not None:
                raise failure

    def counts(self) -> dict[tuple[str, str], Counted]:
        """What crossed each link, also after the end."""
        return self._links.counts() if self._links is not None else self._counts

    def stop(self) -> None:
        """End all of it; what was stored stays."""
        self._stopping.set()
        if self._janitor is not None:
            self._janitor.join()
        while self._news:
            self._news.pop().stop()
        if self._links is not None:
            counts = self._links.counts()
            self._links.stop()
            self._counts, self._links = counts, None
        while self._services:
            self._services.popitem()[1].close()
        while self._met:
            self._met.popitem()[1].close()
        self._taps.clear()
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._server is not None:
            self._server.stop()
            self._server = None
