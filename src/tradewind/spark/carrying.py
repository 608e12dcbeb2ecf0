"""Answers that only leave rows or columns out: Spark says which rows are in them, and the pushed files give the rest.

Nothing in such an answer is new, so its values need not travel from files to Spark's rows and from there to Arrow,
which is most of what a pull costs. What Spark tells is a bit for each row of a file, 64 of them in a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import ConnectionPoint, Filter, Map, Source, Union
from tradewind.algebra.operators.derived import Derived
from tradewind.spark.columns import ARRIVAL
from tradewind.spark.sources.nested import normalised
from tradewind.spark.sources.push import Kept, file_of
from tradewind.spark.types import arrow_schema

_ORIGIN, _FILE_TIME, _FILE, _PLACE = ARRIVAL

Names = Mapping[str, tuple[str, ...]]
"""By stream, the columns that an answer's columns are, in order."""


def carried(node: Operator) -> Names | None:
    """Which columns of its streams those of an answer are; None where one is made anew or rows may be there twice."""
    match node:
        case Derived():
            return carried(node.expand())
        case Source():
            return {node.stream: node.schema.names} if node.append_only else None
        case Filter() | ConnectionPoint():
            return carried(node.input)
        case Map():
            return _renamed(node)
        case Union():
            return _united([carried(member) for member in node.members])
    return None


def _renamed(node: Map) -> Names | None:
    found = carried(node.input)
    taken = [expression.name for _, expression in node.columns if isinstance(expression, Column)]
    if found is None or len(taken) < len(node.columns):
        return None
    places = [node.input.schema.names.index(name) for name in taken]
    return {stream: tuple(names[place] for place in places) for stream, names in found.items()}


def _united(members: Sequence[Names | None]) -> Names | None:
    found: dict[str, tuple[str, ...]] = {}
    for member in members:
        if member is None or found.keys() & member.keys():
            return None
        found.update(member)
    return found


class Origin(NamedTuple):
    """The stream of an origin, and the folder that its pushed rows are in."""

    stream: str
    folder: Path


@dataclass(frozen=True, slots=True)
class Carrier:
    """Takes the rows of answers from the pushed files of a run, whose origins are known by their numbers; where there
    are none, it carries nothing.
    """

    origins: Mapping[int, Origin] = field(default_factory=dict)
    kept: Kept = field(default_factory=Kept)
    _last: dict[Path, int] = field(default_factory=dict)
    """Of each folder, the file that was last asked for in a batch."""

    def carries(self, node: Operator) -> bool:
        """Whether all rows of an answer, and all that is in them, have been pushed."""
        found = carried(node)
        return found is not None and found.keys() <= {one.stream for one in self.origins.values()}

    def brought(self, node: Operator, news: DataFrame) -> pa.Table | None:
        """What is new in an answer, in the order in which it was pushed; None where that must be asked of Spark."""
        names = carried(node) if self.carries(node) else None
        if names is None or _FILE_TIME not in news.columns or _FILE in news.columns:
            return None
        tables = [arrow_schema(node.schema).empty_table()]
        for (number, time), words in sorted(_words(news).items()):
            origin = self.origins[number]
            columns = self._columns(file_of(origin.folder, time), names[origin.stream], words)
            tables.append(pa.table(columns, schema=tables[0].schema))
            self._last[origin.folder] = max(time, self._last.get(origin.folder, 0))
        return pa.concat_tables(tables)

    def done(self) -> None:
        """What was brought, and came before that, will not be asked for again."""
        while self._last:
            self.kept.forget(file_of(*self._last.popitem()))

    def _columns(self, file: Path, names: Sequence[str], words: pa.Table) -> list[pa.ChunkedArray]:
        """Some columns of the rows of a file whose bits are set."""
        table = self.kept.get(file)
        if table is None:
            table = _read(file, names)
        mask = _mask(words, table.num_rows)
        chosen = table.select(list(dict.fromkeys(names)))
        if mask.true_count < table.num_rows:
            chosen = chosen.filter(mask)
        return [_normal(chosen[name]) for name in names]


def _words(news: DataFrame) -> dict[tuple[int, int], pa.Table]:
    """Numbers whose bits say which rows there are, by origin and file."""
    bits = news.selectExpr(
        _ORIGIN, _FILE_TIME, f"{_PLACE} >> 6 AS word", f"shiftleft(1L, CAST({_PLACE} & 63 AS INT)) AS bits"
    )
    found = bits.groupBy(_ORIGIN, _FILE_TIME, "word").agg({"bits": "bit_or"}).toArrow()
    keys = found.group_by([_ORIGIN, _FILE_TIME]).aggregate([]).to_pylist()
    return {
        (key[_ORIGIN], key[_FILE_TIME]): found.filter(
            (pc.field(_ORIGIN) == key[_ORIGIN]) & (pc.field(_FILE_TIME) == key[_FILE_TIME])
        )
        for key in keys
    }


def _read(file: Path, names: Sequence[str]) -> pa.Table:
    with pq.ParquetFile(file, memory_map=True) as opened:
        # A dot would be taken for the way to a part of a struct.
        return opened.read(columns=None if any("." in name for name in names) else list(dict.fromkeys(names)))


def _mask(words: pa.Table, size: int) -> pa.Array:
    """Numbers as the bits that they are: one for each row of a file."""
    bits = np.zeros(-(-size // 64), np.int64)
    bits[words["word"].to_numpy()] = words["bit_or(bits)"].to_numpy()
    return pa.Array.from_buffers(pa.bool_(), size, [None, pa.py_buffer(bits)])


def _normal(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column as Spark would have read it: with one zero."""
    return pa.chunked_array([normalised(chunk) for chunk in column.chunks], type=column.type)
