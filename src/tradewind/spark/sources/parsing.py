"""What every format's parser is given and gives: rows in the declared columns, and letters for all other records."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DataType
from tradewind.spark.sources.nested import FaultError, Tree, of_texts, of_trees, part_of, text_of
from tradewind.spark.sources.records import SHOWN, Letter, Part
from tradewind.spark.sources.texts import Times, Typed, typed
from tradewind.spark.types import arrow_schema, arrow_type


@dataclass(frozen=True, slots=True)
class Reading:
    """How an origin's files are read: its columns (with `_weight` where rows may be taken back) and its options.

    `careful` keeps away from what is fast but might crash on hostile bytes.
    """

    schema: Schema
    options: Mapping[str, Any]
    columns: tuple[str, ...] = ()
    """The columns of a file with a header, in its order."""
    careful: bool = False
    bounded: bool = True
    """Whether times beyond the years 1 to 9999 make a record bad, as everywhere but in what was delivered here."""

    @property
    def times(self) -> Times:
        """How its texts tell times."""
        return Times(self.options.get("epoch"), self.bounded)


class Found(NamedTuple):
    """The rows of some records, the records that are bad, and how many records there were in all."""

    table: pa.Table
    letters: Sequence[Letter]
    records: int


Parser = Callable[[Part, Reading], Iterator[Found]]


class Rows:
    """Rows made of texts or trees, some of which may turn out to be no values; then their record is bad."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self.faults: dict[int, str] = {}
        """Why a row is bad, by its place."""

    def table(self, columns: Mapping[str, pa.Array], length: int, done: Collection[str] = ()) -> pa.Table:
        """The good rows of columns of texts. Those that are not given are NULL; other arrays, and those that are done,
        are values already.
        """
        times = self._reading.times
        arrays = []
        for name, type_ in self._reading.schema.columns:
            array = columns.get(name)
            if array is None:
                array = pa.nulls(length, arrow_type(type_))
            elif name not in done and array.type in (pa.string(), pa.binary()):
                texts = array
                array, bad = of_texts(texts, type_, times)
                self._blame(name, type_, [(place, texts[place].as_py()) for place in bad])
            arrays.append(array)
        return self._good(arrays, length)

    def of_trees(self, objects: Sequence[Mapping[str, Tree]]) -> pa.Table:
        """The good rows of objects, whose fields are columns."""
        times = self._reading.times
        arrays = []
        for name, type_ in self._reading.schema.columns:
            trees = [self._part(place, fields, name) for place, fields in enumerate(objects)]
            array, bad = self._of_column(trees, type_, times)
            self._blame(name, type_, [(place, trees[place]) for place in bad])
            arrays.append(array)
        return self._good(arrays, len(objects))

    def _part(self, place: int, fields: Mapping[str, Tree], name: str) -> Tree:
        try:
            return part_of(fields, name)
        except FaultError as error:
            self.faults.setdefault(place, str(error))
            return None

    def _of_column(self, trees: list[Tree], type_: DataType, times: Times) -> Typed:
        if type_.fields:
            return of_trees(trees, type_, times)
        wrong = []
        texts: list[str | None] = []
        for place, tree in enumerate(trees):
            try:
                texts.append(text_of(tree))
            except FaultError:
                texts.append(None)
                wrong.append(place)
        array, bad = typed(pa.array(texts, pa.string()), type_, times)
        return array, [*wrong, *bad]

    def _blame(self, name: str, type_: DataType, wrong: Iterable[tuple[int, Tree]]) -> None:
        for place, value in wrong:
            self.faults.setdefault(place, _reason(name, value, type_))

    def _good(self, arrays: list[pa.Array], length: int) -> pa.Table:
        table = pa.table(arrays, schema=arrow_schema(self._reading.schema))
        if not self.faults:
            return table
        return table.filter(pa.array([place not in self.faults for place in range(length)]))


def _reason(name: str, value: Tree, type_: DataType) -> str:
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            return f"column {name}: not valid UTF-8"
    plain = value if isinstance(value, str) else json.dumps(value)
    shown = repr(plain.encode("utf-8", "replace").decode())
    return f"column {name}: {shown if len(shown) <= 60 else shown[:57] + '…'} is no {type_}"


def letters_of(faults: Mapping[int, str], records: Sequence[bytes], numbers: Sequence[int] | range) -> list[Letter]:
    """Letters for the records at the places of the faults."""
    return [Letter(numbers[place], faults[place], records[place][:SHOWN]) for place in sorted(faults)]
