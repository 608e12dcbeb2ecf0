"""What a coordinator tells sites of idle origins: how far the others are, so that they follow. No I/O, no clock."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tradewind.algebra.idleness import OriginStatus, Place, followed
from tradewind.errors import InputError
from tradewind.fragments.deployed import Deployed
from tradewind.fragments.triggers import queries_of
from tradewind.runtime.cluster.desired import Wanted
from tradewind.runtime.cluster.registry import Registry

KIND = "follow"


def orders(registry: Registry, wanted: Wanted, now: float) -> dict[str, dict[str, Any]]:
    """For each site with idle origins that are behind: what it is told of where they may go on to."""
    told = {site: heard.report for site, heard in registry.heard.items() if heard.report.run == wanted.title}
    if not any(one.idle for report in told.values() for one in report.origins):
        return {}
    goals = followed(statuses(registry, wanted, now), _combined(wanted.deployed))
    found = {}
    for site, report in told.items():
        marks = [
            [one.stream, one.origin, goals[one.stream, one.origin]]
            for one in report.origins
            if one.idle and (one.stream, one.origin) in goals
        ]
        if marks:
            found[site] = {"kind": KIND, "run": wanted.title, "marks": marks}
    return found


def statuses(registry: Registry, wanted: Wanted, now: float) -> dict[Place, OriginStatus]:
    """Where all origins stand. Of one whose site is not heard of nobody knows that it is idle: it is waited for."""
    found: dict[Place, OriginStatus] = {}
    for site, heard in registry.heard.items():
        if heard.report.run != wanted.title:
            continue
        there = registry.state_of(site, now) != "gone"
        for one in heard.report.origins:
            place = one.stream, one.origin
            status = OriginStatus(-math.inf if one.mark is None else one.mark, one.idle and there, one.silent_seconds)
            before = found.get(place, status)
            found[place] = OriginStatus(min(before.mark, status.mark), before.idle and status.idle, status.silent)
    read = (place for fragment in wanted.deployed.fragments for place in fragment.sources)
    return {place: found.get(place, OriginStatus()) for place in read}


def marks_in(order: Mapping[str, Any]) -> dict[Place, float]:
    """The marks that a site is told."""
    marks = {(str(stream), str(origin)): float(mark) for stream, origin, mark in order["marks"]}
    if not all(map(math.isfinite, marks.values())):
        raise InputError("a mark is no time.")
    return marks


def _combined(deployed: Deployed) -> list[set[str]]:
    """For each query the streams that it rests on."""
    found: dict[str, set[str]] = {}
    for fragment in deployed.fragments:
        for query in queries_of(deployed, fragment):
            found.setdefault(query, set()).update(stream for stream, _ in fragment.sources)
    return list(found.values())
