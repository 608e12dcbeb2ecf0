"""Streams, tables and aggregates of a file, each built by itself: one that is wrong does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tradewind.algebra.aggregates import UserAggregate, user_aggregate
from tradewind.algebra.expressions.parse import parse_raw
from tradewind.algebra.expressions.typing import resolve
from tradewind.algebra.operators.core import Source
from tradewind.algebra.schema import Schema, own_names, parse_schema
from tradewind.algebra.tables import Table
from tradewind.algebra.types import INTERVAL, NULL
from tradewind.errors import InputError, UnknownNameError, unknown
from tradewind.frontends.deployment.model import AggregateKeys, DeploymentFile, StreamKeys, TableKeys
from tradewind.frontends.deployment.network import SECTIONS, names_in
from tradewind.frontends.flow.findings import Finding, finding, keys_at, meant_by

T = TypeVar("T")


@dataclass(slots=True)
class Declarations:
    """What could be built, what is wrong, and the names that are declared but of no use."""

    streams: dict[str, Source] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    aggregates: dict[str, UserAggregate] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)


def declare(file: DeploymentFile, raw: Mapping[str, Any]) -> Declarations:
    """Build every stream, table and aggregate that is right."""
    found = Declarations()
    timed = {name: keys for name, keys in file.streams.items() if keys.time or not _meant_time(raw["streams"][name])}
    _section(found, found.streams, "streams", timed, _stream)
    _section(found, found.tables, "tables", file.tables, _table)
    _section(found, found.aggregates, "aggregates", file.aggregates, _aggregate)
    for section, built in (("streams", found.streams), ("tables", found.tables), ("aggregates", found.aggregates)):
        found.failed |= set(names_in(raw, section)) - set(built)
    _refuse_twins(found)
    return found


def _meant_time(keys: Mapping[str, Any]) -> bool:
    """Whether a stream was given a `time`, even one that had to be taken out: windows on it are not to be blamed."""
    return "time" in keys or "time" in meant_by(keys, keys_at(StreamKeys, ()))


Build = Callable[[Declarations, str, Any], T | None]


def _section(
    found: Declarations, built: dict[str, T], section: str, declared: Mapping[str, Any], build: Build[T]
) -> None:
    for name, keys in declared.items():
        try:
            made = build(found, name, keys)
        except InputError as error:
            found.findings.append(finding((section, name), error))
            continue
        if made is not None:
            built[name] = made


def _stream(found: Declarations, name: str, keys: StreamKeys) -> Source | None:
    schema = _schema(found, ("streams", name), keys.columns, keys.time)
    if schema is None:
        return None
    for said in ("distinct", "skew"):
        for column in getattr(keys, said):
            try:
                schema.find(column)
            except UnknownNameError as error:
                found.findings.append(finding(("streams", name, said, column), error))
    if keys.idle_after is not None and schema.time is None:
        what = "a stream without event times has no mark that an idle origin could hold back."
        found.findings.append(Finding(("streams", name, "idle_after"), what, "declare time: COLUMN, or leave it out."))
        return None
    return Source(name, schema, keys.late_by, tuple(keys.at), keys.revisions)


def _schema(found: Declarations, path: tuple[str, str], columns: str, time: str | None = None) -> Schema | None:
    """The columns; the fault lies with `time` when they can be read without it."""
    try:
        schema = parse_schema(columns)
    except InputError as error:
        found.findings.append(finding((*path, "schema"), error, columns))
        return None
    for name, type_ in schema.columns:
        if type_ in (NULL, INTERVAL):
            found.findings.append(Finding((*path, "schema"), f"column {name!r} is {type_}, which cannot be stored."))
            return None
    if fault := own_names(schema):
        found.findings.append(finding((*path, "schema"), fault))
        return None
    try:
        return parse_schema(columns, time) if time is not None else schema
    except InputError as error:
        found.findings.append(finding((*path, "time"), error))
        return None


def _table(found: Declarations, name: str, keys: TableKeys) -> Table | None:
    schema = _schema(found, ("tables", name), keys.columns)
    if schema is None:
        return None
    for column in keys.key:
        if column not in schema.names:
            found.findings.append(finding(("tables", name, "key"), unknown("column", column, schema.names)))
            return None
    return Table(name, schema, keys.key)


def _aggregate(found: Declarations, name: str, keys: AggregateKeys) -> UserAggregate | None:
    try:
        return user_aggregate(name, over=keys.over, lift=keys.lift, merge=keys.merge, finish=keys.finish)
    except InputError as error:
        part = _part_at_fault(keys)
        # A name that cannot be an aggregate's is nobody's fault but its own.
        if error.what.startswith(repr(name)):
            found.findings.append(finding(("aggregates", name), error))
        else:
            found.findings.append(finding(("aggregates", name, part), error, getattr(keys, part)))
        return None


def _part_at_fault(keys: AggregateKeys) -> str:
    """Which of an aggregate's texts is wrong: the first that does not fit those before it."""
    part = "over"
    try:
        parameters = parse_schema(keys.over)
        part = "lift"
        state = resolve(parse_raw(keys.lift), parameters)[1]
        part = "merge"
        merged = resolve(parse_raw(keys.merge), Schema((("a", state), ("b", state))))[1]
    except InputError:
        return part
    return "finish" if merged == state else "merge"


def _refuse_twins(found: Declarations) -> None:
    """Names are looked up whatever their case, and a table must not be taken for a stream."""
    seen: dict[str, str] = {}
    for section, names in (("streams", found.streams), ("tables", found.tables)):
        for name in list(names):
            other = seen.setdefault(name.lower(), name)
            if other != name or (section == "tables" and name in found.streams):
                what = (
                    f"{name!r} cannot be told from {other!r}."
                    if other != name
                    else f"a stream is named {name!r} already."
                )
                found.findings.append(Finding((section, name), what, "give one of them another name.", at_key=True))


def missing_sections(raw: Mapping[str, Any]) -> Iterable[Finding]:
    """A deployment without sites or streams is none."""
    misspelt = meant_by(raw, SECTIONS)
    for section in ("sites", "streams"):
        if section not in raw and section in misspelt:
            continue
        if section not in raw:
            yield Finding((), f"{section!r} is missing.", f"declare at least one under `{section}:`.", at_key=True)
        elif isinstance(raw[section], Mapping) and not raw[section]:
            yield Finding((section,), f"there are no {section}.", "declare at least one.", at_key=True)
