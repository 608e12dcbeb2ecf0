"""An application's folder: its deployment file, and the rows of its streams in Parquet files where that file says."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.deployment.file import deployment
from tradewind.spark.types import to_arrow

_SECOND = 1_000_000
_LARGEST_SCALE = 100


def lay_out(name: str, folder: Path) -> Deployment:
    """Put an application's deployment file into a folder, to which its paths are then relative, and read it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes((files("tradewind.apps") / name).read_bytes())
    return deployment(path)


def write_rows(
    found: Deployment,
    stream: str,
    origin: str,
    columns: Mapping[str, NDArray[Any]],
    *,
    draw: np.random.Generator,
    cuts: Sequence[int],
) -> int:
    """Write the rows of one origin into one file for each stretch of time between `cuts`; say how many there are.

    Rows come a little out of order, but none so late that it would be behind the mark of its origin.
    """
    declared = found.streams[stream]
    schema = declared.source.schema
    times = columns[str(schema.time)]
    arrival = times + draw.integers(0, max(1, declared.source.late_by), len(times))
    order = np.argsort(arrival, kind="stable")
    table = pa.table({name: _arrow(columns[name][order], name == schema.time) for name in schema.names})
    target = Path(found.name).parent / str(declared.origins[origin].path)
    _make_empty(target)
    ends = [*np.searchsorted(arrival[order], cuts[1:-1]).tolist(), len(order)]
    for number, (first, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        if end > first:
            path = target / f"part-{number:04}.parquet"
            pq.write_table(table.slice(first, end - first), path)
            # Who reads a folder as a stream takes its files by the time of their last change.
            os.utime(path, (cuts[number + 1] / _SECOND,) * 2)
    return len(order)


def write_as_they_are(
    found: Deployment, stream: str, origin: str, rows: Sequence[tuple[Any, ...]], *, parts: int
) -> None:
    """Write the rows of one origin, in the order they are given, into so many files."""
    declared = found.streams[stream]
    table = to_arrow(rows, declared.source.schema)
    target = Path(found.name).parent / str(declared.origins[origin].path)
    _make_empty(target)
    size = -(-len(rows) // parts)
    for number, first in enumerate(range(0, len(rows), size)):
        path = target / f"part-{number:04}.parquet"
        pq.write_table(table.slice(first, size), path)
        os.utime(path, (number + 1,) * 2)


def cuts_between(start: int, stop: int, parts: int) -> list[int]:
    """The bounds of so many equal stretches of time."""
    return [start + (stop - start) * number // parts for number in range(parts + 1)]


def scaled(full: int, scale: float, least: int) -> int:
    """So many of the full number as the scale says, but not fewer than the least that makes sense."""
    if not 0 < scale <= _LARGEST_SCALE:
        what = f"the scale must be above 0 and at most {_LARGEST_SCALE}, not {scale}."
        raise InputError(what, hint="1 is full size, 0.1 a tenth of it.")
    return max(least, round(full * scale))


def _arrow(values: NDArray[Any], is_time: bool) -> Any:
    return pa.array(values).cast(pa.timestamp("us", tz="UTC")) if is_time else pa.array(values)


def _make_empty(target: Path) -> None:
    """Rows of an older run beside new ones would be read as if they belonged together."""
    target.mkdir(parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise InputError("there are files already.", where=str(target), hint="give an empty folder.")
