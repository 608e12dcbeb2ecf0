"""Excerpts of files that must be parsed to be known: a few bytes here and there, however long the files are.

The places are spread evenly over all bytes of an origin, first and last included. Where a file can only be read from
its beginning (it is compressed, or a record cannot be told from the middle of another), its beginning is all that is
looked at. An excerpt is copied to a file of its own and parsed there as all files are, by what is slow and never
crashes: this happens in the process that runs everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pyarrow as pa

from tradewind.algebra.schema import Schema
from tradewind.spark.sources.columnar import fitted
from tradewind.spark.sources.converted import converter_of
from tradewind.spark.sources.csv_records import header_of
from tradewind.spark.sources.landing import PARSERS
from tradewind.spark.sources.parsing import Reading
from tradewind.spark.sources.records import COMPRESSED, Part, suffix_of

_PLACES = 8
"""An origin is looked at in so many places at least,"""
_MOST_PLACES = 256
"""and in so many at most,"""
_SHORTEST = 4 << 10
_LONGEST = 128 << 10
"""in pieces of so many bytes."""
_LARGE = 64 << 20
"""Arrow's batches of more bytes are not looked at, nor is more than that unpacked."""
_BY_NAME = ("json", "xml")
"""Formats in which each record names its columns, so that only some of them need be converted."""


class File(NamedTuple):
    """A file and its length in bytes."""

    path: str
    size: int


class Span(NamedTuple):
    """Bytes of a file, from one place up to another."""

    start: int
    end: int


class Excerpt(NamedTuple):
    """Rows that follow one another in a file, how many of its bytes hold them, and how many bytes behind them are not
    looked at because there is no getting there.
    """

    rows: pa.Table
    covered: float
    unseen: float = 0.0


def spans(files: Sequence[File], budget: int) -> dict[File, list[Span]]:
    """Where to look: stretches of files, spread over all bytes, about as long as the budget together."""
    total = sum(file.size for file in files)
    if total <= max(budget, _PLACES * _SHORTEST) and len(files) <= _MOST_PLACES:
        return {file: [Span(0, file.size)] for file in files}
    piece = max(_SHORTEST, min(_LONGEST, budget // _PLACES))
    many = max(_PLACES, min(_MOST_PLACES, budget // min(piece, -(-total // len(files)))))
    places = [(total - 1) * number // (many - 1) for number in range(many)]
    found: dict[File, list[Span]] = {}
    before = taken = 0
    for file in files:
        while taken < many and places[taken] < before + file.size:
            start = min(places[taken] - before, max(0, file.size - piece))
            _add(found.setdefault(file, []), Span(start, min(start + piece, file.size)))
            taken += 1
        before += file.size
    return found


def _add(known: list[Span], span: Span) -> None:
    """One more stretch behind the others; those that touch are one."""
    if known and span.start <= known[-1].end:
        span = Span(known.pop().start, span.end)
    known.append(span)


def excerpts(file: File, wanted: Sequence[Span], format_: str, reading: Reading, names: Sequence[str]) -> list[Excerpt]:
    """Rows of a file, with the named columns, from some places in it."""
    narrow = Schema(tuple((name, reading.schema.type_of(name)) for name in names))
    if format_ == "arrow":
        return [_arrow(file, sum(span.end - span.start for span in wanted), narrow)]
    reading = replace(reading, schema=narrow if format_ in _BY_NAME else reading.schema, careful=True)
    found = []
    with TemporaryDirectory(prefix="tradewind-") as folder:
        path = Path(folder) / "excerpt"
        for data, covered, unseen in _cuts(file, wanted, format_, reading):
            path.write_bytes(_readable(data) if format_ == "csv" else data)
            own = reading
            if reading.options.get("header"):
                own = replace(reading, columns=header_of(str(path), reading))
            tables = [parsed.table for parsed in PARSERS[format_](Part(str(path)), own)]
            found.append(Excerpt(pa.concat_tables(tables).select(list(names)), covered, unseen))
    return found


def _cuts(file: File, wanted: Sequence[Span], format_: str, reading: Reading) -> Iterator[tuple[bytes, float, float]]:
    """Whole records as they are to be parsed, how many bytes of the file they cover, and how many remain unseen."""
    compressed = COMPRESSED.get(suffix_of(file.path))
    size = converter_of(reading).record_bytes if format_ == "binary" else None
    if compressed or format_ == "xml" or reading.options.get("multi_line"):
        length = sum(span.end - span.start for span in wanted)
        data, covered = _beginning(file, length, compressed)
        # The rest of an XML row that is cut off is one more bad record.
        whole = data if format_ == "xml" or covered == file.size else _records(data, size)
        yield whole, covered, file.size - covered
        return
    with Path(file.path).open("rb") as stream:
        head = stream.readline(_LONGEST) if reading.options.get("header") else b""
        for span in wanted:
            start = span.start if size is None else span.start // size * size
            stream.seek(start)
            data = stream.read(span.end - start)
            if start and size is None:
                data = data[data.find(b"\n") + 1 or len(data) :]
            data = data if span.end == file.size else _records(data, size)
            yield (head if start else b"") + data, len(data), 0.0


def _records(data: bytes, size: int | None) -> bytes:
    """The bytes without what was begun at their end: a line, or a record of one size."""
    return data[: data.rfind(b"\n") + 1 if size is None else len(data) // size * size]


def _readable(data: bytes) -> bytes:
    """The lines that are UTF-8: of others, if they have too few or too many fields, Arrow complains to the screen."""
    return b"".join(line for line in data.splitlines(keepends=True) if _is_text(line))


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _beginning(file: File, length: int, compressed: str | None) -> tuple[bytes, float]:
    """So many bytes from a file's beginning, unpacked, and how many of its own bytes they are."""
    with pa.OSFile(file.path) as raw:
        if compressed is None:
            data = raw.read(length)
            return data, float(len(data))
        stream = pa.CompressedInputStream(raw, compressed)
        data = stream.read(length)
        # It is read in chunks; what else has been read must be unpacked too to know what part of it this is.
        reached, unpacked = raw.tell(), len(data)
        while raw.tell() == reached and unpacked < _LARGE and (more := stream.read(_SHORTEST)):
            unpacked += len(more)
        return data, min(reached, file.size) * len(data) / max(1, unpacked)


def _arrow(file: File, length: int, schema: Schema) -> Excerpt:
    with pa.OSFile(file.path) as source:
        if source.read(6) == b"ARROW1":
            opened = pa.ipc.open_file(source)
            each = file.size / max(1, opened.num_record_batches)
            many = min(opened.num_record_batches, 1 + int(length / each)) if each <= _LARGE else 0
            batches = [opened.get_batch(number) for number in range(many)]
            covered = many * each
        else:
            source.seek(0)
            batches = []
            for batch in pa.ipc.open_stream(source):
                batches.append(batch)
                if source.tell() >= length:
                    break
            covered = float(source.tell())
    for batch in batches:
        batch.validate(full=True)  # a damaged one may point anywhere
    tables = [fitted(pa.Table.from_batches([batch]), schema) for batch in batches]
    return Excerpt(pa.concat_tables(tables), covered, file.size - covered)
