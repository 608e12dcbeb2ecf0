"""Where a deployment's answers go: the sink of each query, and what must not lie in the same place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa

from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import Deployment, Query
from tradewind.frontends.deployment.endpoints import within
from tradewind.frontends.deployment.formats import check_delivery
from tradewind.runtime.secrets import refuse
from tradewind.spark.sinks import Files, Nowhere, Pulled, Shown, Sink
from tradewind.spark.sources.bounds import Bounds


def sink_of(
    name: str,
    query: Query,
    base: Path,
    show: Callable[[str, pa.Table], None] | None,
    *,
    pulled: bool,
    bounds: Bounds | None = None,
) -> Sink:
    """The sink that a query's delivery names; without a format rows are pulled, or shown where nobody can pull. With
    bounds it writes to no place that these refuse, also if they do only when it is about to write.
    """
    deliver = query.deliver
    kind = deliver.format or ("parquet" if deliver.path else "memory" if pulled or show is None else "console")
    try:
        check_delivery(kind, deliver.options)
    except InputError as error:
        raise error.at(f"queries.{name}.deliver") from None
    match kind:
        case "memory":
            return Pulled()
        case "noop":
            return Nowhere(**deliver.options)
        case "console":
            return Shown((lambda rows: show(name, rows)) if show is not None else lambda _: None)
    if deliver.path is None:
        raise InputError(
            f"query {name!r} is delivered as {kind}, but has no path.", where=name, hint="deliver: {path: out/…}."
        )
    if bounds is None:
        return Files(base / deliver.path, kind, deliver.options, query.operator.schema)
    path, within_bounds = deliver.path, bounds

    def allowed(place: Path) -> None:
        refuse(within_bounds.refusal(place.absolute()), path, f"queries.{name}.deliver")

    return Files(base / path, kind, deliver.options, query.operator.schema, allowed)


def refuse_clashes(found: Deployment, base: Path, site: str | None = None) -> None:
    """Refuse answers that would be written over each other, or where a stream is read, on one machine: that of a site,
    or of all of them. `check` sees this as far as paths alone tell.
    """
    written: dict[Path, str] = {}
    read = [
        (name, (base / origin.path).resolve())
        for name, stream in found.streams.items()
        for place, origin in stream.origins.items()
        if origin.path is not None and site in {None, place}
    ]
    for name, query in found.queries.items():
        if query.deliver.path is None or site not in {None, query.deliver.site}:
            continue
        folder, where = (base / query.deliver.path).resolve(), f"queries.{name}.deliver.path"
        other = written.setdefault(folder, name)
        if other != name:
            hint = "what all sites deliver lies on one machine here: give each query a path of its own."
            raise InputError(f"{other!r} and {name!r} are both delivered to {folder}.", where=where, hint=hint)
        for stream, source in read:
            if within(folder.as_posix(), source.as_posix()):
                what = f"the stream {stream!r} is read from {source}, and would read its own answers."
                raise InputError(what, where=where, hint="deliver to another folder.")


def refuse_own(found: Deployment, bounds: Bounds) -> None:
    """Refuse streams and deliveries in folders that Tradewind keeps for itself."""
    for name, stream in found.streams.items():
        for site, origin in stream.origins.items():
            if origin.path is not None:
                refuse(bounds.pattern_refusal(origin.path), origin.path, f"streams.{name}.at.{site}")
    for name, query in found.queries.items():
        if query.deliver.path is not None:
            refuse(bounds.refusal(query.deliver.path), query.deliver.path, f"queries.{name}.deliver")


def prepare(sinks: Mapping[str, Sink]) -> None:
    """From now on an answer without rows is an answer."""
    for sink in sinks.values():
        if isinstance(sink, Files):
            sink.prepare()


def refuse_foreign(sinks: Mapping[str, Sink], fresh: str = "--fresh") -> None:
    """What an earlier run delivered must not be mixed with what this one will. `fresh` is how it is removed."""
    for name, sink in sinks.items():
        if isinstance(sink, Files) and sink.published():
            raise InputError(
                f"{sink.folder} holds rows that another run delivered.",
                where=f"query {name}",
                hint=f"{fresh} removes them and starts again; or deliver to another folder.",
            )
