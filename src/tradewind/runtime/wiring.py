"""What joins the sites of a run: the backbone server, its channels, the links between sites, and news of commits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tradewind.backbone.channels import Limits, create
from tradewind.backbone.commits import Placed
from tradewind.backbone.connection import Connection
from tradewind.backbone.counting import Counted
from tradewind.backbone.disturbances import Disturbance
from tradewind.backbone.links import Links, LinkShape
from tradewind.backbone.names import Address
from tradewind.backbone.news import News
from tradewind.backbone.retention import subscribed, trim, unsubscribed, whole
from tradewind.backbone.server import Server
from tradewind.errors import InternalError, TradewindError
from tradewind.fragments.deployed import Deployed
from tradewind.frontends.deployment.model import ChannelKeys, Link
from tradewind.runtime.published import publish

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
    _server: Server | None = None
    _connection: Connection | None = None
    _links: Links | None = None
    _news: list[News] = field(default_factory=list)
    _counts: dict[tuple[str, str], Counted] = field(default_factory=dict)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _janitor: threading.Thread | None = None
    _untidy: TradewindError | None = None

    def start(self) -> None:
        """Start the server, make all channels, and let the links carry them."""
        if self.network.backbone is None:
            self._server = Server.start(self.folder)
        self._connection = Connection.open(self.url)
        self._links = Links(self.url, self.name, self._shapes(), disturbances=self.network.disturbances)
        self._open(self._connection, self._links, self.deployed)
        self._links.start()
        publish(self._connection, self.name, self.deployed)
        self._janitor = threading.Thread(target=self._tidy_always, name="tradewind-janitor", daemon=True)
        self._janitor.start()

    def extend(self, more: Deployed) -> None:
        """More channels, and some that go further, while all others go on."""
        self._open(self.connection, self.links_between, more)
        self.deployed |= more
        publish(self.connection, self.name, self.deployed)

    def _open(self, connection: Connection, links: Links, some: Deployed) -> None:
        for channel in some.channels.values():
            for site in channel.sites:
                create(connection, self.address(site, channel.name), self.limits)
        for channel in some.channels.values():
            for begin, end in channel.hops:
                links.carry(begin, end, channel.name, self.limits)

    @contextmanager
    def held(self) -> Iterator[frozenset[str]]:
        """The channels of which everything that was ever sent is still to be had; that stays so meanwhile."""
        places = {
            name: [self.address(site, name) for site in channel.sites]
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

    def listen(self, wanted: Mapping[Address, int], told: Callable[[Address, Placed], None]) -> None:
        """Tell of each commit on some channels, behind a number."""
        self._news.append(News(self.url, wanted, told))

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
            for site in channel.sites:
                if self._stopping.is_set():
                    return
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
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._server is not None:
            self._server.stop()
            self._server = None
