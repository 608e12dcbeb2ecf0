"""What an origin's files lack: folders that are not there, and declared columns that no file has.

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
from tradewind.spark.sources.records import DAMAGED, Part, pieces

_FILES = 3
"""So many files of an origin are looked at before a run."""
_BYTES = 1 << 16
_LINES = 100
_SHOWN = 12
_PATTERN = "*?[{"


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


def names_in(file: Path, format_: str, options: Mapping[str, Any]) -> list[str]:
    """The columns that a file names; none where its format has no names, or it cannot be read."""
    try:
        match format_:
            case "parquet":
                return list(pq.read_schema(file).names)
            case "orc":
                return list(po.ORCFile(file).schema.names)
            case "arrow":
                return _of_arrow(file)
            case "csv" if options["header"]:
                [line] = list(islice(_lines(file), 1)) or [""]
                fields = next(csv.reader([line], delimiter=options["delimiter"], quotechar=options["quote"]), [])
                return [name.strip() for name in fields]
            case "json":
                return _of_json(file)
    except (*DAMAGED, csv.Error):
        pass  # whoever reads it says what is wrong with it
    return []


def _of_arrow(file: Path) -> list[str]:
    with pa.OSFile(str(file)) as source:
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        opened = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
        return list(opened.schema.names)


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
