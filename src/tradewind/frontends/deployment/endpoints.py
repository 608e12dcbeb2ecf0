"""Where streams are read and answers are written: whether that can be done at all, and does not get in its own way."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tradewind.frontends.deployment.formats import DELIVERIES, PLACELESS, Fault, delivery_faults, source_faults
from tradewind.frontends.deployment.model import Deliver, DeploymentFile, Origin
from tradewind.frontends.flow.findings import Finding, Path, finding, keys_at, meant_by

_GLOB = frozenset("*?[{")


def check_endpoints(file: DeploymentFile, raw: Mapping[str, Any]) -> Iterator[Finding]:
    """Formats that there are, with options that they know and the paths that they need; and no answer is written where
    something is read, or where another one is written.
    """
    for name, stream in file.streams.items():
        for site, origin in stream.at.items():
            path: Path = ("streams", name, "at", site)
            yield from _check_origin(path, origin, says_path=_says_path(raw, path, Origin))
    for name, query in file.queries.items():
        path = ("queries", name, "deliver")
        yield from _check_deliver(path, query.deliver, says_path=_says_path(raw, path, Deliver))
    yield from _check_places(file)


def _says_path(raw: Mapping[str, Any], path: Path, model: type[Origin | Deliver]) -> bool:
    """Whether a path is given, be it one that cannot be used, or under a misspelt key."""
    found: Any = raw
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return not isinstance(found, Mapping) or "path" in found or "path" in meant_by(found, keys_at(model, ()))


def _check_origin(path: Path, origin: Origin, *, says_path: bool) -> Iterator[Finding]:
    if origin.format is None:
        return  # it can be planned, which is all that is wanted of it
    yield from _told(path, source_faults(origin.format, origin.options))
    if origin.format in PLACELESS:
        if origin.format == "push" and origin.path is not None:
            yield Finding((*path, "path"), "rows that are pushed have no path.", "leave it out.")
    elif not says_path:
        yield Finding(path, "it has no path.", "path: data/requests.", at_key=True)
    elif origin.path is not None and "://" in origin.path:
        what = f"{origin.path[:100]!r} is not on the site's machine."
        yield Finding((*path, "path"), what, "give the path of a folder, a file or a glob.")


def _check_deliver(path: Path, deliver: Deliver, *, says_path: bool) -> Iterator[Finding]:
    kind = deliver.format or ("parquet" if deliver.path is not None else "console")
    yield from _told(path, delivery_faults(kind, deliver.options))
    if kind in DELIVERIES and not says_path:
        yield Finding(path, f"it is delivered as {kind}, but has no path.", "deliver: {path: out/…}.", at_key=True)


def _told(path: Path, faults: Iterable[Fault]) -> Iterator[Finding]:
    """What is wrong with a format and its options, each where it stands."""
    for fault in faults:
        inside: Path = ("format",) if fault.option is None else ("options", fault.option)
        one = finding((*path, *inside), fault.error)
        yield Finding(one.path, one.what, one.hint, at_key=fault.by_name)


def _check_places(file: DeploymentFile) -> Iterator[Finding]:
    """Answers and streams of one site, by their paths as they are written: what links and folders elsewhere lead to is
    seen where it runs.
    """
    taken: dict[tuple[str, str], str] = {}
    read = [
        (site, posixpath.normpath(origin.path), name)
        for name, stream in file.streams.items()
        for site, origin in stream.at.items()
        if origin.path is not None
    ]
    for name, query in file.queries.items():
        if query.deliver.path is None:
            continue
        path, place = ("queries", name, "deliver", "path"), posixpath.normpath(query.deliver.path)
        other = taken.setdefault((query.deliver.site, place), name)
        if other != name:
            what = f"the query {other!r} delivers to {query.deliver.path!r} already."
            yield Finding(path, what, "give each query its own.")
        for site, source, stream in read:
            if site == query.deliver.site and within(place, source):
                what = f"the stream {stream!r} is read from {source!r}: it would read its own answers."
                yield Finding(path, what, "deliver to another folder.")
                break


def within(place: str, source: str) -> bool:
    """Whether what is written to a folder would be read from a source: a folder, a file or a pattern.

    >>> within("data", "data"), within("data/out", "data"), within("data", "data/*.csv")
    (True, True, True)
    >>> within("out", "."), within("/out", "."), within("../out", "."), within("/out", "/")
    (True, False, False, True)
    >>> within("out", "data"), within("data/out", "data/*.csv"), within("data", "data/a.csv"), within("data2", "data")
    (False, False, False, False)
    """
    if place == source:
        return True
    if source == ".":
        return not place.startswith(("/", ".."))
    head, _, last = source.rpartition("/")
    if _GLOB & set(last):
        return place == (head or ".")
    return place.startswith(f"{source.rstrip('/')}/")
