"""How an origin's files differ from what is declared: missing folders, missing columns, columns of another type.

A column that a file lacks is NULL, so that files may have fewer columns than the stream; where that is a mistake in a
name, nobody would be told. Only footers, headers and first lines are read.
"""

from __future__ import annotations

import csv
import difflib
import glob
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGERS,
    INTERVAL,
    STRING,
    TIMESTAMP,
    DataType,
    decimal,
)
from tradewind.spark.sources.columnar import converts, mismatch
from tradewind.spark.sources.records import DAMAGED, Part, pieces

_FILES = 3
"""So many files of an origin are looked at before a run."""
_BYTES = 1 << 16
_LINES = 100
_SHOWN = 12
_PATTERN = "*?[{"
_DECLARABLE = (BOOLEAN, *INTEGERS, FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP, INTERVAL)


def not_there(place: Path) -> bool:
    """Whether a place that is no pattern does not exist (yet)."""
    return not place.exists() and not any(sign in str(place) for sign in _PATTERN)


def first_files(place: Path) -> list[Path]:
    """A few files of a folder, a file or a pattern."""
    if place.is_dir():
        return list(islice((file for file in sorted(place.iterdir()) if _counts(file)), _FILES))
    found = [place] if place.is_file() else map(Path, sorted(glob.glob(str(place))))  # noqa: PTH207 - an absolute one
    return list(islice((file for file in found if _counts(file)), _FILES))


def _counts(file: Path) -> bool:
    return file.is_file() and not file.name.startswith(("_", "."))


def lacking(files: Sequence[Path], format_: str, options: Mapping[str, Any], schema: Schema) -> list[tuple[str, str]]:
    """The declared columns that none of some files has, each with a hint; nothing where files do not name columns."""
    known = [names for names in (names_in(file, format_, options) for file in files) if names]
    there = list(dict.fromkeys(name for names in known for name in names))
    lower = {name.lower(): name for name in there}
    if not there:
        return []
    return [(name, _hint(name, lower)) for name in schema.names if name.lower() not in lower]


def _hint(name: str, there: Mapping[str, str]) -> str:
    similar = [repr(there[one]) for one in difflib.get_close_matches(name.lower(), list(there), 3, 0.6)]
    meant = f"did you mean {' or '.join(similar)}? " if similar else ""
    more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
    return f"{meant}There is: {', '.join(list(there.values())[:_SHOWN])}{more}."


def mistyped(files: Sequence[Path], format_: str, schema: Schema) -> list[tuple[Path, str, str]]:
    """The columns whose type in a file does not convert to the declared one: the first such file, what differs, and
    a hint. Only Parquet, ORC and Arrow files have types of their own.
    """
    told: dict[str, tuple[Path, str, str]] = {}
    for file in files:
        types = {field.name.lower(): field.type for field in _schema_in(file, format_)}
        for name, declared in schema.columns:
            own = types.get(name.lower())
            if name not in told and own is not None and not converts(own, declared):
                told[name] = file, mismatch(name, declared, own), _declare(name, own)
    return list(told.values())


def _declare(name: str, own: pa.DataType) -> str:
    candidates = [decimal(own.precision, own.scale)] if pa.types.is_decimal128(own) else _DECLARABLE
    fitting: DataType | None = next((type_ for type_ in candidates if converts(own, type_)), None)
    return f"declare `{name} {fitting}`" if fitting is not None else "write the file with the declared type"


def _schema_in(file: Path, format_: str) -> pa.Schema:
    """The columns and types of a file that has types; none where it has not, or it cannot be read."""
    try:
        match format_:
            case "parquet":
                return pq.read_schema(file)
            case "orc":
                return po.ORCFile(file).schema
            case "arrow":
                return _of_arrow(file)
    except DAMAGED:
        pass  # whoever reads it says what is wrong with it
    return pa.schema([])


def names_in(file: Path, format_: str, options: Mapping[str, Any]) -> list[str]:
    """The columns that a file names; none where its format has no names, or it cannot be read."""
    try:
        match format_:
            case "parquet" | "orc" | "arrow":
                return list(_schema_in(file, format_).names)
            case "csv" if options["header"]:
                [line] = list(islice(_lines(file), 1)) or [""]
                fields = next(csv.reader([line], delimiter=options["delimiter"], quotechar=options["quote"]), [])
                return [name.strip() for name in fields]
            case "json":
                return _of_json(file)
    except (*DAMAGED, csv.Error):
        pass  # whoever reads it says what is wrong with it
    return []


def _of_arrow(file: Path) -> pa.Schema:
    with pa.OSFile(str(file)) as source:
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        opened = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
        return opened.schema


def _of_json(file: Path) -> list[str]:
    names: dict[str, None] = {}
    for line in islice(_lines(file), _LINES):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            names.update(dict.fromkeys(record))
    return list(names)


def _lines(file: Path) -> Iterator[str]:
    """The first lines of a file; the last of them may be cut."""
    first = next(iter(pieces(Part(str(file)), _BYTES)), b"")
    return iter(first.decode("utf-8-sig", "replace").splitlines())
