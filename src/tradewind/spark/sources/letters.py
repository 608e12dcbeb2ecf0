"""Dead letters: the records that could not be read, kept aside with where they stood and why."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from tradewind.errors import BadRecordsError
from tradewind.spark.sources.landing import Landed, Task

_LINES = ("json", "csv", "text")
_WHOLE = ("parquet", "orc", "arrow")


class BadRecord(NamedTuple):
    """A record that cannot be read. `offset` is its line or number, counted from 1; 0 stands for the whole file."""

    origin: str
    file: str
    offset: int
    reason: str
    record: str


def bad_files(origin: str, files: Iterable[tuple[Path, str]]) -> list[BadRecord]:
    """Files that cannot be read at all, each with its reason."""
    return [BadRecord(origin, str(file), 0, reason, "") for file, reason in files]


def bad_records(origin: str, tasks: Sequence[Task], landed: Sequence[Landed]) -> Iterator[BadRecord]:
    """The bad records that landing has found in an origin's files, in their order."""
    before: dict[str, int] = {}
    for task, done in zip(tasks, landed, strict=True):
        first = before.get(task.part.file, 0)
        before[task.part.file] = first + done.records
        if not done.bad:
            continue
        with pq.ParquetFile(task.letters) as letters:
            for batch in letters.iter_batches(1000):
                for number, reason, record in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    offset = number if task.format in _WHOLE else first + number + 1
                    yield BadRecord(origin, task.part.file, offset, reason, _shown(record, task.format))


def _shown(record: bytes, format_: str) -> str:
    return base64.b64encode(record).decode() if format_ == "binary" else record.decode("utf-8", "replace")


def refusal(stream: str, format_: str, first: BadRecord, many: int) -> BadRecordsError:
    """That a batch is not taken because of its bad records."""
    kind = "line" if format_ in _LINES else "row" if format_ in _WHOLE else "record"
    place = f"{first.file}, {kind} {first.offset}" if first.offset else first.file
    more = f" It is the first of {many} bad records in this batch." if many > 1 else ""
    return BadRecordsError(
        f"stream {stream!r} at {first.origin!r}: {first.reason}.{more}",
        where=place,
        hint="mend the file, or declare `on_bad: dead_letter` on the stream to keep such records aside and go on.",
    )


def forget_batch(folder: Path, batch: int) -> None:
    """Remove what an earlier attempt at a batch has written, of all streams: files may have been mended since."""
    for stale in folder.glob(f"*/{_name(batch)}"):
        stale.unlink()


def _name(batch: int) -> str:
    return f"batch-{batch:08}.jsonl"


def write_dead_letters(bad: Iterable[BadRecord], folder: Path, batch: int) -> int:
    """Write a batch's bad records of one stream as JSON lines, and say how many. Done again, it is the same file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _name(batch)
    partial = path.with_suffix(".partial")
    many = 0
    with partial.open("w", encoding="utf-8") as file:
        for record in bad:
            file.write(json.dumps(record._asdict(), ensure_ascii=False) + "\n")
            many += 1
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    return many
