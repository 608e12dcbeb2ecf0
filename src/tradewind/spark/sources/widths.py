"""How many bytes the values of each column take, packed as channels pack them: as rows come, and where each is new."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tradewind.algebra.schema import Schema
from tradewind.spark.packing import width
from tradewind.spark.sources.samples import Sample

LONG = 300
"""Shorter runs do not tell how well rows pack."""
_WEIGHED = 8
"""About so many runs of an origin are packed."""
_FRESH = 4096
"""So many different values of a column are packed, at most."""


def runs_to_pack(sample: Sample) -> list[pa.Table]:
    """Some runs of a sample that are long enough to tell how well rows pack."""
    long = [run for run in sample.runs if run.num_rows >= LONG]
    return long[:: max(1, len(long) // _WEIGHED)]


def widths(schema: Schema, columns: Sequence[str], sample: Sample) -> dict[str, tuple[float, float]]:
    """For each column that is read, and that of event time, the bytes of a row and of a value that is new."""
    runs = runs_to_pack(sample)
    names = dict.fromkeys([*columns, *([] if schema.time is None else [schema.time])])
    found = {}
    for name in names if runs else ():
        arrays = [run[name].combine_chunks() for run in runs]
        packed = sum(width(array) for array in arrays) / sum(len(array) for array in arrays)
        found[name] = packed, _fresh(pa.chunked_array(arrays), packed)
    return found


def _fresh(values: pa.ChunkedArray, packed: float) -> float:
    """The bytes of a value of a column without repetitions; at least what it takes with them."""
    if pa.types.is_nested(values.type):
        return packed
    different = pc.unique(values)[:_FRESH]
    return max(packed, width(different) / len(different)) if len(different) else packed
