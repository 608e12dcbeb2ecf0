"""Files that Spark cannot read as they should be read are turned into Parquet first, once, by Spark's Python workers.

Each task reads some files, or parts of one, and writes the rows beside the bad records; what it says of them makes a
second look at the rows unnecessary. From there on such an origin is like any other Parquet folder to Catalyst, and
nothing has to be kept in memory or parsed twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tradewind.spark.columns import WEIGHT
from tradewind.spark.sources.columnar import parse_arrow, parse_orc, parse_parquet
from tradewind.spark.sources.converted import parse_binary, parse_text
from tradewind.spark.sources.csv_records import parse as parse_csv
from tradewind.spark.sources.json_lines import parse as parse_json
from tradewind.spark.sources.parsing import Found, Parser, Reading
from tradewind.spark.sources.records import Letter, Part
from tradewind.spark.sources.xml_rows import parse as parse_xml
from tradewind.spark.types import arrow_schema

PARSERS: dict[str, Parser] = {
    "parquet": parse_parquet, "orc": parse_orc, "arrow": parse_arrow, "json": parse_json, "csv": parse_csv,
    "xml": parse_xml, "text": parse_text, "binary": parse_binary,
}  # fmt: skip
SPLIT = 64 << 20
"""Files of lines longer than this are read by several tasks."""

_CRASHED = "Python worker exited unexpectedly"
_LETTERS = pa.schema([("number", pa.int64()), ("reason", pa.string()), ("record", pa.binary())])


@dataclass(frozen=True, slots=True)
class Task:
    """A part of a file to be landed: its format, how it is read, and where its rows and letters go.

    Rows of an origin that are landed together go to one file, unless `ordered` wants them in a file named after the
    task. Rows before `mark` are late, and those before `bound` too late to count.
    """

    part: Part
    format: str
    reading: Reading
    folder: str
    name: str
    ordered: bool = False
    mark: float = -math.inf
    bound: float = -math.inf

    def rows(self, together: int) -> str:
        """The file for its rows, if it is done with the tasks of a bin."""
        return f"{self.folder}/rows/{self.name if self.ordered else f'bin-{together}'}.parquet"

    @property
    def letters(self) -> str:
        """The file for its letters."""
        return f"{self.folder}/letters/{self.name}.parquet"


class Landed(NamedTuple):
    """What became of a task. Without rows, or without letters, there is no such file."""

    task: int
    rows: int
    bad: int
    records: int
    late: int
    dropped: int
    earliest: int | None
    latest: int | None


_RESULT = (
    "task BIGINT, rows BIGINT, bad BIGINT, records BIGINT, late BIGINT, dropped BIGINT, earliest BIGINT, latest BIGINT"
)


def land(spark: SparkSession, tasks: Sequence[Task]) -> list[Landed]:
    """Do all tasks, in one Spark job, and tell what became of each, in order."""
    if not tasks:
        return []
    bins = _balanced(tasks, 2 * spark.sparkContext.defaultParallelism)
    try:
        return _run(spark, tasks, bins)
    except (PySparkException, Py4JJavaError) as error:
        if _CRASHED not in str(error):
            raise
    # Bytes that bring a fast parser down are met by one that is only slow.
    careful = [replace(task, reading=replace(task.reading, careful=True)) for task in tasks]
    return _run(spark, careful, bins)


def _balanced(tasks: Sequence[Task], most: int) -> list[list[int]]:
    """The numbers of the tasks in as many bins as there should be Spark tasks, each with about as many bytes."""
    sizes = [_size(task.part) for task in tasks]
    bins: list[list[int]] = [[] for _ in range(min(most, len(tasks)))]
    loads = [0] * len(bins)
    for number in sorted(range(len(tasks)), key=lambda n: -sizes[n]):
        least = loads.index(min(loads))
        bins[least].append(number)
        loads[least] += sizes[number] + 1
    return bins


def _size(part: Part) -> int:
    return Path(part.file).stat().st_size if part.end is None else part.end - part.start


def _run(spark: SparkSession, tasks: Sequence[Task], bins: Sequence[Sequence[int]]) -> list[Landed]:
    given = [[(number, tasks[number]) for number in one] for one in bins]
    found = spark.range(0, len(bins), 1, len(bins)).mapInArrow(_worker(given), _RESULT).collect()
    return sorted(Landed(*row) for row in found)


def _worker(
    given: Sequence[Sequence[tuple[int, Task]]],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch.column(0).to_pylist():
                done = _land_together(place, given[place])
                arrays = [pa.array(values, pa.int64()) for values in zip(*done, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, names=list(Landed._fields))

    return work


def _land_together(place: int, given: Sequence[tuple[int, Task]]) -> list[Landed]:
    """Do the tasks of a bin; what they wrote is there once all are done."""
    outputs: dict[str, _Output] = {}
    done = []
    with ExitStack() as opened:
        for number, task in given:
            path = task.rows(place)
            if path not in outputs:
                outputs[path] = opened.enter_context(_Output(path, arrow_schema(task.reading.schema)))
            done.append(_land(number, task, outputs[path]))
    return done


def _land(number: int, task: Task, rows: _Output) -> Landed:
    """Read a part to its end and write what is found."""
    sums = Landed(number, 0, 0, 0, 0, 0, None, None)
    with _Output(task.letters, _LETTERS) as letters:
        for found in PARSERS[task.format](task.part, task.reading):
            table = _weighted(found.table)
            rows.write(table)
            letters.write(_letters(found.letters))
            sums = _added(sums, found._replace(table=table), task)
    return sums


def _weighted(table: pa.Table) -> pa.Table:
    """Rows without a weight count once."""
    if WEIGHT not in table.column_names:
        return table
    place = table.column_names.index(WEIGHT)
    return table.set_column(place, WEIGHT, pc.fill_null(table[WEIGHT], 1))


def _letters(found: Sequence[Letter]) -> pa.Table:
    ordered = sorted(found, key=lambda letter: letter.number)
    return pa.table([list(part) for part in zip(*ordered, strict=True)] or [[], [], []], schema=_LETTERS)


def _added(sums: Landed, found: Found, task: Task) -> Landed:
    time = task.reading.schema.time
    first = last = None
    late = dropped = 0
    if time is not None and found.table.num_rows:
        moments = found.table[time].cast(pa.int64())
        first, last = pc.min_max(moments).as_py().values()
        if first is not None and first < task.mark:
            late, dropped = _before(moments, task.mark), _before(moments, task.bound)
    return Landed(
        sums.task,
        sums.rows + found.table.num_rows,
        sums.bad + len(found.letters),
        sums.records + found.records,
        sums.late + late,
        sums.dropped + dropped,
        min((known for known in (sums.earliest, first) if known is not None), default=None),
        max((known for known in (sums.latest, last) if known is not None), default=None),
    )


def _before(moments: pa.ChunkedArray, bound: float) -> int:
    if math.isinf(bound):
        return len(moments) - moments.null_count if bound > 0 else 0
    return int(pc.sum(pc.less(moments, int(bound))).as_py() or 0)


class _Output:
    """A Parquet file that is there whole or not at all, and not if it has no rows."""

    def __init__(self, path: str, schema: pa.Schema) -> None:
        self._path = Path(path)
        self._partial = self._path.with_suffix(".partial")
        self._schema = schema
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> Self:
        return self

    def write(self, table: pa.Table) -> None:
        """Add rows."""
        if not table.num_rows:
            return
        if self._writer is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(self._partial, self._schema, compression="none", use_dictionary=False)
        self._writer.write_table(table)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._writer is None:
            return
        self._writer.close()
        if kind is None:
            self._partial.replace(self._path)
        else:
            self._partial.unlink()
