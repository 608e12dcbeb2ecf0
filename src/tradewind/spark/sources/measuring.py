"""What planning wants to know of streams, measured from their data where the deployment declares nothing.

Rows per second are rows over the time from the first to the last; distinct counts and skews are estimated from a sample
of all origins together (`estimates`), and weights by packing some rows as channels do. Only columns that some query
reads are looked at. What cannot be measured stays undeclared: nothing here ever fails.

A run that ends when all that is there has been read reads it as fast as it can, in micro-batches as long as files and
limits make them, and not as often as rows came once. So it is also told in how many (`finite`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Source
from tradewind.algebra.times import HIGHEST, LOWEST
from tradewind.algebra.types import INTEGER_BITS, MICROS, DataType, is_fraction, is_integer
from tradewind.cost.declared import DISTINCT
from tradewind.cost.packed import Values, column_bytes
from tradewind.frontends.deployment.deployment import DeclaredStream, Deployment
from tradewind.frontends.deployment.formats import checked
from tradewind.rewrites.columns import reads
from tradewind.spark.packing import weight
from tradewind.spark.sources.estimates import spread
from tradewind.spark.sources.figures import Figures, key_of, remember, remembered
from tradewind.spark.sources.finite import Look, finite
from tradewind.spark.sources.samples import LOOKED_AT, Place, Sample, place, tried
from tradewind.spark.sources.widths import runs_to_pack, widths

SAMPLE = 100_000
"""So many rows of a stream are looked at, of all its origins together."""
_COUNTED = ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL", "DATE", "STRING", "BINARY", "FLOAT", "DOUBLE")
"""Types of whose values planning wants to know how many there are."""
_STRAY = 20
"""Times are not trusted if, but for the first and the last hundredth of the rows, they reach so many times less far."""


def measured(
    found: Deployment, base: Path, state: Path | None = None, *, until_done: bool = False
) -> tuple[Deployment, tuple[str, ...]]:
    """The deployment with figures where it declares none, and lines for people that say what was measured. With
    `until_done` they are those of a run that ends when all that is there has been read.

    It is for planning alone: rows are read as was declared. Paths are relative to `base`. With a folder for `state` the
    figures are written down there, and found again by later runs that go on from it: what runs where must not change
    because data has come since.
    """
    wanted = tried(partial(_wanted, found)) or {}
    key = key_of(found, wanted)
    known = None if state is None else tried(partial(remembered, state, key))
    if known is None:
        looks = {
            name: _look(found.streams[name], columns, base, until_done=until_done) for name, columns in wanted.items()
        }
        if until_done:
            finite({name: (found.streams[name], look) for name, look in looks.items()})
        known = {name: look.figures for name, look in looks.items()}
        if state is not None:
            remember(state, key, known)
    streams = {name: known[name].fill(stream) if name in known else stream for name, stream in found.streams.items()}
    return replace(found, streams=streams), tuple(line for name in known for line in known[name].lines(name))


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
        name: [column for column in stream.source.schema.names if column in streams[name]]
        for name, stream in found.streams.items()
        if name in streams
    }


def _look(stream: DeclaredStream, columns: Sequence[str], base: Path, *, until_done: bool) -> Look:
    """All that is not declared of a stream and can be measured."""
    look = Look()
    figures = look.figures
    for site, origin in stream.origins.items():
        options = tried(partial(checked, origin.format, origin.options)) if origin.format == "rate" else None
        if options is not None:
            if origin.rows_per_second is None:
                figures.rates[site] = float(options["rows_per_second"])
            look.generated(site, options)
    counted = [name for name in columns if _counts(stream.source.schema.type_of(name))]
    if all(origin.format == "rate" for origin in stream.origins.values()):
        figures.distinct |= _generated(stream, counted)
        return look
    if _complete(stream, counted) and not until_done:
        return look
    places = _places(stream, base)
    samples = _samples(stream, columns, places)
    for site, sample in samples.items():
        span = tried(partial(_span, sample, stream.source.schema.time))
        look.sampled(site, sample, places[site].batches, stream.source.schema.time, span)
        if span is not None and stream.origins[site].rows_per_second is None:
            figures.rates[site], figures.spans[site] = (sample.rows - 1) * MICROS / span, span
    _count(stream, counted, list(samples.values()), figures)
    for site, sample in samples.items():
        if stream.origins[site].row_bytes is None:
            weight = tried(partial(_weight, stream, columns, sample, figures))
            figures.weights |= {} if weight is None else {site: weight}
            figures.widths[site] = tried(partial(widths, stream.source.schema, columns, sample)) or {}
    return look


def _counts(type_: DataType) -> bool:
    return type_.name in _COUNTED


def _complete(stream: DeclaredStream, counted: Iterable[str]) -> bool:
    """Whether nothing is left to measure."""
    known = all(one.rows_per_second is not None and one.row_bytes is not None for one in stream.origins.values())
    return known and all(name in stream.distinct and name in stream.skew for name in counted)


def _generated(stream: DeclaredStream, counted: Iterable[str]) -> dict[str, int]:
    """How many values the generator makes of columns of which nothing is declared; fractions all differ."""
    types = {name: stream.source.schema.type_of(name) for name in counted if name not in stream.distinct}
    return {name: int(min(DISTINCT, _most(type_))) for name, type_ in types.items() if not is_fraction(type_)}


def _most(type_: DataType) -> float:
    if type_.name == "BOOLEAN":
        return 2
    return 2 ** (INTEGER_BITS[type_] - 1) - 1 if is_integer(type_) else math.inf


def _places(stream: DeclaredStream, base: Path) -> dict[str, Place]:
    """The files of each origin that has any with rows in them."""
    found: dict[str, Place] = {}
    for site, origin in stream.origins.items():
        at = tried(partial(place, stream.source, origin, base)) if origin.format in LOOKED_AT else None
        if at is not None and at.rows:
            found[site] = at
    return found


def _samples(stream: DeclaredStream, columns: Sequence[str], found: Mapping[str, Place]) -> dict[str, Sample]:
    """A sample of each origin."""
    time = stream.source.schema.time
    names = list(dict.fromkeys([*columns, *([] if time is None else [time])]))
    total = sum(at.rows for at in found.values())
    looked = {site: tried(partial(at.sample, names, at.rows / total, SAMPLE)) for site, at in found.items()}
    return {site: sample for site, sample in looked.items() if sample is not None and sample.runs}


def _span(sample: Sample, time: str | None) -> int | None:
    """From the first to the last event time, in microseconds; None where the times do not tell a rate."""
    first, last = sample.earliest, sample.latest
    if time is None or first is None or last is None or sample.rows < 2:
        return None
    every = pa.concat_tables([run.select([time]) for run in sample.runs])[time]
    moments = np.sort(every.drop_null().cast(pa.int64()).to_numpy())
    cut = max(1, len(moments) // 100) if len(moments) >= 10 else 0
    usual = int(moments[-1 - cut] - moments[cut])
    if not LOWEST <= first < last <= HIGHEST or usual * _STRAY < last - first:
        return None
    return last - first + sample.beyond


def _count(stream: DeclaredStream, counted: Sequence[str], samples: Sequence[Sample], figures: Figures) -> None:
    """Note how many values columns have and how skewed they are."""
    rows = sum(sample.rows for sample in samples)
    for name in counted:
        known = stream.distinct.get(name)
        if known is not None and name in stream.skew:
            continue
        found = tried(partial(spread, [[run[name] for run in sample.runs] for sample in samples], rows, known))
        if found is None or (is_fraction(stream.source.schema.type_of(name)) and found.values > rows / 2):
            continue  # fractions are taken to differ in every row unless something is said
        if known is None:
            figures.distinct[name] = math.ceil(found.values)
        if name not in stream.skew and found.skew > 0:
            figures.skew[name] = round(found.skew, 3)


def _weight(stream: DeclaredStream, columns: Sequence[str], sample: Sample, figures: Figures) -> float | None:
    """Bytes per row, packed: as predicted for all columns, times how far the prediction is off for those that are read.

    Columns that nobody reads need never travel, so it is not asked how well they pack.
    """
    types = stream.source.schema.columns

    def predicted(names: Sequence[str], rows: float | None = None) -> float:
        each = [(type_, _values(name, stream, figures)) for name, type_ in types if name in names]
        return sum(
            column_bytes(type_, values if rows is None else replace(values, rows=rows)) for type_, values in each
        )

    real = expected = 0.0
    for run in runs_to_pack(sample):
        batch = run.select(list(columns)).combine_chunks().to_batches()[0]
        real += weight(batch)
        expected += batch.num_rows * predicted(columns, batch.num_rows)
    return real / expected * predicted(stream.source.schema.names) if real > 0 and expected > 0 else None


def _values(name: str, stream: DeclaredStream, figures: Figures) -> Values:
    distinct = stream.distinct.get(name, figures.distinct.get(name))
    return Values(distinct, stream.skew.get(name, figures.skew.get(name, 0.0)))
