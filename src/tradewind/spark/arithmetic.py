"""Numbers and times under the arithmetic operators, as Spark SQL that gives NULL where a result leaves its type."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tradewind.algebra.expressions.tree import Literal
from tradewind.algebra.types import BIGINT, DOUBLE, INTERVAL, MAX_PRECISION, TIMESTAMP, DataType, is_integer
from tradewind.interpreter.functions_number import MOST_QUOTIENT, has_wide_quotient
from tradewind.spark.casts import cast_sql
from tradewind.spark.literals import literal_sql
from tradewind.spark.number_text import rounded_sql
from tradewind.spark.spans import exact_span
from tradewind.spark.terms import Term, bound, bound_pair, call, infix, type_span, within
from tradewind.spark.types import ddl

Printer = Callable[[Sequence[Term], DataType], str]

_EXACT_DIGITS = 34
"""Spark rounds decimals of more digits when it turns their sign."""

_PLACES = 400
"""No DOUBLE has a digit so many places before or after the point."""

_LEAST, _END = "-9.223372036854775808E18D", "9.223372036854775808E18D"


def _fits(function: str, arguments: Sequence[Term], result: DataType) -> bool:
    """Whether the plain operator is right: nothing can leave its type, or it gives NULL by itself."""
    if is_integer(result):
        return within(exact_span(function, [argument.span for argument in arguments]), result)
    return result not in (TIMESTAMP, INTERVAL)


def _operator(symbol: str, guarded: str) -> Printer:
    def printed(arguments: Sequence[Term], result: DataType) -> str:
        if _fits(symbol, arguments, result):
            return infix(arguments[0], symbol, arguments[1])
        # Times come first, and intervals before numbers.
        first, second = sorted(arguments, key=_rank) if symbol != "-" else arguments
        if result == TIMESTAMP:
            return f"timestamp_micros({guarded}(unix_micros({first}), {_micros(second)}))"
        return call(guarded, first, second)

    return printed


def _micros(interval: Term) -> str:
    """An interval's microseconds. Spark has no function for them, and cannot subtract the least interval."""
    if interval.constant is not None and isinstance(interval.constant.value, int):
        return literal_sql(Literal(interval.constant.value, BIGINT))
    return f"unix_micros(timestamp_micros(0L) + {interval})"


def _rank(term: Term) -> int:
    return 0 if term.type == TIMESTAMP else 1 if term.type == INTERVAL else 2


def _negative(arguments: Sequence[Term], result: DataType) -> str:
    (value,) = arguments
    if result.name == "DECIMAL" and result.parameters[0] > _EXACT_DIGITS:
        return f"CAST(replace(concat('-', try_cast({value} AS STRING)), '--', '') AS {ddl(result)})"
    if _fits("negative", arguments, result):
        return call("negative", value)
    return call("try_subtract", literal_sql(Literal(0, result)), value)


def _abs(arguments: Sequence[Term], result: DataType) -> str:
    (value,) = arguments
    if result.name == "DECIMAL" and result.parameters[0] > _EXACT_DIGITS:
        return f"CAST(replace(try_cast({value} AS STRING), '-', '') AS {ddl(result)})"
    limits = type_span(result)
    if limits is None or _fits("abs", arguments, result):
        return call("abs", value)
    # Only the least number has no counterpart, and is given as it is.
    return call("nullif", call("abs", value), literal_sql(Literal(limits[0], result)))


def _div(arguments: Sequence[Term], _: DataType) -> str:
    left, right = arguments
    plain = infix(left, "div", right)
    if left.type.name == "DECIMAL":
        # A quotient has at most as many whole digits as the operands have digits.
        return plain if left.type.parameters[0] <= 18 else bound_pair(left, right, _checked_quotient)
    divisor = right.constant.value if right.constant else -1
    if divisor != -1 or left.type != BIGINT or (left.span is not None and left.span[0] > -(2**63)):
        return plain
    return bound_pair(left, right, lambda a, b: f"if({b} = -1, try_subtract(0L, {a}), {a} div {b})")


def _checked_quotient(left: str, right: str) -> str:
    """Beyond BIGINT, Spark's quotient is off by a multiple of 2^64, which even a rough one shows."""
    rough = f"CAST({left} AS DOUBLE) / CAST({right} AS DOUBLE)"
    return f"if(abs({rough} - {left} div {right}) < 1.0E18D, {left} div {right}, NULL)"


def _remainder(written: Callable[[str, str], str]) -> Printer:
    def printed(arguments: Sequence[Term], result: DataType) -> str:
        left, right = arguments
        if result.name != "DECIMAL" or not has_wide_quotient(left.type, right.type):
            return written(left.sql, right.sql)
        return bound_pair(left, right, lambda a, b: _checked_remainder(written, a, b))

    return printed


def _checked_remainder(written: Callable[[str, str], str], left: str, right: str) -> str:
    """Spark raises where the quotient has more digits than it calculates with."""
    rough = f"CAST({left} AS DOUBLE) / CAST({right} AS DOUBLE)"
    return f"if(abs({rough}) < {MOST_QUOTIENT!r}D, {written(left, right)}, NULL)"


def _toward(function: str) -> Printer:
    def printed(arguments: Sequence[Term], result: DataType) -> str:
        (value,) = arguments
        if is_integer(value.type) or value.type.parameters[1:] == (0,):
            return cast_sql(value, result)
        if value.type != DOUBLE:
            return call(function, value)
        return bound(value, lambda v: f"if({v} >= {_LEAST} AND {v} < {_END}, {function}({v}), NULL)")

    return printed


def _round(arguments: Sequence[Term], result: DataType) -> str:
    value = arguments[0]
    constant = arguments[1].constant if len(arguments) > 1 else None
    places = max(min(int(constant.value), _PLACES), -_PLACES) if constant and constant.value is not None else 0
    if result.name == "DECIMAL":
        return _rounded_decimal(value, places)
    if not is_integer(result):
        return f"round({value}, {places})" if places >= 0 else bound(value, lambda v: rounded_sql(v, places))
    if places >= 0:
        return value.sql
    # Rounded to twenty places before the point, nothing is left of any whole number.
    return f"try_cast(round(CAST({value} AS DECIMAL(20,0)), {max(places, -20)}) AS {ddl(result)})"


def _rounded_decimal(value: Term, places: int) -> str:
    """Spark raises where rounding to tens, hundreds and so on gives a 39th digit."""
    precision, scale = value.type.parameters
    if scale or precision < MAX_PRECISION or not -MAX_PRECISION <= places < 0:
        return f"round({value}, {places})"
    limit = 10**MAX_PRECISION - 5 * 10 ** (-places - 1)
    return bound(value, lambda v: f"if({v} > -{limit}BD AND {v} < {limit}BD, round({v}, {places}), NULL)")


def _binary(symbol: str) -> Printer:
    return lambda arguments, _: infix(arguments[0], symbol, arguments[1])


PRINTERS: dict[str, Printer] = {
    "+": _operator("+", "try_add"), "-": _operator("-", "try_subtract"), "*": _operator("*", "try_multiply"),
    "/": _binary("/"), "%": _remainder(lambda a, b: f"({a} % {b})"),
    "pmod": _remainder(lambda a, b: f"pmod({a}, {b})"), "div": _div, "negative": _negative, "abs": _abs,
    "floor": _toward("floor"), "ceil": _toward("ceil"), "round": _round,
}  # fmt: skip
"""How calls of these are printed, from their arguments and the result's type."""
