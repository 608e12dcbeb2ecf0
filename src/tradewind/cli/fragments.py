"""What runs together at each site, how often, and what it reads and gives: the fragments of a plan, to be read."""

from __future__ import annotations

from typing import Any

from tradewind.algebra.durations import format_duration
from tradewind.cli.aligning import aligned
from tradewind.fragments.deployed import Deployed
from tradewind.fragments.triggers import intervals
from tradewind.frontends.deployment.deployment import Deployment

_MICROS = 1_000_000


def described(deployed: Deployed, found: Deployment) -> list[dict[str, Any]]:
    """Fragments as plain data, those that give before those that take."""
    wishes = {
        name: None if query.fresh_within is None else query.fresh_within / _MICROS
        for name, query in found.queries.items()
    }
    every = intervals(deployed, wishes)
    return [
        {**one, "every_seconds": every[one["name"]], "crosses": _ways(one, deployed.to_json()["channels"])}
        for one in deployed.to_json()["fragments"]
    ]


def _ways(fragment: dict[str, Any], channels: list[dict[str, Any]]) -> list[list[str]]:
    """The links that what a fragment gives crosses."""
    return [hop for channel in channels if channel["name"] in fragment["outputs"] for hop in channel["hops"]]


def told(fragments: list[dict[str, Any]]) -> list[str]:
    """The fragments as lines of text."""
    rows = [("fragment", "works every", "reads", "gives")]
    for one in fragments:
        every = format_duration(round(one["every_seconds"] * _MICROS))
        gives = [*one["outputs"], *(f"answer {name}" for name in one["answers"])]
        rows.append((one["name"], every, _some([*one["reads"], *one["inputs"]]), _some(gives)))
    return aligned(rows)


def _some(names: list[str], most: int = 2) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
