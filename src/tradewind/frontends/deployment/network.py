"""Sites and links: whether all that is named exists, and whether data can get to where it is delivered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tradewind.algebra.graph import KINDS, Graph
from tradewind.algebra.operators.base import Operator
from tradewind.errors import unknown
from tradewind.frontends.deployment.model import DeploymentFile, StreamKeys
from tradewind.frontends.flow.findings import Finding, finding, keys_at, likely, meant_by

SECTIONS = tuple(DeploymentFile.model_fields)


def names_in(raw: Mapping[str, Any], section: str) -> list[str]:
    """The names that a section declares, whether rightly or not; those of a misspelt section too."""
    found = raw.get(section)
    if section not in raw:
        found = next((raw[key] for key in list(raw)[:60] if section in meant_by([key], SECTIONS)), None)
    return list(found) if isinstance(found, Mapping) else []


def check_network(file: DeploymentFile, numbers: tuple[int, ...], raw: Mapping[str, Any]) -> Iterator[Finding]:
    """Links between sites that exist, each once, and streams that arise somewhere."""
    sites = names_in(raw, "sites")
    yield from _check_origins(file, raw, sites)
    if not sites:
        return
    seen: dict[tuple[str, str], int] = {}
    for number, link in zip(numbers, file.links, strict=True):
        for end, site in enumerate(link.between):
            if site not in sites:
                yield finding(("links", number, "between", end), unknown("site", site, likely(site, sites)))
        if link.between[0] == link.between[1]:
            yield Finding(
                ("links", number, "between"), f"a link from {link.between[0]!r} to itself.", "links join two sites."
            )
            continue
        ways = [link.between] if link.one_way else [link.between, link.between[::-1]]
        twice = next((seen[way] for way in ways if way in seen), None)
        if twice is not None:
            what = f"there is a link between {link.between[0]!r} and {link.between[1]!r} already: links.{twice}."
            yield Finding(("links", number, "between"), what, "a link goes both ways unless it is one_way.")
        seen.update(dict.fromkeys(ways, number))


def _check_origins(file: DeploymentFile, raw: Mapping[str, Any], sites: list[str]) -> Iterator[Finding]:
    for name, stream in file.streams.items():
        declared = _mapping(raw["streams"][name])
        if "at" not in declared and "at" in meant_by(declared, keys_at(StreamKeys, ())):
            continue
        if "at" not in declared:
            yield Finding(
                ("streams", name), "the stream arises nowhere: 'at' is missing.", "at: {SITE: {…}}.", at_key=True
            )
        elif declared["at"] == {}:
            yield Finding(("streams", name, "at"), "the stream arises nowhere.", "at: {SITE: {…}}.", at_key=True)
        for site in stream.at:
            if sites and site not in sites:
                one = unknown("site", site, likely(site, sites))
                yield Finding(("streams", name, "at", site), one.what, one.hint, at_key=True)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def check_deliveries(file: DeploymentFile, raw: Mapping[str, Any]) -> Iterator[Finding]:
    """Sinks at sites that exist."""
    sites = names_in(raw, "sites")
    for name, query in file.queries.items():
        site = query.deliver.site
        if sites and site not in sites:
            yield finding(("queries", name, "deliver", "site"), unknown("site", site, likely(site, sites)))
        for kind, where in query.pin.items():
            if kind not in KINDS:
                one = finding(("queries", name, "pin", kind), unknown("kind of operator", kind, KINDS))
                yield Finding(one.path, one.what, one.hint, at_key=True)
            if sites and where not in sites:
                yield finding(("queries", name, "pin", kind), unknown("site", where, likely(where, sites)))


def check_sinks(
    file: DeploymentFile, raw: Mapping[str, Any], operators: Mapping[str, Operator], streams: Iterable[str]
) -> Iterator[Finding]:
    """Each origin of each stream that a query reads must have a way to the query's sink."""
    arcs = _arcs(raw)
    if arcs is None:
        return
    sites = names_in(raw, "sites")
    usable = set(streams)
    known: dict[str, frozenset[str]] = {}
    for name, query in file.queries.items():
        sink = query.deliver.site
        if sink not in sites or name not in operators:
            continue
        reach = known.setdefault(sink, _reaching(sink, arcs))
        for stream in Graph(((name, operators[name]),)).sources():
            origins = file.streams[stream].at if stream in usable and stream in file.streams else ()
            lost = [site for site in origins if site in sites and site not in reach]
            if lost:
                what = f"no links lead from {', '.join(map(repr, lost))}, where {stream!r} arises, to {sink!r}."
                yield Finding(("queries", name, "deliver", "site"), what, "add a link, or deliver elsewhere.")


def _arcs(raw: Mapping[str, Any]) -> dict[str, set[str]] | None:
    """For each site those that lead to it directly; None when a link is wrong and anything may be reachable."""
    found: dict[str, set[str]] = {}
    links = raw.get("links", [])
    sites = set(names_in(raw, "sites"))
    if "links" not in raw and any(name not in DeploymentFile.model_fields for name in raw):
        return None  # one of those is perhaps meant to be `links`
    for link in links if isinstance(links, list) else [None]:
        ends = _mapping(link).get("between")
        if (
            not isinstance(ends, list)
            or len(ends) != 2
            or not all(isinstance(end, str) and end in sites for end in ends)
        ):
            return None
        if ends[0] == ends[1]:
            return None
        found.setdefault(ends[1], set()).add(ends[0])
        if _mapping(link).get("one_way") is not True:
            found.setdefault(ends[0], set()).add(ends[1])
    return found


def _reaching(sink: str, arcs: Mapping[str, set[str]]) -> frozenset[str]:
    found, waiting = {sink}, [sink]
    while waiting:
        for site in arcs.get(waiting.pop(), ()):
            if site not in found:
                found.add(site)
                waiting.append(site)
    return frozenset(found)
