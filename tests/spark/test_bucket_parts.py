"""The parts that operators over buckets are made of say what the interpreter's do, value by value."""

from __future__ import annotations

import math
import random
import struct
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.shorthand import SECOND, stream
from tests.spark.nasty_values import value
from tradewind.algebra.expressions.typing import parse_condition
from tradewind.algebra.operators.ordered import WaitFor, pair_schema
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DataType, is_fraction, parse_type
from tradewind.algebra.windows import ValueWindow
from tradewind.interpreter.checking import canonical
from tradewind.interpreter.comparison import group_key, order_key
from tradewind.interpreter.resampling import _line
from tradewind.interpreter.values import EXACT, single
from tradewind.interpreter.windows import value_starts
from tradewind.spark.buckets.arrays import ranks
from tradewind.spark.buckets.cells import cells
from tradewind.spark.buckets.groups import Groups, keys_of
from tradewind.spark.buckets.lines import Stretch, on_line
from tradewind.spark.buckets.slack import in_time
from tradewind.spark.buckets.sorting import order_of, packed, quick_order, stable_order
from tradewind.spark.buckets.waiting import equal_keys, least_between
from tradewind.spark.types import arrow_type, to_arrow

TYPES = (
    "BOOLEAN", "TINYINT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5,2)", "DECIMAL(18,0)", "DECIMAL(38,10)", "STRING",
    "BINARY", "DATE", "TIMESTAMP", "INTERVAL", "VOID", "ARRAY<INT>", "ARRAY<STRING>", "ARRAY<ARRAY<DOUBLE>>",
    "STRUCT<a: INT, b: DOUBLE>", "STRUCT<a: STRUCT<b: STRING, c: DATE>, d: ARRAY<FLOAT>>",
)  # fmt: skip
seeds = st.integers(0, 2**32)
wholes = st.integers(-(2**63), 2**63 - 1)


def column_of(name: str, seed: int, most: int = 12) -> tuple[DataType, list, pa.Array]:
    """Values of a type, some of them equal, and the same in Arrow."""
    type_, chance = parse_type(name), random.Random(seed)
    values = [value(type_, chance) for _ in range(chance.randrange(most))]
    values += chance.choices(values, k=len(values)) if values else []
    values = [canonical((one,), Schema((("c", type_),)))[0] for one in values]
    extra = chance.randrange(3)
    # A slice, as arrays from elsewhere may be.
    return type_, values, pa.array([None] * extra + values, arrow_type(type_)).slice(extra)


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=60)
@given(seed=seeds)
def test_ranks_are_in_the_order_of_values(name: str, seed: int) -> None:
    type_, values, array = column_of(name, seed)
    found, wanted = ranks(array), [order_key(one, type_) for one in values]
    assert len(found) == len(values)
    for a, left in enumerate(wanted):
        for b, right in enumerate(wanted):
            assert (found[a] < found[b], found[a] == found[b]) == (left < right, left == right)


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=60)
@given(seed=seeds)
def test_groups_are_known_by_equal_keys(name: str, seed: int) -> None:
    type_, values, array = column_of(name, seed)
    other = [index % 2 for index in range(len(values))]
    table = keys_of(pa.table({"k": array, "o": pa.array(other, pa.int8())}), ("o", "k"))
    half = len(values) // 2
    groups = Groups(table.slice(0, half))
    keys = [(group_key(one, type_), part) for one, part in zip(values, other, strict=True)]
    codes = groups.find(table).tolist()
    assert codes[:half] == groups.codes.tolist()
    for code, key in zip(codes, keys, strict=True):
        same = [repr(key) == repr(known) for known in keys[:half]]
        assert [code == known for known in codes[:half]] == same
        assert code < groups.count
        assert (code >= 0) == any(same)


def test_zeros_and_nans_are_one_group() -> None:
    nan = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]
    for array, wanted in (
        (pa.array([0.0, -0.0, math.nan, nan, None, None]), "001122"),
        (pa.array([[0.0], [-0.0], [math.nan], [nan], None, []]), "001123"),
        (pa.array([{"a": 0.0}, {"a": -0.0}, {"a": None}, None]), "0012"),
        (pa.array([[{"a": [0.0]}], [{"a": [-0.0]}], [None], None, [{"a": None}]]), "00123"),
    ):
        codes = Groups(keys_of(pa.table({"k": array}), ("k",))).codes.tolist()
        assert [codes.index(code) for code in codes] == [wanted.index(letter) for letter in wanted]


def test_whole_numbers_that_are_their_own_codes_know_strangers() -> None:
    groups = Groups(keys_of(pa.table({"k": pa.array([5, 7, None, 5])}), ("k",)))
    others = keys_of(pa.table({"k": pa.array([6, None, 7, 2**62, -(2**63), 4])}), ("k",))
    found = groups.find(others)
    assert found[1] == groups.codes[2]
    assert found[2] == groups.codes[1]
    assert found[[0, 3, 4, 5]].tolist() == [-1] * 4


@given(st.lists(st.tuples(st.integers(0, 2**40), wholes)))
def test_packed_pairs_keep_their_order(pairs: list) -> None:
    major, minor = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    key = packed(major, minor)
    assert [pairs[place] for place in quick_order(key)] == sorted(pairs)
    assert stable_order(key).tolist() == sorted(range(len(pairs)), key=lambda place: pairs[place])


@settings(max_examples=60)
@given(seed=seeds)
def test_ties_are_told_apart_by_content(seed: int) -> None:
    chance = random.Random(seed)
    schema = Schema(tuple((name, parse_type(name)) for name in ("BOOLEAN", "DOUBLE", "STRING", "ARRAY<INT>")))
    rows = [tuple(value(type_, chance) for _, type_ in schema.columns) for _ in range(6)]
    rows = [canonical(row, schema) for row in chance.choices(rows, k=chance.randrange(12))]
    group, rank = (np.array([chance.randrange(2) for _ in rows], dtype=np.int64) for _ in range(2))
    table = to_arrow(rows, schema).combine_chunks()
    order, new = order_of(group, rank, [one.combine_chunks() for one in table.columns])
    keys = [
        (g, r, tuple(order_key(part, type_) for part, (_, type_) in zip(row, schema.columns, strict=True)))
        for g, r, row in zip(group.tolist(), rank.tolist(), rows, strict=True)
    ]
    assert [keys[place] for place in order] == sorted(keys)
    assert new.tolist() == [place == 0 or sorted(keys)[place] != sorted(keys)[place - 1] for place in range(len(keys))]


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=60), st.integers(0, 4))
def test_rows_that_too_many_overtook_are_late(arrivals: list, slack: int) -> None:
    wanted = [
        sum(1 for before in arrivals[:place] if before[0] == group and before[1] > rank) <= slack
        for place, (group, rank) in enumerate(arrivals)
    ]
    group, rank = (np.array([one[side] for one in arrivals], dtype=np.int64) for side in (0, 1))
    assert in_time(group, rank, slack).tolist() == wanted


def bits(number: float | None) -> bytes | None:
    return None if number is None else struct.pack("<d", number)


def check_line(type_: DataType, ends: tuple, start: int, span: int, share: int) -> None:
    moment = start + share % (span + 1)
    old, new = ends
    array = pa.array(ends, arrow_type(type_))
    at = Stretch(*(np.array([one], dtype=np.int64) for one in (0, 1, start, start + span, moment)))
    found = on_line(array, at)[0].as_py()
    assert bits(found) == bits(_line(start, old, start + span, new, moment))


@settings(max_examples=500)
@given(
    st.one_of(st.none(), st.floats(), st.floats(-100, 100)),
    st.one_of(st.none(), st.floats(), st.floats(-100, 100)),
    st.integers(-(2**57), 2**57),
    st.one_of(st.integers(1, 100), st.integers(1, 2**57)),
    st.integers(0, 2**57),
)
@example(1.0, -1.0, 0, 2, 1)
@example(1.0, math.nextafter(1.0, 2.0), 0, 2, 1)
@example(5e-324, 0.0, 0, 3, 1)
@example(math.inf, 1.0, 0, 3, 1)
@example(0.1, 0.3, 0, 3, 1)
@example(1.7976931348623157e308, -1.7976931348623157e308, 0, 3, 1)
def test_lines_between_doubles_are_rounded_once(old, new, start: int, span: int, share: int) -> None:
    ends = canonical((old, new), Schema((("a", parse_type("DOUBLE")), ("b", parse_type("DOUBLE")))))
    check_line(parse_type("DOUBLE"), ends, start, span, share)
    halves = tuple(None if one is None else single(one) for one in ends)
    check_line(parse_type("FLOAT"), halves, start, span, share)


@settings(max_examples=300)
@given(
    st.one_of(wholes, st.integers(-100, 100)),
    st.one_of(wholes, st.integers(-100, 100)),
    st.one_of(st.integers(1, 100), st.integers(1, 2**57)),
    st.integers(0, 2**57),
)
def test_lines_between_whole_numbers_and_decimals_are_rounded_once(old: int, new: int, span: int, share: int) -> None:
    check_line(parse_type("BIGINT"), (old, new), 7, span, share)
    for name, scale in (("DECIMAL(38,2)", 2), ("DECIMAL(38,10)", 10), ("DECIMAL(38,30)", 30)):
        digits = tuple(Decimal(one % 10**8 if scale == 30 else one).scaleb(-scale) for one in (old, new))
        check_line(parse_type(name), digits, 7, span, share)


def test_lines_over_many_points_come_in_blocks() -> None:
    many = 50_000
    chance = np.random.default_rng(7)
    values = chance.normal(size=many + 1)
    place = np.arange(many)
    at = Stretch(place, place + 1, place * 10, place * 10 + 10, place * 10 + chance.integers(0, 11, many))
    found = on_line(pa.array(values), at).to_pylist()
    for index in range(0, many, 97):
        t, m = int(at.start[index]), int(at.moment[index])
        assert bits(found[index]) == bits(_line(t, values[index], t + 10, values[index + 1], m))


@pytest.mark.parametrize("name", ["TINYINT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5,2)", "DECIMAL(38,10)", "DATE"])
@settings(max_examples=100)
@given(seed=seeds)
def test_values_lie_in_the_windows_that_the_interpreter_says(name: str, seed: int) -> None:
    type_, values, array = column_of(name, seed)
    chance = random.Random(seed)
    lengths: list[float] = [chance.choice((1, 2, 7, 100, 10**6)) for _ in range(2)]
    if is_fraction(type_) and chance.random() < 0.5:
        lengths = [chance.choice((0.1, 0.5, 1.5)) for _ in range(2)]
    # Beyond this the interpreter cannot number the windows.
    values = [None if isinstance(one, float) and 1e300 < abs(one) < math.inf else one for one in values]
    array = pa.array(values, array.type)
    window = ValueWindow("c", max(lengths), min(lengths))
    if window.size / window.step > 1000:
        window = ValueWindow("c", window.size, window.size / 10 if is_fraction(type_) else window.size // 10)
    found = cells(array, window)
    scale = 10 ** type_.parameters[1] if type_.name == "DECIMAL" else 1
    for place, one in enumerate(values):
        wanted = sorted(value_starts(window, one, type_))
        inside = sorted(found.start[found.row == place].tolist())
        assert inside == [EXACT.multiply(start, scale) if scale > 1 else start for start in wanted]
    windows: dict[int, float] = {}
    for number, start in zip(found.number.tolist(), found.start.tolist(), strict=True):
        assert windows.setdefault(number, start) == start
    assert len(set(windows.values())) == len(windows)


@given(
    st.lists(st.integers(-3, 3), max_size=20).flatmap(
        lambda values: st.tuples(
            st.just(values), st.lists(st.tuples(*[st.integers(0, len(values))] * 2).map(sorted), max_size=8)
        )
    )
)
def test_the_least_value_of_a_stretch(case) -> None:
    values, stretches_ = case
    first, end = (np.array([pair[i] for pair in stretches_], dtype=np.int64) for i in range(2))
    found = least_between(np.array([*values, 9], dtype=np.int64), first, end)
    assert all(
        one == min(values[start:stop]) for one, (start, stop) in zip(found, stretches_, strict=True) if start < stop
    )


def test_waiting_for_more_than_equal_keys_is_left_to_spark() -> None:
    own = stream("rows", "ts TIMESTAMP, k INT, s STRING, a ARRAY<INT>, b BIGINT")
    other = stream("signals", "at TIMESTAMP, k2 INT, s2 STRING, a2 ARRAY<INT>, b2 BIGINT", "at")

    def keys(text):
        return equal_keys(WaitFor(own, other, parse_condition(text, pair_schema(own.schema, other.schema)), SECOND))

    assert keys("k = k2") == (("k",), ("k2",))
    assert keys("k2 = k AND s = s2") == (("k", "s"), ("k2", "s2"))
    for more in ("k < k2", "k = k2 AND b > b2", "a = a2", "k = b2", "k = 1", "k = b", "k = k2 OR s = s2", "k <=> k2"):
        assert keys(more) is None
