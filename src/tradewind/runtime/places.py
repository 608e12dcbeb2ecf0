"""Where a deployment's streams and answers are: the one site that they share, if they do, and the sinks there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from tradewind.errors import InputError, unknown
from tradewind.frontends.deployment.deployment import Deployment, Query
from tradewind.spark.sinks import Files, Nowhere, Pulled, Shown, Sink

_OPTIONS: dict[str, list[str]] = {"memory": [], "console": [], "noop": ["columns"]}
"""What deliveries that are no files can be told, all of it true or false."""


def one_site(found: Deployment) -> str | None:
    """The site at which everything is; None when there are several."""
    if len(found.sites) == 1:
        return next(iter(found.sites))
    used = {site for name in found.graph().sources() for site in found.streams[name].origins}
    used |= {query.deliver.site for query in found.queries.values()}
    return used.pop() if len(used) == 1 else None


def sink_of(name: str, query: Query, base: Path, show: Callable[[str, pa.Table], None] | None, *, pulled: bool) -> Sink:
    """The sink that a query's delivery names; without a format rows are pulled, or shown where nobody can pull."""
    deliver = query.deliver
    kind = deliver.format or ("parquet" if deliver.path else "memory" if pulled or show is None else "console")
    if kind in _OPTIONS:
        _check_options(name, kind, deliver.options)
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
    return Files(base / deliver.path, kind, deliver.options, query.operator.schema)


def _check_options(name: str, kind: str, options: Mapping[str, Any]) -> None:
    for option, value in options.items():
        if option not in _OPTIONS[kind]:
            raise unknown(f"option of a {kind} delivery", option, _OPTIONS[kind]).at(f"queries.{name}.deliver")
        if not isinstance(value, bool):
            raise InputError(f"{option} is {value!r}.", where=f"queries.{name}.deliver", hint="say true or false.")


def prepare(sinks: Mapping[str, Sink]) -> None:
    """From now on an answer without rows is an answer."""
    for sink in sinks.values():
        if isinstance(sink, Files):
            sink.folder.mkdir(parents=True, exist_ok=True)


def refuse_foreign(sinks: Mapping[str, Sink], fresh: str = "--fresh") -> None:
    """What an earlier run delivered must not be mixed with what this one will. `fresh` is how it is removed."""
    for name, sink in sinks.items():
        if isinstance(sink, Files) and sink.published():
            raise InputError(
                f"{sink.folder} holds rows that another run delivered.",
                where=f"query {name}",
                hint=f"{fresh} removes them and starts again; or deliver to another folder.",
            )
