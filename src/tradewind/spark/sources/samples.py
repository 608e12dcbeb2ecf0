"""Samples of an origin's rows: how many it has, from when to when, and some of them in runs.

Parquet files tell in their footers how many rows they have and when; of other files some excerpts are parsed, and what
is found is scaled up by bytes. A file that cannot be read is passed over and not tried again: the run that reads it all
says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tradewind.algebra.operators.core import Source
from tradewind.algebra.schema import Schema
from tradewind.algebra.times import LOWEST
from tradewind.algebra.types import BIGINT
from tradewind.frontends.deployment.formats import checked
from tradewind.frontends.deployment.model import Origin
from tradewind.spark.columns import WEIGHT
from tradewind.spark.sources.bounds import Bounds, alternatives
from tradewind.spark.sources.columnar import by_name, fitted
from tradewind.spark.sources.excerpts import Excerpt, File, excerpts, spans
from tradewind.spark.sources.footers import Footer, footer_of
from tradewind.spark.sources.parsing import Reading
from tradewind.spark.sources.places import MOST_BYTES, place_of

LOOKED_AT = ("parquet", "arrow", "json", "csv", "xml", "text", "binary")
"""Formats of files that are looked at. ORC is not: a damaged file can bring its reader down, and all with it."""
_RUN = 4096
"""So many rows that follow one another make a run, at most,"""
_SHORTEST_RUN = 256
"""and at least,"""
_RUNS = 8
"""and an origin should have so many runs."""
_DEEP = 8
"""Within a row group so many runs are passed over, at most, for each that is kept."""
_MOST_PLACES = 256
"""In so many places Parquet files are looked into,"""
_MOST_FOOTERS = 2_000
"""and so many are opened for their footers."""
_SLOW = ("json", "xml")
_SLOW_BYTES = 2_000_000
"""So many bytes of a stream are parsed in formats that are slow to parse,"""
_BYTES = 4_000_000
"""and so many in others."""
_ROW_BYTES = 100.0
"""A row of a file that was not looked at yet."""
_BUFFER = 1 << 18
"""Parquet columns are read in pieces of so many bytes, not whole."""

T = TypeVar("T")


class Sample(NamedTuple):
    """What was seen of an origin: how many rows it has in all, its first and last event time in microseconds since
    1970, how much longer it goes on behind what there is no getting to, and runs of rows.
    """

    rows: float
    earliest: int | None
    latest: int | None
    beyond: int
    runs: tuple[pa.Table, ...]


def tried(look: Callable[[], T]) -> T | None:
    """What a look at data gives, if it gives anything."""
    try:
        return look()
    except Exception:  # noqa: BLE001 - whatever is wrong with the data, the run that reads it will say so
        return None


@dataclass(frozen=True, slots=True)
class Place:
    """An origin's files, without those that are known to be bad; of Parquet files also their footers."""

    format: str
    reading: Reading
    files: tuple[File, ...]
    footers: Mapping[File, Footer]

    @property
    def bytes(self) -> int:
        """The length of all files."""
        return sum(file.size for file in self.files)

    @property
    def rows(self) -> float:
        """About how many rows there are; unless footers tell it, a guess."""
        if self.format != "parquet":
            return self.bytes / _ROW_BYTES
        known = sum(file.size for file in self.footers)
        return sum(footer.rows for footer in self.footers.values()) * self.bytes / known if known else 0.0

    @property
    def batches(self) -> int:
        """In how many micro-batches a run reads all files, by the limits that its options set."""
        limits = self.reading.options
        if limits.get("max_files_per_batch") is not None:
            return -(-len(self.files) // int(limits["max_files_per_batch"]))
        most = int(limits.get("max_bytes_per_batch") or MOST_BYTES)
        batches, held = 1, 0
        for file in self.files:
            if held and held + file.size > most:
                batches, held = batches + 1, 0
            held += file.size
        return batches

    def sample(self, names: Sequence[str], share: float, most: int) -> Sample:
        """A sample with the named columns: the share of so many rows that this origin has of its stream's data."""
        own = max(1, int(most * share))
        if self.format == "parquet":
            return self._in_groups(names, own)
        return self._in_excerpts(names, own, int((_SLOW_BYTES if self.format in _SLOW else _BYTES) * share))

    def _in_groups(self, names: Sequence[str], most: int) -> Sample:
        schema = self.reading.schema
        narrow = Schema(tuple((name, schema.type_of(name)) for name in names))
        known = {file: footer for file, footer in self.footers.items() if footer.rows}
        length = _length(most)
        runs: list[pa.Table] = []
        for file, rows in _wanted(known, most, length).items():
            runs += tried(partial(_runs, file, rows, length, narrow)) or []
        moments = [_times(run, schema.time) for run in runs]
        moments += [(footer.earliest, footer.latest) for footer in known.values()]
        return Sample(self.rows, *_ends(moments), 0, tuple(runs))

    def _in_excerpts(self, names: Sequence[str], most: int, budget: int) -> Sample:
        found: list[Excerpt] = []
        for file, wanted in spans(self.files, budget).items():
            found += tried(partial(excerpts, file, wanted, self.format, self.reading, names)) or []
        covered = sum(one.covered for one in found)
        read = sum(one.rows.num_rows for one in found)
        moments = [_times(one.rows, self.reading.schema.time) for one in found]
        first, last = _ends(moments)
        ends = [_prolonged(times, one) for times, one in zip(moments, found, strict=True)]
        beyond = max(0, max(ends, default=0) - last) if last is not None else 0
        length = _length(most)
        runs = [one.rows.slice(start, length) for one in found for start in range(0, one.rows.num_rows, length)]
        kept = _spread(runs, max(1, most * len(runs) // max(most, read)))
        return Sample(read * self.bytes / covered if covered else 0.0, first, last, beyond, tuple(kept))


def place(source: Source, declared: Origin, base: Path) -> Place:
    """What there is to look at in an origin of files; InputErrors where its declaration is wrong."""
    options = checked(declared.format, declared.options)
    weight = ((WEIGHT, BIGINT),) if source.revisions else ()
    schema = Schema((*source.schema.columns, *weight), source.schema.times)
    files = _listed(place_of(declared.path, base), Bounds(base))
    footers: dict[File, Footer] = {}
    if declared.format == "parquet":
        looked = _spread(files, _MOST_FOOTERS)
        told = {file: tried(partial(footer_of, file.path, schema)) for file in looked}
        footers = {file: footer for file, footer in told.items() if footer is not None}
        files = [file for file in files if file in footers or file not in told]
    return Place(str(declared.format), Reading(schema, options), tuple(files), footers)


def _listed(at: Path, bounds: Bounds) -> list[File]:
    """The files that Spark finds at a place: a file, those in a folder, or in all that are like a pattern."""
    root = Path(at.anchor)
    tops = [at] if at.exists() else [top for one in alternatives(str(at.relative_to(root))) for top in root.glob(one)]
    paths = {path for top in tops for path in _inside(top, top=True)}
    sizes = ((path, tried(path.stat)) for path in sorted(paths) if bounds.refusal(path) is None)
    return [File(str(path), found.st_size) for path, found in sizes if found is not None and found.st_size]


def _inside(at: Path, *, top: bool = False) -> Iterator[Path]:
    if not top and at.name.startswith((".", "_")):
        return
    if at.is_file():
        yield at
    elif top or "=" in at.name:  # a folder in a folder is looked into if it stands for a value
        for one in tried(lambda: list(at.iterdir())) or []:
            yield from _inside(one)


def _spread(items: Sequence[T], most: int) -> list[T]:
    """Some of the items, evenly spread, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[(len(items) - 1) * number // max(1, most - 1)] for number in range(most)]


def _length(most: int) -> int:
    """How long the runs are that so many rows are made of."""
    return max(_SHORTEST_RUN, min(_RUN, most // _RUNS))


def _wanted(footers: Mapping[File, Footer], most: int, length: int) -> dict[File, list[int]]:
    """Which rows runs should begin at or before, by file, spread over all rows."""
    total = sum(footer.rows for footer in footers.values())
    if total <= most and len(footers) <= _MOST_PLACES:
        return {file: list(range(footer.rows)[::_SHORTEST_RUN]) for file, footer in footers.items()}
    each = min(length, -(-total // len(footers)))
    many = min(_MOST_PLACES, -(-most // each))
    found: dict[File, list[int]] = {}
    before = taken = 0
    for file, footer in footers.items():
        while taken < many and total * taken // many < before + footer.rows:
            found.setdefault(file, []).append(total * taken // many - before)
            taken += 1
        before += footer.rows
    return found


def _runs(file: File, wanted: Sequence[int], length: int, schema: Schema) -> list[pa.Table]:
    """The runs of a file that some of its rows are in, or runs before those if they are too deep in their group."""
    found = []
    with pq.ParquetFile(file.path, buffer_size=_BUFFER, coerce_int96_timestamp_unit="us") as opened:
        at = by_name(opened.schema_arrow)
        names = [opened.schema_arrow.names[at[name.lower()]] for name in schema.names if name.lower() in at]
        before = 0
        for group in range(opened.num_row_groups):
            rows = opened.metadata.row_group(group).num_rows
            inside = [row - before for row in wanted if before <= row < before + rows]
            kept = {min(row // length, _DEEP * (number + 1)) for number, row in enumerate(inside)}
            batches = opened.iter_batches(length, row_groups=[group], columns=names, use_threads=False)
            for number, batch in zip(range(max(kept, default=-1) + 1), batches, strict=False):
                if number in kept:
                    found.append(fitted(pa.Table.from_batches([batch]), schema))
            before += rows
    return found


Moments = tuple[int | None, int | None]


def _times(rows: pa.Table, time: str | None) -> Moments:
    """The first and the last event time of rows."""
    if time is None:
        return None, None
    ends = pc.min_max(rows[time].cast(pa.int64())).as_py()
    return ends["min"], ends["max"]


def _prolonged(moments: Moments, seen: Excerpt) -> int:
    """When the rows end that are behind others and cannot be got to."""
    first, last = moments
    if first is None or last is None:
        return LOWEST
    return last + int((last - first) * seen.unseen / seen.covered) if seen.covered else last


def _ends(moments: Sequence[Moments]) -> Moments:
    firsts = [first for first, _ in moments if first is not None]
    lasts = [last for _, last in moments if last is not None]
    return min(firsts, default=None), max(lasts, default=None)
