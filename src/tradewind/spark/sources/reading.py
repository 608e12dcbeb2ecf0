"""An origin's reader: how Spark finds out what is new there, and what of it a batch holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession

from tradewind.algebra.operators.core import Source
from tradewind.errors import InputError, TradewindError
from tradewind.frontends.deployment.deployment import DeclaredStream, Deployment
from tradewind.frontends.deployment.formats import checked
from tradewind.spark.sources.bounds import Bounds
from tradewind.spark.sources.generator import TriggerFiles
from tradewind.spark.sources.places import place_of
from tradewind.spark.sources.push import inbox_of, own_inbox
from tradewind.spark.sources.readers import Desk, FileReader, GeneratedReader, Known, Plan, PushedReader


class OriginReader(Protocol):
    """Reads one origin of a stream."""

    stream: str
    origin: str
    format: str
    on_bad: str
    source: Source

    def check(self, *, wait: bool) -> None:
        """Raise what would stand in the way of reading it, as far as that can be told; with `wait` more may come."""

    def tracked(self, spark: SparkSession, *, wait: bool = False) -> DataFrame:
        """A streaming frame by which Spark tracks what is new; with `wait` more may come, and a folder may be empty."""

    def plan(self, spark: SparkSession, files: Sequence[Path], desk: Desk) -> Plan:
        """How new files are to be read."""

    def landed(self, spark: SparkSession, desk: Desk) -> DataFrame:
        """The rows that were landed."""

    def warnings(self, files: Sequence[Path]) -> list[str]:
        """What whoever runs this should know of new files, each once."""

    def close(self) -> None:
        """Nothing more is wanted from this origin."""


class Folders(NamedTuple):
    """Where a reader finds and keeps what it needs: paths of the deployment are relative to `base`; what all readers of
    an origin have in common is in `state`; `own` is the folder of the fragment that it reads for, since each fragment
    has a position of its own.
    """

    base: Path
    state: Path
    own: Path


def reader(
    stream: DeclaredStream, name: str, origin: str, folders: Folders, *, bounds: Bounds | None = None
) -> OriginReader:
    """The reader of an origin that a deployment declares.

    Files that the bounds refuse are not read; without any, those are refused that are kept in `state`.
    """
    bounds = bounds or Bounds(folders.base, (folders.state,))
    declared = stream.origins[origin]
    try:
        options = checked(declared.format, declared.options)
        known = Known(name, origin, str(declared.format), stream.on_bad, stream.source)
        if known.format == "rate":
            if declared.rows_per_second and "rows_per_second" not in declared.options:
                options["rows_per_second"] = declared.rows_per_second
            files = TriggerFiles(folders.own / "sources" / name / origin)
            return GeneratedReader(known, options, stream.distinct, files, folders.state / "clocks" / name / origin)
        if known.format == "push":
            if declared.path is not None:
                raise InputError("rows that are pushed have no path.", hint="leave it out.")
            return PushedReader(
                known, options, own_inbox(folders.own, name, origin), inbox_of(folders.state, name, origin)
            )
        return FileReader(known, options, place_of(declared.path, folders.base), bounds)
    except TradewindError as error:
        raise error.at(f"streams.{name}.at.{origin}") from None


def check_readable(found: Deployment, base: Path, state: Path, *, wait: bool) -> None:
    """Raise what stands in the way of reading the streams that queries ask for, before anything is started."""
    for name in found.graph().sources():
        for origin in found.streams[name].origins:
            try:
                reader(found.streams[name], name, origin, Folders(base, state, state)).check(wait=wait)
            except TradewindError as error:
                raise error.placed(f"streams.{name}.at.{origin}") from None


def files_of(leaf: Any) -> list[Path]:
    """The new files of a source in a batch, by its place in the batch's plan, in the order in which they came. Those
    that are gone by now are the last.
    """
    return sorted({local(uri) for uri in (*_uris(leaf), *_gone(leaf))}, key=_when)


def names_of(leaf: Any) -> list[str]:
    """The names of a source's new files in a batch, which may be gone by now."""
    return [local(uri).name for uri in _uris(leaf)]


def _uris(leaf: Any) -> list[str]:
    if leaf.getClass().getSimpleName() != "LogicalRelation":
        return []  # nothing new here
    return list(leaf.relation().location().inputFiles())


def _gone(leaf: Any) -> list[str]:
    """The files that Spark has listed for a batch and leaves out of it without a word, since they are gone."""
    if leaf.getClass().getSimpleName() != "LogicalRelation":
        return []
    location = leaf.relation().location()
    listed = location.rootPaths()
    if listed.size() == len(location.inputFiles()):
        return []
    paths = [listed.apply(place).toUri().toString() for place in range(listed.size())]
    return [uri for uri in paths if not local(uri).exists()]


def _when(file: Path) -> tuple[float, str]:
    """When Spark takes a file: by the time of its last change in milliseconds, then by name."""
    try:
        return file.stat().st_mtime_ns // 1_000_000, str(file)
    except FileNotFoundError:
        return math.inf, str(file)


def local(uri: str) -> Path:
    """The path that a file's address means.

    >>> str(local("file:///data/a%20b")), str(local("file:/data/50%25"))
    ('/data/a b', '/data/50%')
    """
    return Path("/" + unquote(uri.removeprefix("file:").lstrip("/")))
