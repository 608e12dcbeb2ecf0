"""Rows that come as objects, from another process: JSON's values become those of a stream's columns."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BIGINT
from tradewind.errors import DataError
from tradewind.spark.columns import WEIGHT
from tradewind.spark.sources.nested import read_json
from tradewind.spark.sources.parsing import Reading, Rows


def table_of(schema: Schema, rows: Any, *, revisions: bool = False) -> pa.Table:
    """Objects as rows; a `DataError` names the first that does not fit, and then none is taken."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError("rows are a list of objects.", hint=f"the stream's columns: {schema}.")
    known = {*schema.names, *([WEIGHT] if revisions else ())}
    for place, row in enumerate(rows):
        strange = next((name for name in row if name not in known), None)
        if strange is not None:
            raise DataError(f"row {place} has a column {strange!r}.", hint=f"the stream's columns: {schema}.")
    if revisions:
        rows = [{WEIGHT: 1, **row} for row in rows]
        schema = Schema((*schema.columns, (WEIGHT, BIGINT)))
    reading = Rows(Reading(schema, {}))
    table = reading.of_trees([read_json(json.dumps(row).encode()) for row in rows])
    for place, reason in sorted(reading.faults.items()):
        raise DataError(f"row {place}: {reason}.", hint=f"the stream's columns: {schema}.")
    return table
