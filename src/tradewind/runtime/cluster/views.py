"""What there is and how it does, in the words of the catalogue: entities, each described; figures."""

from __future__ import annotations

from typing import Any

from tradewind.algebra.drawing.labels import label
from tradewind.algebra.operators.stored import Read, Update
from tradewind.errors import unknown
from tradewind.fragments.deployed import Channel, Deployed, Fragment
from tradewind.fragments.triggers import queries_of
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.cluster.desired import Wanted
from tradewind.runtime.cluster.registry import Registry


def entities(found: Deployment | None, wanted: Wanted | None) -> list[dict[str, str]]:
    """The names of all that there is, each with its kind."""
    if found is None or wanted is None:
        return []
    listed = [("site", found.sites), ("stream", found.streams), ("query", found.queries), ("table", found.tables)]
    named = [{"kind": kind, "name": name} for kind, names in listed for name in names if name not in wanted.removed]
    named += [{"kind": "fragment", "name": one.name} for one in wanted.deployed.fragments]
    return named + [{"kind": "channel", "name": name} for name in wanted.deployed.channels]


def described(
    name: str, found: Deployment | None, wanted: Wanted | None, status: dict[str, Any], registry: Registry
) -> dict[str, Any]:
    """All that is known of one thing, by its name."""
    if found is None or wanted is None:
        raise unknown("entity", name, [])
    shown: dict[str, Any] = {}
    if name in found.sites:
        site = found.sites[name].model_dump()
        shown["site"] = {**site, **status["sites"].get(name, {})}
    if name in found.streams:
        stream = found.streams[name]
        shown["stream"] = {
            "columns": {column: str(type_) for column, type_ in stream.source.schema.columns},
            "time": stream.source.schema.time,
            "at": {site: origin.model_dump(exclude_defaults=True) for site, origin in stream.origins.items()},
            "read": _read(registry, name),
        }
    if name in found.queries and name not in wanted.removed:
        query = found.queries[name]
        shown["query"] = {
            "columns": {column: str(type_) for column, type_ in query.operator.schema.columns},
            "deliver": query.deliver.model_dump(exclude_defaults=True),
            "fragments": [one.name for one in wanted.deployed.fragments if name in queries_of(wanted.deployed, one)],
            **status["queries"].get(name, {}),
        }
    if name in found.tables:
        table = found.tables[name]
        shown["table"] = {
            "columns": {column: str(type_) for column, type_ in table.schema.columns}, "key": list(table.key),
            "fragments": [one.name for one in wanted.deployed.fragments if name in _tables(one)],
        }  # fmt: skip
    for fragment in wanted.deployed.fragments:
        if fragment.name == name:
            shown["fragment"] = _fragment(fragment, wanted, status)
    if name in wanted.deployed.channels:
        shown["channel"] = _channel(wanted.deployed.channels[name], wanted.deployed, registry)
    if not shown:
        raise unknown("entity", name, [one["name"] for one in entities(found, wanted)])
    return {"name": name, **shown}


def _tables(fragment: Fragment) -> set[str]:
    """The stored tables that a fragment works on."""
    return {node.table.name for node in fragment.operators if isinstance(node, Read | Update)}


def streams(wanted: Wanted | None, registry: Registry) -> list[dict[str, Any]]:
    """The streams that run between sites: what they are, where they are to be had, and what they hold."""
    if wanted is None:
        return []
    return [
        {"name": name, **_channel(one, wanted.deployed, registry)} for name, one in wanted.deployed.channels.items()
    ]


def stats(status: dict[str, Any], registry: Registry) -> dict[str, Any]:
    """How everything does: rows, bytes, times."""
    read = {name: _read(registry, name) for name in _streams_read(registry)}
    fragments = {
        name: {"site": site, **one} for site, told in status["sites"].items() for name, one in told["fragments"].items()
    }
    return {
        "epoch": status["epoch"], "state": status["state"], "read": read, "fragments": fragments,
        "links": status["links"], "queries": status["queries"],
    }  # fmt: skip


def _streams_read(registry: Registry) -> list[str]:
    return list(dict.fromkeys(one.stream for heard in registry.heard.values() for one in heard.report.read))


def _read(registry: Registry, stream: str) -> dict[str, dict[str, Any]]:
    return {
        site: one.model_dump(exclude={"stream"})
        for site, heard in registry.heard.items()
        for one in heard.report.read
        if one.stream == stream
    }


def _fragment(fragment: Fragment, wanted: Wanted, status: dict[str, Any]) -> dict[str, Any]:
    told = status["sites"].get(fragment.site, {"fragments": {}})["fragments"].get(fragment.name, {})
    return {
        "site": fragment.site,
        "operators": [label(node) for node in fragment.operators],
        "reads": [*fragment.inputs, *(f"{stream}/{site}" for stream, site in fragment.sources)],
        "writes": list(fragment.outputs),
        "answers": list(fragment.answers),
        "queries": list(queries_of(wanted.deployed, fragment)),
        "every_seconds": wanted.intervals.get(fragment.name),
        **told,
    }


def _channel(channel: Channel, deployed: Deployed, registry: Registry) -> dict[str, Any]:
    heard = registry.heard.get(channel.site)
    told = next((one for one in heard.report.channels if one.name == channel.name), None) if heard else None
    about = [deployed.writer(channel.name), *deployed.readers(channel.name)]
    return {
        "what": label(channel.operator),
        "columns": {column: str(type_) for column, type_ in channel.operator.schema.columns},
        "origins": [f"{stream}/{site}" for stream, site in channel.origins],
        "sites": list(channel.sites),
        "hops": [list(hop) for hop in channel.hops],
        "queries": list(dict.fromkeys(query for one in about for query in queries_of(deployed, one))),
        "batches": told.batches if told else 0,
        "rows": told.rows if told else 0,
        "bytes": told.bytes if told else 0,
        "whole": told.whole if told else None,
    }
