"""`key_value`: lines such as `ts=2026-01-02T03:04:05Z status=200 url=/index.html`, in any order of the keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tradewind.algebra.schema import Schema
from tradewind.errors import DataError, InputError
from tradewind.spark.sources.converters.protocol import Converted, only


class KeyValue:
    """Pairs with `separator` between them (a space unless said) and `assign` inside them (`=`).

    Keys that are not declared are passed over. A value may be in double quotes, and may hold anything else then.
    """

    record_bytes: int | None = None

    def __init__(self, options: Mapping[str, Any], schema: Schema) -> None:
        only(options, ("separator", "assign"))
        self._separator = str(options.get("separator", " "))
        self._assign = str(options.get("assign", "="))
        self._schema = schema
        if not self._separator or not self._assign or self._separator == self._assign:
            raise InputError("`separator` and `assign` are two different texts.")

    def convert(self, records: pa.Array) -> Converted:
        """The values of the declared keys, as texts."""
        columns: dict[str, list[str | None]] = {name: [None] * len(records) for name in self._schema.names}
        reasons: list[str | None] = [None] * len(records)
        for place, record in enumerate(records.to_pylist()):
            try:
                for key, value in self._pairs(record):
                    if key in columns:
                        columns[key][place] = value
            except ValueError as error:
                reasons[place] = str(error)
        arrays = [pa.array(column, pa.string()) for column in columns.values()]
        return Converted(pa.table(arrays, names=list(columns)), pa.array(reasons, pa.string()))

    def _pairs(self, record: str) -> list[tuple[str, str]]:
        found = []
        rest = record.strip()
        while rest:
            key, assigned, rest = rest.partition(self._assign)
            if not assigned:
                raise ValueError(f"{key[:60]!r} has no {self._assign!r}")
            if rest.startswith('"'):
                value, closed, rest = rest[1:].partition('"')
                if not closed or (rest and not rest.startswith(self._separator)):
                    raise ValueError(f"the quote after {key[:60]!r} is not closed")
                rest = rest.removeprefix(self._separator)
            else:
                value, _, rest = rest.partition(self._separator)
            found.append((key.strip(), value))
            rest = rest.lstrip() if self._separator.isspace() else rest
        if len({key for key, _ in found}) < len(found):
            raise ValueError("a key stands there twice")
        return found

    def encode(self, table: pa.Table) -> pa.Array:
        """Lines with the keys in the order of the columns, without those whose value is NULL."""
        texts = {name: table[name].cast(pa.string()).to_pylist() for name in table.column_names}
        lines = []
        for place in range(table.num_rows):
            pairs = [(name, column[place]) for name, column in texts.items() if column[place] is not None]
            lines.append(self._separator.join(f"{name}{self._assign}{self._quoted(value)}" for name, value in pairs))
        return pa.array(lines, pa.string())

    def _quoted(self, value: str) -> str:
        if '"' in value or "\n" in value:
            raise DataError(
                f"{value[:60]!r} cannot be written as a key's value.", hint="quotes and line breaks cannot."
            )
        return f'"{value}"' if self._separator in value or not value or value != value.strip() else value
