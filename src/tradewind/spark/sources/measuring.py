"""What planning wants to know of streams, measured from their data where the deployment declares nothing.

Rows per second are rows over the time from the first to the last; distinct counts and skews are estimated from a
sample of all origins together (`estimates`), and weights by packing some rows as channels do. Only columns that some
query reads are looked at. What cannot be measured stays undeclared: nothing here ever fails.

The figures are for planning alone: readers go by what was declared.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tradewind.algebra.durations import format_duration
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Source
from tradewind.algebra.times import HIGHEST, LOWEST
from tradewind.algebra.types import INTEGER_BITS, MICROS, is_fraction, is_integer
from tradewind.cost.declared import DISTINCT
from tradewind.cost.packed import Values, batch_bytes, column_bytes
from tradewind.cost.states import leaves
from tradewind.frontends.deployment.deployment import DeclaredStream, Deployment
from tradewind.rewrites.columns import reads
from tradewind.spark.channels.packing import packed
from tradewind.spark.sources.estimates import spread
from tradewind.spark.sources.options import checked
from tradewind.spark.sources.samples import Place, Sample, place, tried

SAMPLE = 100_000
"""So many rows of a stream are looked at, of all its origins together."""
_FILE = "measured.json"
_COUNTED = ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL", "DATE", "STRING", "BINARY", "FLOAT", "DOUBLE")
"""Types of whose values planning wants to know how many there are."""
_STRAY = 20
"""Times are not trusted if, without the first and the last hundredth of the rows, they reach so many times less far."""
_HEAVY_ENOUGH = 500
"""Shorter runs do not tell how well rows pack."""
_WEIGHED = 8
"""So many runs of an origin are packed."""


@dataclass(slots=True)
class Figures:
    """What was measured of a stream: of each origin rows per second and bytes per row, of columns their number of
    values and their skew, and all that in words.
    """

    rates: dict[str, float] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    distinct: dict[str, int] = field(default_factory=dict)
    skew: dict[str, float] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)


def measured(found: Deployment, base: Path, state: Path | None = None) -> tuple[Deployment, tuple[str, ...]]:
    """The deployment with figures for planning where it declares none, and what was measured, in lines for people.

    Paths are relative to `base`. With a folder for `state` the figures are written down there, and found again by later
    runs that go on from it: a plan must not change under them because data has come since.
    """
    wanted = tried(partial(_wanted, found)) or {}
    key = _key(found, wanted)
    known = None if state is None else tried(partial(_remembered, state, key))
    again = known is not None
    if known is None:
        known = {name: _figures(found.streams[name], name, columns, base) for name, columns in wanted.items()}
        if state is not None:
            _remember(state, key, known)
    streams = {
        name: _filled(stream, known[name]) if name in known else stream for name, stream in found.streams.items()
    }
    lines = [line for figures in known.values() for line in figures.lines]
    if again and lines:
        lines.append("this is what was measured when the run began; --fresh measures again")
    return replace(found, streams=streams), tuple(lines)


def _wanted(found: Deployment) -> dict[str, list[str]]:
    """The columns of each stream that some query reads."""
    graph = found.graph()
    names: dict[Operator, frozenset[str]] = {node: frozenset() for node in graph}
    for _, node in graph.results:
        names[node] = frozenset(node.schema.names)
    streams: dict[str, set[str]] = {}
    for node in reversed(tuple(graph)):
        for child, some in reads(node, names[node]):
            names[child] |= some
        if isinstance(node, Source):
            streams.setdefault(node.stream, set()).update(names[node])
    return {
        name: [column for column in found.streams[name].source.schema.names if column in streams[name]]
        for name in found.streams
        if name in streams
    }


def _filled(stream: DeclaredStream, figures: Figures) -> DeclaredStream:
    origins = {}
    for site, origin in stream.origins.items():
        more = {
            "rows_per_second": figures.rates.get(site) if origin.rows_per_second is None else origin.rows_per_second,
            "row_bytes": figures.weights.get(site) if origin.row_bytes is None else origin.row_bytes,
        }
        origins[site] = origin.model_copy(update=more)
    distinct, skew = figures.distinct | dict(stream.distinct), figures.skew | dict(stream.skew)
    return replace(stream, origins=origins, distinct=distinct, skew=skew)


def _figures(stream: DeclaredStream, name: str, columns: Sequence[str], base: Path) -> Figures:
    """All that can be measured of a stream."""
    figures = Figures()
    kinds = {origin.format for origin in stream.origins.values()}
    for site, origin in stream.origins.items():
        if origin.format == "rate" and origin.rows_per_second is None:
            options = tried(partial(checked, origin.format, origin.options))
            if options is not None:
                figures.rates[site] = float(options["rows_per_second"])
                figures.lines.append(f"{name} at {site}: {_number(figures.rates[site])} rows/s are generated")
    if kinds == {"rate"}:
        figures.distinct.update(_generated(stream, columns))
        return figures
    samples = _samples(stream, columns, base)
    for site, sample in samples.items():
        rate = tried(partial(_rate, sample, stream.source.schema.time))
        if rate is not None:
            figures.rates[site] = rate
    _count(stream, columns, list(samples.values()), figures)
    for site, sample in samples.items():
        weight = tried(partial(_weight, stream, columns, sample, figures))
        if weight is not None:
            figures.weights[site] = weight
    figures.lines += _lines(name, stream, samples, figures)
    return figures


def _generated(stream: DeclaredStream, columns: Iterable[str]) -> dict[str, int]:
    """How many values the generator makes of columns for which nothing is declared."""
    most = {
        column: 2 if type_.name == "BOOLEAN" else 2 ** (INTEGER_BITS[type_] - 1) - 1 if is_integer(type_) else DISTINCT
        for column, type_ in stream.source.schema.columns
        if column in columns and column not in stream.distinct and type_.name in _COUNTED and not is_fraction(type_)
    }
    return {column: int(min(DISTINCT, many)) for column, many in most.items()}


def _samples(stream: DeclaredStream, columns: Sequence[str], base: Path) -> dict[str, Sample]:
    """A sample of each origin that has files with rows in them."""
    found: dict[str, Place] = {}
    for site, origin in stream.origins.items():
        if origin.format is not None and origin.format not in ("rate", "push"):
            seen = tried(partial(place, stream.source, origin, base))
            if seen is not None and seen.files:
                found[site] = seen
    time = stream.source.schema.time
    names = list(dict.fromkeys([*columns, *([time] if time is not None else [])]))
    total = sum(one.rows for one in found.values())
    looked = {site: tried(partial(one.sample, names, one.rows / total, SAMPLE)) for site, one in found.items() if total}
    return {site: sample for site, sample in looked.items() if sample is not None and sample.runs}


def _rate(sample: Sample, time: str | None) -> float | None:
    """Rows per second; None where times do not tell it."""
    first, last = sample.earliest, sample.latest
    if time is None or first is None or last is None or sample.rows < 2:
        return None
    every = pa.concat_tables([run.select([time]) for run in sample.runs])[time]
    moments = np.sort(every.drop_null().cast(pa.int64()).to_numpy())
    cut = max(1, len(moments) // 100) if len(moments) >= 10 else 0
    trusted = int(moments[-1 - cut] - moments[cut]) * _STRAY if len(moments) else 0
    if not LOWEST <= first < last <= HIGHEST or trusted < last - first:
        return None
    return (sample.rows - 1) * MICROS / (last - first)


def _count(stream: DeclaredStream, columns: Sequence[str], samples: Sequence[Sample], figures: Figures) -> None:
    """Note how many values columns have and how skewed they are."""
    rows = sum(sample.rows for sample in samples)
    for column in columns:
        type_ = stream.source.schema.type_of(column)
        known = stream.distinct.get(column)
        if type_.name not in _COUNTED or (known is not None and column in stream.skew) or not rows:
            continue
        runs = [[run[column] for run in sample.runs] for sample in samples]
        found = tried(partial(spread, runs, rows, known))
        if found is None or (is_fraction(type_) and found.values > rows / 2):
            continue  # fractions are taken to differ in every row anyway
        if known is None:
            figures.distinct[column] = math.ceil(found.values)
        if column not in stream.skew and found.skew > 0:
            figures.skew[column] = round(found.skew, 3)


def _weight(stream: DeclaredStream, columns: Sequence[str], sample: Sample, figures: Figures) -> float | None:
    """Bytes per row, packed: as predicted for all columns, times how far the prediction is off for those that are read.

    Columns that nobody reads never travel, and how well they pack is not asked.
    """
    long = [run for run in sample.runs if run.num_rows >= _HEAVY_ENOUGH]
    types = stream.source.schema.columns

    def predicted(names: Iterable[str], rows: float | None = None) -> float:
        each = ((type_, _values(name, stream, figures, rows)) for name, type_ in types if name in names)
        return sum(column_bytes(type_, values) for type_, values in each)

    heads = batch_bytes(sum(leaves(type_) for name, type_ in types if name in columns))
    real = wanted = 0.0
    for run in long[:: max(1, len(long) // _WEIGHED)]:
        batch = run.select(list(columns)).combine_chunks().to_batches()[0]
        real += max(0.0, len(packed(batch)) - heads)
        wanted += batch.num_rows * predicted(columns, batch.num_rows)
    return real / wanted * predicted(stream.source.schema.names) if real > 0 and wanted > 0 else None


def _values(name: str, stream: DeclaredStream, figures: Figures, rows: float | None) -> Values:
    distinct = stream.distinct.get(name, figures.distinct.get(name))
    skew = stream.skew.get(name, figures.skew.get(name, 0.0))
    return Values(distinct, skew) if rows is None else Values(distinct, skew, rows)


def _lines(name: str, stream: DeclaredStream, samples: Mapping[str, Sample], figures: Figures) -> list[str]:
    """What was measured and counts, for people."""
    found = []
    for site, sample in samples.items():
        origin = stream.origins[site]
        said = []
        if site in figures.rates and origin.rows_per_second is None:
            said.append(f"{_number(figures.rates[site])} rows/s over {_span(sample)}")
        if site in figures.weights and origin.row_bytes is None:
            said.append(f"{_number(figures.weights[site])} bytes a row")
        if said:
            found.append(f"{name} at {site}: {', '.join(said)}")
    counted = []
    for column in dict.fromkeys((*figures.distinct, *figures.skew)):
        many = f"{figures.distinct[column]:,} values of {column}" if column in figures.distinct else column
        counted.append(many + (f" (skew {figures.skew[column]:.2g})" if column in figures.skew else ""))
    return [*found, f"{name}: {', '.join(counted)}"] if counted else found


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _span(sample: Sample) -> str:
    micros = (sample.latest or 0) - (sample.earliest or 0)
    unit = next((unit for unit in (86_400, 3_600, 60, 1) if micros >= 3 * unit * MICROS), 1)
    return format_duration(max(1, round(micros / (unit * MICROS))) * unit * MICROS)


def _key(found: Deployment, wanted: Mapping[str, Sequence[str]]) -> str:
    """What figures are of: other queries, or streams that are declared otherwise, have others."""
    streams = {
        name: [
            str(stream.source.schema),
            {site: origin.model_dump() for site, origin in stream.origins.items()},
            dict(stream.distinct),
            dict(stream.skew),
            list(wanted.get(name, ())),
        ]
        for name, stream in found.streams.items()
    }
    return hashlib.sha256(json.dumps(streams, sort_keys=True, default=str).encode()).hexdigest()


def _remembered(state: Path, key: str) -> dict[str, Figures] | None:
    known: dict[str, Any] = json.loads((state / _FILE).read_text(encoding="utf-8"))
    return {name: Figures(**figures) for name, figures in known["streams"].items()} if known["of"] == key else None


def _remember(state: Path, key: str, known: Mapping[str, Figures]) -> None:
    said = json.dumps({"of": key, "streams": {name: asdict(figures) for name, figures in known.items()}})
    with suppress(OSError):  # the run itself will say that its state cannot be written
        state.mkdir(parents=True, exist_ok=True)
        partial_ = (state / _FILE).with_suffix(".partial")
        partial_.write_text(said, encoding="utf-8")
        partial_.replace(state / _FILE)
