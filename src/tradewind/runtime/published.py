"""The streams that run between the sites of a deployment: listed on its backbone, for people and for later queries."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tradewind.algebra.drawing.labels import label
from tradewind.backbone import catalog
from tradewind.backbone.connection import Connection
from tradewind.fragments.deployed import Deployed
from tradewind.fragments.triggers import queries_of

_KEY = "streams"


@dataclass(frozen=True, slots=True)
class Published:
    """A stream that runs on a channel: what it is, where it is to be had, and what it holds now."""

    name: str
    what: str
    """What the operator that makes it does."""
    columns: dict[str, str]
    origins: tuple[str, ...]
    """Where its rows come from in the end, as `stream/site`."""
    sites: tuple[str, ...]
    """Where it is to be had; it is made at the first."""
    queries: tuple[str, ...]
    """Whose answers rest on it."""
    batches: int = 0
    rows: int = 0
    bytes: int = 0
    readers: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def publish(connection: Connection, deployment: str, deployed: Deployed) -> None:
    """List what runs, in place of what was listed."""
    found = []
    for name, channel in deployed.channels.items():
        schema = channel.operator.schema
        readers = [deployed.writer(name), *deployed.readers(name)]
        found.append(
            Published(
                name,
                label(channel.operator),
                {column: str(type_) for column, type_ in schema.columns},
                tuple(f"{stream}/{origin}" for stream, origin in channel.origins),
                channel.sites,
                tuple(dict.fromkeys(query for one in readers for query in queries_of(deployed, one))),
            ).to_json()
        )
    catalog.put(connection, deployment, _KEY, {"streams": found})


def published(connection: Connection, deployment: str) -> list[Published]:
    """What runs, with what the channels hold now where they are made."""
    listed = (catalog.get(connection, deployment, _KEY) or {"streams": []})["streams"]
    running = {(one.address.channel, one.address.site): one for one in catalog.channels(connection, deployment)}
    found = []
    for one in listed:
        sites = tuple(one["sites"])
        copies = [running[one["name"], site] for site in sites if (one["name"], site) in running]
        now = copies[0] if copies else None
        held = {} if now is None else {"batches": now.batches, "rows": now.rows, "bytes": now.bytes}
        # Links read it too; those who read it at the end of one count there.
        readers = sum(not name.startswith("link to ") for copy in copies for name in copy.subscribers)
        lists = {key: tuple(one[key]) for key in ("origins", "queries")}
        found.append(Published(**{**one, **lists, **held, "sites": sites, "readers": readers}))
    return found
