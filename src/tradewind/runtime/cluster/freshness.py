"""Whether queries are as fresh as their files ask for, and if one is not, why. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tradewind.fragments.deployed import Deployed
from tradewind.fragments.triggers import queries_of
from tradewind.frontends.deployment.deployment import Deployment

_MICROS = 1e6


def with_freshness(status: dict[str, Any], found: Deployment, deployed: Deployed) -> dict[str, Any]:
    """A status whose queries say whether they are `late` or have `failed`, and what holds them up.

    A query is late when its answers are behind the newest rows by more than its `fresh_within`, beside the time for
    which its streams wait for late rows.
    """
    queries = {name: {**one, **_judged(name, one, status, found, deployed)} for name, one in status["queries"].items()}
    return {**status, "queries": queries}


def _judged(
    name: str, query: Mapping[str, Any], status: Mapping[str, Any], found: Deployment, deployed: Deployed
) -> dict[str, Any]:
    wish = found.queries[name].fresh_within if name in found.queries else None
    behind = query["behind_seconds"]
    paused = bool(status.get("paused"))
    state = "paused" if paused else "running"
    shown = {"fresh_within_seconds": None if wish is None else wish / _MICROS, "state": state, "cause": None}
    failed = _failed(name, status, deployed)
    if failed is not None:
        return {**shown, "state": "failed", "cause": failed}
    if wish is None or behind is None or paused or status["state"] in {"stopped", "ended"}:
        return shown
    waits = max((found.streams[one].source.late_by for one in found.graph(name).sources()), default=0)
    if behind <= (wish + waits) / _MICROS:
        return shown
    return {**shown, "state": "late", "cause": _cause(name, query, status, deployed)}


def _failed(name: str, status: Mapping[str, Any], deployed: Deployed) -> str | None:
    """Why a fragment that a query rests on does not go on; None if all of them do."""
    for one in deployed.fragments:
        told = _told(status["sites"], one.site, one.name)
        if told is not None and told["state"] == "failed" and name in queries_of(deployed, one):
            return f"site {one.site}: {told['problem']}"
    return None


def _cause(name: str, query: Mapping[str, Any], status: Mapping[str, Any], deployed: Deployed) -> str:
    """What holds a query up: a site that is not there, an origin that is silent, a link, or slow micro-batches."""
    fragments = [one for one in deployed.fragments if name in queries_of(deployed, one)]
    sites = status["sites"]
    for site in dict.fromkeys(one.site for one in fragments):
        known = sites.get(site, {"state": "never"})
        if known["state"] != "alive":
            return f"site {site} is {known['state']}"
        if known.get("problem"):
            return f"site {site}: {known['problem']}"
    if query["missing"]:
        since = {one["origin"]: f" since {one['since']}" for one in query.get("waits_for", ()) if one.get("since")}
        return f"waits for {', '.join(name + since.get(name, '') for name in query['missing'])}"
    used = {hop for one in fragments for channel in one.inputs for hop in deployed.channels[channel].hops}
    links = [one for one in status["links"] if (one["from"], one["to"]) in used and one["backlog_bytes"]]
    if links:
        longest = max(links, key=lambda one: int(one["backlog_bytes"]))
        return f"{longest['backlog_bytes']:,} bytes wait before link {longest['from']} → {longest['to']}"
    slow = [(float(told["seconds"] or 0.0), one) for one in fragments if (told := _told(sites, one.site, one.name))]
    if not slow:
        return "its fragments have not begun"
    seconds, slowest = max(slow, key=lambda one: one[0])
    return f"micro-batches of {slowest.name} at {slowest.site} take {seconds:.1f} s"


def _told(sites: Mapping[str, Any], site: str, fragment: str) -> Mapping[str, Any] | None:
    known: Mapping[str, Any] | None = sites.get(site, {"fragments": {}})["fragments"].get(fragment)
    return known
