"""How many bytes a row weighs in the packed format of channels: Arrow record batches in the IPC stream format, zstd.

Every buffer of a batch is compressed by itself, so columns add up. A value that is new in its batch costs what its type
costs, `fresh`; one that was there before costs the bits that say which one it is, as long as the compressor finds it
again; and in sorted columns repetitions cost almost nothing. The constants were fitted to what `benchmarks/packed.py`
measures; docs/statistics.md says how well they fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tradewind.algebra.types import BOOLEAN, DOUBLE, FLOAT, TIMESTAMP, DataType
from tradewind.cost.groups import bits_of, expected_groups

BATCH_ROWS = 10_000.0
"""The rows of a batch where nothing else is known."""
RUN_ROWS = 4_096.0
"""The rows of the runs of data that are packed to measure how wide columns are."""
BATCH_BYTES, BATCH_COLUMN_BYTES = 115.0, 10.0
"""What a short batch weighs without its columns, heads and end, deflated; and what each column adds to that: its name,
its type, its buffers' places.
"""
LONG_BATCH_BYTES, LONG_BATCH_COLUMN_BYTES = 216.0, 128.0
"""The same of a long batch, whose heads are not deflated."""
SHORT_BYTES = 64_000.0
"""Batches are short as long as they have fewer bytes than this before they are packed."""
FRAME_BYTES = 190.0
"""What is around a part on a link: its subject, its stream, its checksum. Names are taken to have some 8 letters."""
COMMIT_BYTES, COMMIT_ORIGIN_BYTES = 280.0, 10.0
"""A commit on a link, and what each origin adds to it: its name and its watermark, deflated."""
CONSTANT = 0.002
"""A value that is the same in all rows of a batch, or follows its like in a sorted column."""
FRESH_TEXT = 6.0
"""The letters of a text that is new in its batch; names of some 16 letters, more alike than random ones."""
TEXT_LETTERS = 16.0
"""The letters of a text before compression: where texts begin in a batch is written down too, and hardly shrinks."""
FRESH_TIME = 3.0
"""A time in microseconds, roughly in the order of arrival."""
FRESH_TIME_SORTED = 2.2
"""A time in microseconds, in order."""
FRESH_FRACTION = {DOUBLE: 7.5, FLOAT: 3.7}
"""Floating numbers with all digits in use."""
BOOLEAN_BYTES = 0.13
SORTED_WIDE = 0.45
"""Small whole numbers of eight bytes or more are mostly zeros, which the compressor takes for the repetition even where
whole values repeat.
"""
ARRAY_ITEMS = 3.0
"""The elements of an array where nothing is known."""
UNKNOWN_BITS = {"TINYINT": 6.0, "SMALLINT": 9.0, "INT": 11.0, "BIGINT": 15.0, "DATE": 1.0, "INTERVAL": 15.0}
"""How many bits the values of a type differ in, where their number is not known."""
DECIMAL_DIGITS = 5
"""The digits of a decimal that are in use, where nothing is known."""
_WIDTHS = {"TINYINT": 1.0, "SMALLINT": 2.0, "INT": 4.0, "BIGINT": 8.0, "DATE": 4.0, "DECIMAL": 16.0, "INTERVAL": 8.0}
_PLAIN_COLUMN = 8.0
"""About what a value takes before it is packed."""
_FORGOTTEN = 5_000.0
"""Of about so many different long values in turn, the compressor finds half again."""


@dataclass(frozen=True, slots=True)
class Values:
    """What is known of a column's values in a batch of `rows`: how many there are to draw from, how skewed, how many of
    them are met in the batch (worked out where it is None), and whether they are sorted.
    """

    distinct: float | None = None
    skew: float = 0.0
    rows: float = BATCH_ROWS
    met: float | None = None
    ordered: bool = False
    new_bytes: float | None = None
    """Bytes of a value that is new in its batch, where it begins included; what its type costs where it is None."""

    @property
    def bits(self) -> float | None:
        """The bits that tell a value; None where their number is not known."""
        known = self.distinct is not None and math.isfinite(self.distinct)
        return bits_of(max(1.0, self.distinct), self.skew) if known and self.distinct is not None else None

    @property
    def fresh(self) -> float:
        """The share of rows whose value is new in the batch."""
        if self.distinct is None or self.rows <= 0:
            return 1.0
        met = self.met
        if met is None:
            met = expected_groups(self.rows, [(max(1.0, self.distinct), self.skew)])
        return min(1.0, met / self.rows)


UNKNOWN = Values()


def coded(bits: float) -> float:
    """Bytes for a value that is one of 2^bits, as the compressor's entropy coder manages it.

    >>> coded(0.0), round(coded(10.0), 2)
    (0.002, 1.8)
    """
    return CONSTANT if bits <= 0 else min(0.3, 0.4 * bits) + 0.15 * bits


def offset_bytes(rows: float, each: float = TEXT_LETTERS) -> float:
    """Bytes per row that say where each of the batch's texts, or other values of differing length, begins."""
    return 0.15 * math.log2(max(2.0, rows * each))


def column_bytes(type_: DataType, values: Values = UNKNOWN) -> float:
    """Bytes per row of a column of plain values."""
    if type_.name == "STRUCT":
        return sum(column_bytes(inner, values) for _, inner in type_.fields)
    if type_.name == "ARRAY":
        return offset_bytes(values.rows, ARRAY_ITEMS) + ARRAY_ITEMS * column_bytes(type_.element)
    placed = offset_bytes(values.rows) if type_.name in ("STRING", "BINARY") else 0.0
    return placed + _value_bytes(type_, values)


def _value_bytes(type_: DataType, values: Values) -> float:
    if type_ == BOOLEAN:
        return BOOLEAN_BYTES if values.distinct is None or values.distinct > 1 else CONSTANT
    fresh, bits = fresh_bytes(type_, values), values.bits
    if bits is None:
        return fresh
    if values.ordered and bits > 0 and _WIDTHS.get(type_.name, 0.0) >= 8:
        return min(fresh, SORTED_WIDE + 0.4 * values.fresh * fresh)
    if values.ordered:
        return min(fresh, CONSTANT + values.fresh * fresh)
    lost = 0.0 if type_.name in _WIDTHS else _lost(values)
    again = lost * fresh + (1 - lost) * min(fresh, coded(bits))
    return values.fresh * fresh + (1 - values.fresh) * again


def _lost(values: Values) -> float:
    """The share of repeated values that the compressor does not find again."""
    many = math.exp2(2 * (values.bits or 0.0))
    return many / (many + _FORGOTTEN**2)


def fresh_bytes(type_: DataType, values: Values = UNKNOWN) -> float:
    """Bytes of a value that is new in its batch, without those that say where it begins."""
    if values.new_bytes is not None:
        placed = offset_bytes(values.rows) if type_.name in ("STRING", "BINARY") else 0.0
        return max(CONSTANT, values.new_bytes - placed)
    if type_ in FRESH_FRACTION:
        return FRESH_FRACTION[type_]
    if type_ == TIMESTAMP:
        return FRESH_TIME_SORTED if values.ordered else FRESH_TIME
    if type_.name not in _WIDTHS:
        return FRESH_TEXT
    bits = values.bits
    if bits is None:
        digits = min(type_.parameters[0], DECIMAL_DIGITS) if type_.parameters else 0
        bits = UNKNOWN_BITS.get(type_.name, digits * math.log2(10))
    return min(_WIDTHS[type_.name], coded(bits))


def window_bytes(type_: DataType, windows: float) -> float:
    """Bytes per row of a `window` column in a batch that so many windows mix in."""
    more = BOOLEAN_BYTES if len(type_.fields) > 2 else 0.0
    return 2 * coded(math.log2(max(1.0, windows))) + more


def batch_bytes(columns: int) -> float:
    """What a batch with so many columns, those inside of others counted too, weighs beside its rows."""
    return BATCH_BYTES + BATCH_COLUMN_BYTES * columns


def short_run_bytes(row: float, fresh: float, values: Values) -> float:
    """Bytes per row of a column in a batch of few rows: there more values are new than in the long runs that it was
    measured in, where a row took `row` bytes and a new value takes `fresh`.
    """
    newer = values.fresh - replace(values, rows=RUN_ROWS, met=None).fresh
    return row + max(0.0, newer) * max(0.0, fresh - row)


def heads_bytes(columns: int, rows: float, row_bytes: float) -> float:
    """What a batch of so many rows and columns weighs beside its rows: it is packed as a short or as a long one, as is
    less.
    """
    short, long = batch_bytes(columns), LONG_BATCH_BYTES + LONG_BATCH_COLUMN_BYTES * columns
    plain = rows * max(_PLAIN_COLUMN * columns, row_bytes)
    if plain >= SHORT_BYTES:
        return long
    return min(long, short)


def part_frame_bytes() -> float:
    """What is around the rows of a batch when they cross a link."""
    return FRAME_BYTES


def commit_bytes(origins: int) -> float:
    """What the commit of a batch weighs when it crosses a link, with the watermarks of so many origins."""
    return COMMIT_BYTES + COMMIT_ORIGIN_BYTES * origins
