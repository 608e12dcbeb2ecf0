"""How many bytes rows weigh in packed batches: what planning predicts beside what Arrow and zstd make of them.

Run with `./dev bench packed`. Tables are made at random with a fixed seed; columns alone first, then whole tables as
they travel: log lines, and the partials of a grouping.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa

from tradewind.algebra.aggregates import AggregateCall
from tradewind.algebra.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP, decimal
from tradewind.cost.packed import Values, batch_bytes, column_bytes, window_bytes
from tradewind.cost.states import Group, state_bytes, state_columns
from tradewind.spark.packing import packed

_START = 1_767_268_800_000_000
_LONG_HEADS = 345.0
"""What a long part of one column weighs beside it."""
_WINDOW = pa.struct([("start", pa.timestamp("us", "UTC")), ("end", pa.timestamp("us", "UTC"))])


@dataclass(frozen=True, slots=True)
class Case:
    """A packed table: its columns, and the bytes that were predicted for all of it."""

    name: str
    columns: dict[str, pa.Array]
    predicted: float
    long: bool = False
    """Whether it stands for a part of many more rows, which is packed column by column."""

    @property
    def measured(self) -> float:
        """Its bytes as one message: schema, batch and end."""
        if self.long:
            sink = pa.BufferOutputStream()
            batch = pa.record_batch(self.columns)
            with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
                writer.write_batch(batch)
            return float(sink.getvalue().size)
        return float(len(packed(pa.RecordBatch.from_pydict(self.columns))))


def _names(ids: np.ndarray) -> pa.Array:
    """Names as they come: a common ending, and letters that say little about one another."""
    return pa.array([f"{int(i) * 2_654_435_761 % 2**32:x}.{('shop', 'news', 'blog')[int(i) % 3]}.example" for i in ids])


def single_columns(rows: int = 10_000, seed: int = 1) -> Iterator[Case]:
    """One column of each type: few and many values, mixed and sorted."""
    draw = np.random.default_rng(seed)
    for distinct in (1, 10, 1_000, 100_000):
        ids = draw.integers(0, distinct, rows)
        made = {
            "INT": (INT, pa.array(ids.astype("int32"))),
            "BIGINT": (BIGINT, pa.array(ids * 3)),
            "DOUBLE": (DOUBLE, pa.array(np.random.default_rng(seed).random(distinct)[ids])),
            "DECIMAL": (decimal(12, 2), pa.array([Decimal(int(i)) / 100 for i in ids], pa.decimal128(12, 2))),
            "STRING": (STRING, _names(ids)),
        }
        for ordered in (False, True):
            for name, (type_, array) in made.items():
                column = array.take(pa.compute.array_sort_indices(array)) if ordered else array
                predicted = column_bytes(type_, Values(distinct, rows=rows, ordered=ordered))
                yield Case(
                    f"{name} of {distinct:,}{' sorted' if ordered else ''}",
                    {"a": column},
                    _LONG_HEADS + rows * predicted,
                    True,
                )
    flags = pa.array(draw.random(rows) < 0.4)
    yield Case("BOOLEAN", {"a": flags}, _LONG_HEADS + rows * column_bytes(BOOLEAN), True)
    times = _START + np.sort(draw.integers(0, 60_000_000, rows))
    late = times[np.argsort(times + draw.integers(0, 5_000_000, rows))]
    for name, array, ordered in (("in order", times, True), ("nearly in order", late, False)):
        predicted = column_bytes(TIMESTAMP, Values(ordered=ordered))
        stamps = pa.array(array, pa.timestamp("us", "UTC"))
        yield Case(f"TIMESTAMP {name}", {"a": stamps}, _LONG_HEADS + rows * predicted, True)


def zipf_ids(draw: np.random.Generator, rows: int, distinct: int, skew: float) -> np.ndarray:
    """Values by Zipf's law over a limited number of ranks."""
    weights = np.arange(1, distinct + 1) ** -skew
    return draw.choice(distinct, rows, p=weights / weights.sum())


def log_lines(rows: int = 20_000, seed: int = 2) -> Case:
    """Requests as a CDN logs them."""
    draw = np.random.default_rng(seed)
    times = _START + np.sort(draw.integers(0, 10_000_000, rows))
    domains, statuses = zipf_ids(draw, rows, 20_000, 1.1), zipf_ids(draw, rows, 12, 2.0)
    columns = {
        "ts": pa.array(times[np.argsort(times + draw.integers(0, 5_000_000, rows))], pa.timestamp("us", "UTC")),
        "domain": _names(domains),
        "client": pa.array([f"c{int(i):06}" for i in draw.integers(0, 400_000, rows)]),
        "bytes": pa.array(np.round(draw.lognormal(9, 1.5, rows)).astype("int64")),
        "latency_ms": pa.array(np.round(draw.lognormal(3.5, 0.7, rows)).astype("int32")),
        "status": pa.array((200 + statuses).astype("int32")),
    }
    known = [
        (TIMESTAMP, Values(rows=rows)), (STRING, Values(20_000, 1.1, rows)), (STRING, Values(400_000, rows=rows)),
        (BIGINT, Values(rows=rows)), (INT, Values(rows=rows)), (INT, Values(12, 2.0, rows)),
    ]  # fmt: skip
    return Case("log lines", columns, batch_bytes(6) + rows * sum(column_bytes(*one) for one in known))


def partials(rows: int, distinct: int, skew: float, windows: int = 1, seed: int = 3) -> Case:
    """Count and total per domain and window, as a leaf ships them: one row a group, in no order."""
    draw = np.random.default_rng(seed)
    ids = zipf_ids(draw, rows, distinct, skew)
    groups, counts = np.unique(ids, return_counts=True)
    totals = np.bincount(ids, np.round(draw.lognormal(9, 1.5, rows)), distinct)[groups]
    order = draw.permutation(np.repeat(np.arange(len(groups)), windows))
    moved = draw.permutation(np.tile(np.arange(windows), len(groups))) * 60_000_000 + _START
    starts = [{"start": int(at), "end": int(at) + 60_000_000} for at in moved]
    columns = {
        "domain": _names(groups[order]),
        "window": pa.array(starts, _WINDOW),
        "hits": pa.array(counts[order]),
        "high": pa.array(np.zeros(len(order), dtype="int64")),
        "low": pa.array(totals[order].astype("int64")),
        "known": pa.array(counts[order]),
    }
    group = Group(rows / len(groups))
    per_row = (
        column_bytes(STRING, Values(distinct, skew, len(order), len(groups)))
        + window_bytes(TIMESTAMP, windows)
        + state_bytes(AggregateCall("count"), BOOLEAN, group)
        + state_bytes(AggregateCall("sum"), BIGINT, group)
    )
    name = f"partials of {len(groups):,} domains, {windows} window{'s' if windows > 1 else ''}"
    return Case(name, columns, batch_bytes(8) + len(order) * per_row)


def quantiles(groups: int = 12, rows: int = 500, seed: int = 4) -> Case:
    """Moments of a measurement per status: few groups, wide states."""
    draw = np.random.default_rng(seed)
    values = draw.lognormal(3.5, 0.7, (groups, rows))
    columns = {
        "status": pa.array(np.arange(200, 200 + groups).astype("int32")),
        "n": pa.array(np.full(groups, rows)),
        "mean": pa.array(values.mean(axis=1)),
        "m2": pa.array(values.var(axis=1) * rows),
    }
    call, group = AggregateCall("var_pop"), Group(rows)
    inside = state_columns(call, DOUBLE, group)[1:4]
    predicted = batch_bytes(4) + groups * (column_bytes(INT, Values(groups, rows=groups)) + sum(inside))
    return Case(f"variances of {groups} groups", columns, predicted)


def whole_tables() -> Iterator[Case]:
    """Tables as they travel."""
    yield log_lines()
    yield partials(20_000, 20_000, 1.1)
    yield partials(20_000, 900_000, 0.8)
    yield partials(2_000, 20_000, 1.1)
    yield partials(5_000, 5_000, 1.0, windows=5)
    yield partials(200, 300, 1.1)
    yield quantiles()


def show(cases: list[Case]) -> None:
    """Predicted and measured bytes of each case, and how far they are apart over all."""
    ratios = []
    for case in cases:
        ratio = case.predicted / case.measured
        ratios.append(math.log(ratio))
        print(f"  {case.name:38} {case.predicted:12,.0f} {case.measured:12,.0f}  {ratio:6.2f}")
    mean, spread = math.exp(np.mean(ratios)), math.exp(np.std(ratios))
    low, high = math.exp(min(ratios)), math.exp(max(ratios))
    print(f"  geometric mean {mean:.2f}, spread ×÷{spread:.2f}, from {low:.2f} to {high:.2f}")


def main() -> None:
    """Print both tables."""
    print("single columns, 10,000 rows: predicted and measured bytes, predicted over measured")
    show(list(single_columns()))
    print("\nwhole tables")
    show(list(whole_tables()))


if __name__ == "__main__":
    main()
