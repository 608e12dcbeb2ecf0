"""What is left at a site's server by those who went while it, or they, were away."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

from tradewind.backbone import catalog
from tradewind.backbone.channels import delete
from tradewind.backbone.connection import Connection
from tradewind.backbone.retention import unsubscribed
from tradewind.backbone.routes import subscriber_to
from tradewind.fragments.deployed import Channel, Deployed


def sweep(connection: Connection, name: str, site: str, deployed: Deployed, guests: frozenset[str]) -> None:
    """Remove channels of a deployment that the site has no more, and forget readers that are not there; guests stay."""
    for one in catalog.channels(connection, name):
        channel = deployed.channels.get(one.address.channel)
        if channel is None or site not in channel.sites:
            delete(connection, one.address)
            continue
        for reader in set(one.subscribers) - _readers(deployed, channel, site) - guests:
            unsubscribed(connection, one.address, reader)


def remove_all(connection: Connection, name: str) -> None:
    """Remove all channels of a deployment."""
    for one in catalog.channels(connection, name):
        delete(connection, one.address)


def _readers(deployed: Deployed, channel: Channel, site: str) -> set[str]:
    fragments = {one.name for one in deployed.readers(channel.name) if one.site == site}
    return fragments | {subscriber_to(end) for start, end in channel.hops if start == site}


def discard(folder: Path, backbone: str) -> None:
    """Remove all that is left of a deployment at a site: its channels at a server, and its folder, whose name is its
    title.
    """
    with closing(Connection.open(backbone)) as connection:
        remove_all(connection, folder.name)
    shutil.rmtree(folder, ignore_errors=True)
