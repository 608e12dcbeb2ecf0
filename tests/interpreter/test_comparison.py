"""The order of values: Spark's answers, and the laws of an order."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.algebra.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    STRING,
    array,
    decimal,
    struct,
)
from tradewind.interpreter.comparison import compare, equal, group_key, order_key

D, NAN, INF = Decimal, math.nan, math.inf
PAIR = struct(a=INT, b=DOUBLE)

# As Spark sorts them ascending.
SORTED = [
    (DOUBLE, [None, -INF, -1.0, 0.0, 5e-324, INF, NAN]),
    (FLOAT, [None, -INF, 0.0, INF, NAN]),
    (STRING, [None, "", "A", "Z", "a", "aa", "é", "\uffff", "😀"]),
    (BINARY, [None, b"", b"\x00", b"\x7f", b"\x80"]),
    (BOOLEAN, [None, False, True]),
    (decimal(10, 2), [None, D("-1.00"), D("0.00"), D("0.01")]),
    (array(INT), [None, (), (None,), (None, 1), (1,), (1, None), (1, 2), (2,)]),
    (PAIR, [None, (None, NAN), (1, None), (1, -1.0), (1, NAN), (2, None)]),
]
numbers = st.floats() | st.none() | st.sampled_from([NAN, 0.0, -0.0])
OF_TYPE = {
    DOUBLE: numbers,
    STRING: st.text() | st.none(),
    array(DOUBLE): st.lists(numbers).map(tuple) | st.none(),
    PAIR: st.tuples(st.integers(0, 2) | st.none(), numbers) | st.none(),
}
three = st.sampled_from(list(OF_TYPE)).flatmap(
    lambda type_: st.tuples(st.just(type_), OF_TYPE[type_], OF_TYPE[type_], OF_TYPE[type_])
)


@pytest.mark.parametrize(("type_", "values"), SORTED, ids=[str(type_) for type_, _ in SORTED])
def test_sorts_as_spark(type_, values):
    backwards = values[::-1]
    assert repr(sorted(backwards, key=lambda value: order_key(value, type_))) == repr(values)
    present = values[1:]
    for place, left in enumerate(present):
        assert [compare(left, right, type_) for right in present] == [
            (place > other) - (place < other) for other in range(len(present))
        ]


def test_equality_of_special_values():
    assert equal(NAN, float("nan"), DOUBLE)
    assert equal(-0.0, 0.0, FLOAT)
    assert equal((None, NAN), (None, -NAN), array(DOUBLE))
    assert not equal("é", "e\u0301", STRING)
    assert equal(D("1.0"), D("1.00"), decimal(10, 2))


def test_groups_of_special_values():
    assert len({group_key(value, DOUBLE) for value in (NAN, float("nan"), -NAN)}) == 1
    assert repr(group_key((-0.0, None), array(DOUBLE))) == "(0.0, None)"
    assert group_key(None, NULL) is None
    assert len({group_key((1, value), PAIR) for value in (NAN, float("nan"), 0.0, -0.0, None)}) == 3


@given(three)
def test_order_is_total_and_agrees_with_groups(drawn):
    type_, *values = drawn
    first, second, third = (order_key(value, type_) for value in values)
    assert (first < second) + (first == second) + (first > second) == 1
    assert not (first <= second <= third) or first <= third
    same = group_key(values[0], type_), group_key(values[1], type_)
    assert (first == second) == (len(set(same)) == 1)
