"""The three functions of every aggregate: lift (one value to a state), merge (two states to one), finish (a state to
the answer).

States are plain hashable values. Sums are exact (fractions), so the order of merging cannot show. An approximate
aggregate is defined by the exact one that it approximates.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from tradewind.algebra.aggregates import AGGREGATES, AggregateCall, UserAggregate
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BIGINT, DataType, fits, is_integer
from tradewind.interpreter.comparison import group_key, order_key
from tradewind.interpreter.evaluate import evaluator, plain_zero
from tradewind.interpreter.rows import Time
from tradewind.interpreter.values import EXACT, Value, fixed

State = Value


@dataclass(frozen=True, slots=True)
class Meaning:
    """How one aggregate works on values of one type. `lift` takes the value, its time and its weight; NULLs are not
    lifted.
    """

    lift: Callable[[Value, Time, int], State]
    merge: Callable[[State, State], State]
    finish: Callable[[State], Value]
    empty: Value = None
    """The answer where there is nothing to aggregate."""


def meaning(call: AggregateCall, value_type: DataType) -> Meaning:
    """The three functions of a call over values of a type (for user-defined ones, of its state's type)."""
    if call.user is not None:
        return _user(call.user)
    name = call.definition.exact_twin or call.function
    return _BUILDERS[name](value_type, call.parameters, name)


def _count(_: DataType, __: tuple[Value, ...], name: str) -> Meaning:
    wanted = (lambda v, t, w: w if v else 0) if name == "count_if" else (lambda v, t, w: w)
    return Meaning(wanted, lambda a, b: a + b, lambda s: s if fits(s, BIGINT) else None, empty=0)


def _exact(value: Value) -> tuple[Fraction, int, int, int]:
    """A number as an exact fraction, with the values that have none counted beside it: +inf, -inf, NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        return Fraction(0), int(value == math.inf), int(value == -math.inf), int(math.isnan(value))
    return Fraction(value), 0, 0, 0


def _lift_moments(value: Value, _: Time, weight: int) -> State:
    number, *odd = _exact(value)
    return weight, number * weight, number * number * weight, *(count * weight for count in odd)


def _add(a: State, b: State) -> State:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _odd(state: State) -> float | None:
    """What infinities and NaNs make of a total: one of them, or None when there are none."""
    _, _, _, up, down, nan = state
    if nan or (up and down):
        return math.nan
    return math.inf if up else -math.inf if down else None


def _sum(type_: DataType, _: tuple[Value, ...], __: str) -> Meaning:
    def finish(state: State) -> Value:
        if not state[0]:
            return None
        if is_integer(type_) or type_.name == "INTERVAL":
            return int(state[1]) if fits(int(state[1]), BIGINT) else None
        if type_.name == "DECIMAL":
            return fixed(_decimal(state[1]), AGGREGATES["sum"].result(type_) or type_)
        odd = _odd(state)
        return plain_zero(as_float(state[1])) if odd is None else odd

    return Meaning(_lift_moments, _add, finish)


def _decimal(number: Fraction) -> Decimal:
    return EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))


def as_float(number: Fraction) -> float:
    """The nearest double, infinite beyond their range."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _root(number: Fraction) -> Fraction:
    """The square root with more digits than a double has, also of numbers beyond the range of doubles."""
    shift = 128 - (number.numerator.bit_length() - number.denominator.bit_length()) // 2
    return math.isqrt(math.floor(number * Fraction(4) ** shift)) / Fraction(2) ** shift


def _avg(type_: DataType, _: tuple[Value, ...], __: str) -> Meaning:
    def finish(state: State) -> Value:
        if not state[0]:
            return None
        if type_.name == "DECIMAL":
            return fixed(_decimal(state[1] / state[0]), AGGREGATES["avg"].result(type_) or type_)
        odd = _odd(state)
        return plain_zero(as_float(state[1] / state[0])) if odd is None else odd

    return Meaning(_lift_moments, _add, finish)


def _spread(_: DataType, __: tuple[Value, ...], name: str) -> Meaning:
    sample, root = name.endswith("samp"), name.startswith("stddev")

    def finish(state: State) -> Value:
        count, total, squares, *_ = state
        if count < (2 if sample else 1):
            return None  # Spark, too, gives NULL for the sample variance of one value
        if _odd(state) is not None:
            return math.nan
        squared = (squares - total * total / count) / (count - 1 if sample else count)
        if squared < 0:
            return None  # only while a row that is taken back has not come yet
        return as_float(_root(squared) if root else squared)

    return Meaning(_lift_moments, _add, finish)


def _extreme(type_: DataType, _: tuple[Value, ...], name: str) -> Meaning:
    choose = min if name in ("min", "bool_and") else max

    def merge(a: State, b: State) -> State:
        return choose(a, b, key=lambda value: order_key(value, type_))

    return Meaning(lambda value, time, weight: value, merge, lambda state: state)


def _at_end(type_: DataType, _: tuple[Value, ...], name: str) -> Meaning:
    """first and last: by event time; among equal times the least, or the greatest, value."""
    choose = min if name == "first" else max

    def merge(a: State, b: State) -> State:
        return choose(a, b, key=lambda state: (state[0], order_key(state[1], type_)))

    return Meaning(lambda value, time, weight: (time, value), merge, lambda state: state[1])


def _delta(type_: DataType, parameters: tuple[Value, ...], _: str) -> Meaning:
    first, last = _at_end(type_, parameters, "first"), _at_end(type_, parameters, "last")

    def finish(state: State) -> Value:
        old, new = first.finish(state[0]), last.finish(state[1])
        if isinstance(new, float):
            return plain_zero(new - old)
        change = new - old
        if type_.name == "DECIMAL":
            return fixed(change, type_)
        return change if not is_integer(type_) or fits(change, type_) else None

    return Meaning(
        lambda v, t, w: (first.lift(v, t, w), last.lift(v, t, w)),
        lambda a, b: (first.merge(a[0], b[0]), last.merge(a[1], b[1])),
        finish,
    )


def _values(type_: DataType) -> tuple[Callable[[Value, Time, int], State], Callable[[State, State], State]]:
    """States that remember how many there are of each value."""

    def lift(value: Value, _: Time, weight: int) -> State:
        return frozenset([(group_key(value, type_), weight)])

    def merge(a: State, b: State) -> State:
        total: Counter[Value] = Counter(dict(a))
        for value, weight in b:
            total[value] += weight
        return frozenset((value, weight) for value, weight in total.items() if weight)

    return lift, merge


def _count_distinct(type_: DataType, _: tuple[Value, ...], __: str) -> Meaning:
    lift, merge = _values(type_)
    return Meaning(lift, merge, lambda state: sum(1 for _, weight in state if weight > 0), empty=0)


def _percentile(type_: DataType, parameters: tuple[Value, ...], _: str) -> Meaning:
    lift, merge = _values(type_)

    def finish(state: State) -> Value:
        ordered = sorted(((v, w) for v, w in state if w > 0), key=lambda item: order_key(item[0], type_))
        count = sum(weight for _, weight in ordered)
        if not count:
            return None
        place = (count - 1) * Fraction(parameters[0])
        low, high = _nth(ordered, math.floor(place)), _nth(ordered, math.ceil(place))
        share = float(place - math.floor(place))
        # As Spark does it, in doubles: the nearer neighbour weighs more.
        return plain_zero(low if low == high or not share else (1 - share) * low + share * high)

    return Meaning(lift, merge, finish)


def _nth(ordered: list[tuple[Value, int]], place: int) -> float:
    for value, weight in ordered:
        if place < weight:
            return float(value)
        place -= weight
    raise IndexError(place)


def _top_k(type_: DataType, parameters: tuple[Value, ...], _: str) -> Meaning:
    lift, merge = _values(type_)

    def finish(state: State) -> Value:
        ranked = sorted(((v, w) for v, w in state if w > 0), key=lambda item: (-item[1], order_key(item[0], type_)))
        return tuple(ranked[: int(parameters[0])])

    return Meaning(lift, merge, finish, empty=())


def _user(user: UserAggregate) -> Meaning:
    lift = evaluator(user.lift, user.over)
    merge = evaluator(user.merge, Schema((("a", user.state), ("b", user.state))))
    finish = evaluator(user.finish, Schema((("state", user.state),)))

    def lifted(value: Value, _: Time, weight: int) -> State:
        state = one = lift(value)
        for _ in range(weight - 1):
            state = merge((state, one))
        return state

    return Meaning(lifted, lambda a, b: merge((a, b)), lambda state: finish((state,)))


_BUILDERS: dict[str, Callable[[DataType, tuple[Value, ...], str], Meaning]] = {
    **dict.fromkeys(("count", "count_if"), _count),
    "sum": _sum,
    "avg": _avg,
    **dict.fromkeys(("var_samp", "var_pop", "stddev_samp", "stddev_pop"), _spread),
    **dict.fromkeys(("min", "max", "bool_and", "bool_or"), _extreme),
    **dict.fromkeys(("first", "last"), _at_end),
    "delta": _delta,
    "count_distinct": _count_distinct,
    "percentile": _percentile,
    "top_k": _top_k,
}
