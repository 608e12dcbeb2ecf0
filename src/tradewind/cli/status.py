"""`tradewind status`, `describe` and `stats`: how a cluster does."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

import typer

from tradewind.cli.aligning import aligned
from tradewind.cli.at import At, client_of
from tradewind.cli.check import AsJson
from tradewind.cli.flows import table_of
from tradewind.cli.progress import MOMENT
from tradewind.errors import RunError

Wait = Annotated[
    str | None,
    typer.Option(
        "--wait", metavar="STATE", help="Wait until it is so: running, paused, ended or stopped; 10 minutes at most."
    ),
]
Entity = Annotated[str, typer.Argument(help="A site, stream, query, table, fragment or channel.", show_default=False)]
_PATIENCE, _LOOK = 600.0, 0.5


def status(at: At = None, wait: Wait = None, as_json: AsJson = False) -> None:
    """Show how a cluster is: its sites, what they run, what crosses links, and how large answers are."""
    client = client_of(at)
    found = client.get("/v1/status")
    end = time.perf_counter() + _PATIENCE
    said = None
    while wait is not None and found["state"] != wait:
        if time.perf_counter() > end:
            raise RunError(f"it is {found['state']}, and not {wait}, after {_PATIENCE:.0f} s.", hint=why(found))
        if found["state"] != said:
            said = found["state"]
            typer.echo(f"{said}: {why(found)}", err=True)
        time.sleep(_LOOK)
        found = client.get("/v1/status")
    typer.echo(json.dumps(found, indent=2) if as_json else "\n".join(told(found)))


def describe(name: Entity, at: At = None) -> None:
    """Show all that is known of one thing, as JSON."""
    typer.echo(json.dumps(client_of(at).get(f"/v1/describe/{name}"), indent=2))


def stats(at: At = None) -> None:
    """Show figures of everything that runs, as JSON."""
    typer.echo(json.dumps(client_of(at).get("/v1/stats"), indent=2))


def told(found: dict[str, Any]) -> list[str]:
    """A status in words."""
    what = found["deployment"] or "nothing"
    lines = [f"{what}: {found['state']}, epoch {found['epoch']}", ""]
    rows = [("site", "is", "runs", "rows/s", "memory", "problem")]
    for name, site in found["sites"].items():
        fragments = list(site["fragments"].values())
        running = sum(one["state"] == "running" for one in fragments)
        ended = sum(one["state"] == "ended" for one in fragments)
        speed = sum(one["rows_per_second"] for one in fragments)
        runs = f"{running} of {len(fragments)}" + (f", {ended} ended" if ended else "")
        memory = f"{site['memory_bytes'] / 1e6:,.0f} MB" if site.get("memory_bytes") else ""
        rows.append((name, site["state"], runs, f"{speed:,.0f}", memory, _short(site.get("problem"))))
    lines += aligned(rows)
    if found["links"]:
        lines += ["", *table_of(found["links"]), *_waiting(found["links"])]
    if found["queries"]:
        lines.append("")
        answers = [("query", "at", "final", "tentative", "behind", "is", "waits for")]
        answers += [
            (name, one["site"], f"{one['final']:,}", f"{one['tentative']:,}", _seconds(one["behind_seconds"]),
             one.get("state", ""), ", ".join(waited_for(one)))
            for name, one in found["queries"].items()
        ]  # fmt: skip
        lines += aligned(answers)
        lines += [
            f"{name} {'has failed' if one['state'] == 'failed' else 'is late'}: {one['cause']}"
            for name, one in found["queries"].items()
            if one.get("cause")
        ]
    lines += [
        f"{name} is idle and not waited for: nothing came since {one['silent_since']}"
        for name, one in found.get("origins", {}).items()
        if one["idle"]
    ]
    if found["splits"]:
        lines.append("")
        parts = [("fragment", "is", "at", "by")]
        parts += [
            (one["fragment"], one["state"], ", ".join(one["places"]), ", ".join(one["keys"])) for one in found["splits"]
        ]
        lines += aligned(parts)
    return lines + [f"warning: {line}" for line in found["warnings"]]


def waited_for(query: dict[str, Any]) -> list[str]:
    """The origins that a query waits for, and for how long their marks have not moved."""
    waits = {one["origin"]: one["seconds"] for one in query.get("waits_for", ())}
    # All wait a moment for whoever is the slowest.
    names = [name for name, seconds in waits.items() if name in query["missing"] or seconds >= MOMENT]
    names += [name for name in query["missing"] if name not in waits]
    return [f"{name} for {waits[name]:,.0f} s" if name in waits else name for name in names]


def _seconds(behind: float | None) -> str:
    return "" if behind is None else f"{behind:,.1f} s"


def _waiting(links: list[dict[str, Any]]) -> list[str]:
    """How much crosses each link now, and what waits before it."""
    return [
        f"{link['from']} → {link['to']}: {link['measured_bytes_per_second']:,.0f} B/s now"
        f"{_backlog(link['backlog_bytes'])}"
        f"{'' if link['reached'] else ', the far end does not answer'}"
        for link in links
    ]


def _backlog(size: int) -> str:
    return f", {size:,} bytes wait" if size else ""


def _short(text: str | None) -> str:
    return "" if text is None else text if len(text) <= 80 else f"{text[:79]}…"


def why(found: dict[str, Any]) -> str:
    """What a cluster waits for, or has trouble with."""
    for name, site in found["sites"].items():
        if site.get("problem"):
            return f"site {name}: {site['problem']}"
    away = [name for name, site in found["sites"].items() if site["state"] != "alive"]
    return f"not there yet: {', '.join(away)}" if away else "all sites are there."
