"""What there is and how it does, in the words of the catalogue: entities, each described; figures; metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tradewind.algebra.drawing.labels import label
from tradewind.errors import unknown
from tradewind.fragments.deployed import Channel, Deployed, Fragment
from tradewind.fragments.triggers import queries_of
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.cluster.desired import Wanted
from tradewind.runtime.cluster.registry import Registry


class Sample(NamedTuple):
    """A metric's value."""

    name: str
    help: str
    kind: str
    labels: dict[str, str]
    value: float


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
    for fragment in wanted.deployed.fragments:
        if fragment.name == name:
            shown["fragment"] = _fragment(fragment, wanted, status)
    if name in wanted.deployed.channels:
        shown["channel"] = _channel(wanted.deployed.channels[name], wanted.deployed, registry)
    if not shown:
        raise unknown("entity", name, [one["name"] for one in entities(found, wanted)])
    return {"name": name, **shown}


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


def metrics(status: dict[str, Any], registry: Registry) -> list[Sample]:
    """The same as metrics, with Prometheus' conventions: base units, and totals that only grow."""
    return list(_samples(status, registry))


def _samples(status: dict[str, Any], registry: Registry) -> Iterator[Sample]:
    yield Sample("tradewind_epoch", "Epoch of what is wanted.", "gauge", {}, status["epoch"])
    yield Sample("tradewind_refused_reports_total", "Reports that could not be read.", "counter", {}, registry.refused)
    for site, one in status["sites"].items():
        here = {"site": site}
        yield Sample("tradewind_site_up", "Whether a site is heard.", "gauge", here, float(one["state"] == "alive"))
        if "memory_bytes" in one:
            yield Sample("tradewind_site_memory_bytes", "Resident bytes.", "gauge", here, one["memory_bytes"])
            yield Sample("tradewind_site_disk_free_bytes", "Free bytes on disk.", "gauge", here, one["disk_free_bytes"])
            yield Sample("tradewind_site_restarts_total", "Times begun again.", "counter", here, one["restarts"])
            yield Sample("tradewind_site_refused_total", "Requests refused on links.", "counter", here, one["refused"])
        for name, fragment in one["fragments"].items():
            who = {"site": site, "fragment": name}
            yield Sample("tradewind_fragment_rows_total", "Rows read.", "counter", who, fragment["rows"])
            yield Sample("tradewind_fragment_batch_seconds", "Last batch's time.", "gauge", who, fragment["seconds"])
            running = float(fragment["state"] == "running")
            yield Sample("tradewind_fragment_running", "Whether it runs.", "gauge", who, running)
    for link in status["links"]:
        ends = {"from": link["from"], "to": link["to"]}
        yield Sample("tradewind_link_bytes_total", "Bytes that crossed.", "counter", ends, link["bytes"])
        yield Sample("tradewind_link_rows_total", "Rows that crossed.", "counter", ends, link["rows"])
        yield Sample("tradewind_link_backlog_bytes", "Bytes that wait.", "gauge", ends, link["backlog_bytes"])
        yield Sample("tradewind_link_up", "Whether the far end answers.", "gauge", ends, float(link["reached"]))
    for name, query in status["queries"].items():
        who = {"query": name}
        yield Sample("tradewind_query_rows", "Rows that are final.", "gauge", {**who, "final": "true"}, query["final"])
        tentative = query["tentative"]
        yield Sample("tradewind_query_rows", "Rows that are final.", "gauge", {**who, "final": "false"}, tentative)
        if query["behind_seconds"] is not None:
            behind = query["behind_seconds"]
            yield Sample("tradewind_query_behind_seconds", "Newest to settled.", "gauge", who, behind)


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
