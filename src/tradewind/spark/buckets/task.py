"""What a worker does for one bucket: from the rows dealt to it and the state it has to answers and a new state.

Rows come and answers go as Parquet files: for a million rows that takes Spark and Arrow 0.6 s, where handing them to
each other through a shuffle and a pipe takes 1.6 s. A bucket's state lies in Arrow files of the batch that wrote
them; a task reads those of the last commit and writes new ones, so one that is run twice does the same twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tradewind.spark.buckets.arrays import Array, column, sort_words
from tradewind.spark.buckets.operator import WEIGHT, BucketOperator, Moment, State
from tradewind.spark.buckets.sorting import place_order

BUCKET = "_to"


def place_name(number: int) -> str:
    """What a column is called in a file: by its place, since any name may be a user's."""
    return f"c{number}"


@dataclass(frozen=True)
class Dealt:
    """The news of one input, in a folder unless there are none: its columns by place, and the bucket of each row unless
    there is only one.
    """

    folder: str | None
    schema: pa.Schema
    order: tuple[str, ...] = ()
    """The columns in the files that tell in which order rows came, where that matters."""

    def read(self, bucket: int) -> Array:
        """The rows of one bucket; as they arrived, where that is told."""
        files = sorted(Path(self.folder).glob("*.parquet")) if self.folder is not None else []
        tables = [own for file in files if (own := _of_bucket(file, bucket)).num_rows]
        if not tables:
            return self.schema.empty_table()
        found = pa.concat_tables(tables)
        if self.order:
            words = [word for name in self.order for word in sort_words(column(found, name))]
            found = found.take(pa.array(place_order(words)))
        columns = [_column(found, number, field) for number, field in enumerate(self.schema)]
        return pa.Table.from_arrays(columns, schema=self.schema)


def _of_bucket(file: Path, bucket: int) -> Array:
    table = pq.read_table(file, partitioning=None)
    if BUCKET not in table.column_names:
        return table
    return table.filter(pc.equal(table[BUCKET], bucket))


def _column(table: Array, number: int, field: pa.Field) -> Array:
    """A column of a file; weights, and nothing else, are left out where each row counts for one."""
    name = place_name(number)
    if field.name == WEIGHT and name not in table.column_names:
        return pa.repeat(pa.scalar(1, field.type), table.num_rows)
    return table[name].cast(field.type)


@dataclass(frozen=True)
class Task:
    """The work of all buckets in one batch, from the state in the folder `before` to that in `after`."""

    operator: BucketOperator
    news: tuple[Dealt, ...]
    moment: Moment
    before: str | None
    after: str
    answers: str
    finish: Callable[[Array], Array] | None = None

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """From the numbers of buckets to how many rows each answers with."""
        for batch in batches:
            rows = [self._answer(bucket) for bucket in batch.column(0).to_pylist()]
            yield pa.record_batch({"rows": pa.array(rows, pa.int64())})

    def _answer(self, bucket: int) -> int:
        news = [dealt.read(bucket) for dealt in self.news]
        found, state = self.operator.advance(_load(self.before, bucket), news, self.moment)
        _save(state, self.before, self.after, bucket)
        if self.finish is not None:
            found = self.finish(found)
        if found.num_rows:
            _write(found, Path(self.answers), bucket)
        return int(found.num_rows)


def _write(answers: Array, folder: Path, bucket: int) -> None:
    """Columns go by place: a pane's rows may have names that its own columns have too."""
    table = answers.rename_columns([place_name(i) for i in range(answers.num_columns)])
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{bucket}.partial"
    pq.write_table(table, partial, compression="none", use_dictionary=False, store_schema=False)
    partial.replace(folder / f"{bucket}.parquet")


def _load(folder: str | None, bucket: int) -> State:
    if folder is None:
        return {}
    files = sorted((Path(folder) / str(bucket)).glob("*.arrow"))
    return {file.stem: pa.ipc.open_file(pa.memory_map(str(file))).read_all() for file in files}


def _save(state: State, before: str | None, folder: str, bucket: int) -> None:
    place = Path(folder) / str(bucket)
    place.mkdir(parents=True, exist_ok=True)
    for name, table in state.items():
        if "-cold-" in name and before is not None and (old := Path(before) / str(bucket) / f"{name}.arrow").exists():
            # Such a table never changes: it is there already.
            (place / old.name).unlink(missing_ok=True)
            (place / old.name).hardlink_to(old)
            continue
        partial = place / f"{name}.partial"
        with pa.OSFile(str(partial), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        partial.replace(place / f"{name}.arrow")
