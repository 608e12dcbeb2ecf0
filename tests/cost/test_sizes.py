"""The size of a batch on a link as planned, beside what the code that packs and sends it makes of random rows."""

from __future__ import annotations

import math
import random
from decimal import Decimal

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.algebra.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP, DataType, decimal
from tradewind.backbone.commits import Commit, Part
from tradewind.backbone.counting import frame
from tradewind.backbone.names import Address
from tradewind.cost.packed import (
    RUN_ROWS,
    Values,
    column_bytes,
    commit_bytes,
    heads_bytes,
    part_frame_bytes,
    short_run_bytes,
)
from tradewind.spark.packing import packed, width

BOUND = 1.25
"""Packed over planned at most, where the width of each column was measured; frames of messages both ways."""
ABOVE = 1.65
"""Planned over packed at most: texts of one length, in batches that are short enough to be deflated as a whole, pack
better than in the long runs that are measured. The worst is a single text.
"""
UNMEASURED = 1.75
"""The same where nothing but types and numbers of values is known: texts of 4 to 60 letters are taken to have 16."""
_START = 1_767_268_800_000_000
_ARROW = {
    INT: pa.int32(), BIGINT: pa.int64(), DOUBLE: pa.float64(), BOOLEAN: pa.bool_(), STRING: pa.string(),
    TIMESTAMP: pa.timestamp("us", "UTC"), decimal(12, 2): pa.decimal128(12, 2),
}  # fmt: skip
_KINDS = st.tuples(st.sampled_from(list(_ARROW)), st.sampled_from([1, 3, 40, 1_000, 100_000]), st.integers(4, 60))
_ROWS = st.sampled_from([1, 3, 20, 300, 2_000, 6_000])
_NAME = st.text("abcdefghijklmnop-", min_size=3, max_size=9)


def column(kind: tuple[DataType, int, int], rows: int, seed: int) -> pa.Array:
    """Values of a type drawn from so many; texts have some length."""
    type_, distinct, letters = kind
    draw = random.Random(seed)
    if type_ == TIMESTAMP:
        return pa.array([_START + 1_000_000 * n + draw.randrange(1_000_000) for n in range(rows)], _ARROW[type_])
    texts = {n: "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=letters)) for n in range(min(distinct, 2_000))}
    made = {
        STRING: lambda n: texts[n % 2_000], DOUBLE: lambda n: random.Random(n).random(), BOOLEAN: lambda n: n % 2 == 0,
        decimal(12, 2): lambda n: Decimal(n) / 100,
    }.get(type_, lambda n: n)  # fmt: skip
    return pa.array([made(draw.randrange(distinct)) for _ in range(rows)], _ARROW[type_])


def measured_width(kind: tuple[DataType, int, int], rows: int, seed: int) -> float:
    """The bytes of a row in a batch of so many, by a sample of the same data, as a run measures it."""
    run = column(kind, int(RUN_ROWS), seed)
    different = run.unique()
    row, fresh = width(run) / len(run), width(different) / len(different)
    distinct = math.inf if kind[0] == TIMESTAMP else min(kind[1], 2_000 if kind[0] == STRING else kind[1])
    return short_run_bytes(row, fresh, Values(None if math.isinf(distinct) else float(distinct), rows=rows))


@settings(max_examples=25)
@given(st.lists(_KINDS, min_size=1, max_size=8), _ROWS, st.integers(0, 2**20))
def test_a_batch_of_columns_that_were_measured_is_hardly_heavier_than_planned(kinds, rows: int, seed: int) -> None:
    """Widths come from another sample of the same data, as they do in a run."""
    arrays = [column(kind, rows, seed + n) for n, kind in enumerate(kinds)]
    batch = pa.RecordBatch.from_arrays(arrays, names=[f"c{n}" for n in range(len(arrays))])
    real = len(packed(batch)) + part_frame_bytes() + commit_bytes(1)
    widths = [measured_width(kind, rows, seed + 100 + n) for n, kind in enumerate(kinds)]
    planned = heads_bytes(len(kinds), rows, sum(widths)) + rows * sum(widths) + part_frame_bytes() + commit_bytes(1)
    assert real / BOUND - 64 < planned < real * ABOVE, (planned, real, kinds, rows)


@settings(max_examples=25)
@given(st.lists(_KINDS, min_size=1, max_size=8), st.sampled_from([300, 2_000, 6_000]), st.integers(0, 2**20))
def test_a_batch_of_which_only_types_are_known(kinds, rows: int, seed: int) -> None:
    kinds = [(type_, min(distinct, 2_000) if type_ == STRING else distinct, 16) for type_, distinct, _ in kinds]
    arrays = [column(kind, rows, seed + n) for n, kind in enumerate(kinds)]
    batch = pa.RecordBatch.from_arrays(arrays, names=[f"c{n}" for n in range(len(arrays))])
    real = len(packed(batch)) + part_frame_bytes() + commit_bytes(1)
    widths = [
        column_bytes(type_, Values(None if type_ == TIMESTAMP else distinct, rows=rows)) for type_, distinct, _ in kinds
    ]
    planned = heads_bytes(len(kinds), rows, sum(widths)) + rows * sum(widths) + part_frame_bytes() + commit_bytes(1)
    assert 1 / UNMEASURED < planned / real < UNMEASURED, (planned, real, kinds, rows)


@given(_NAME, _NAME, st.integers(1, 40), st.integers(1, 3))
def test_messages_are_framed_as_planned(deployment: str, site: str, origins: int, parts: int) -> None:
    address = Address(deployment, site, f"partial-0123abcd-{site}"[:40])
    headers = {"Nats-Expected-Stream": address.stream}
    part = frame(address.parts, {"crc": "-" * 8, **headers}, 0)
    assert 1 / BOUND < part_frame_bytes() / part < BOUND
    marks = {f"sales/{site}-{n}": _START + 1_234_567 * n for n in range(origins)}
    commit = Commit(f"{site}-0123abcd45", 1, 7, (Part((parts,), 3, 130),), marks, before=2)
    whole = frame(address.commits, {"Nats-Expected-Last-Subject-Sequence": "7", **headers}, len(commit.encoded()))
    assert 1 / BOUND < commit_bytes(origins) / whole < BOUND
