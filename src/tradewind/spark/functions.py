"""Calls as Spark SQL, by the function's name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tradewind.algebra.civil import DAY, civil, first_day
from tradewind.algebra.expressions.functions import FUNCTIONS
from tradewind.algebra.types import MICROS, STRING, DataType, is_fraction
from tradewind.spark import arithmetic
from tradewind.spark.arithmetic import Printer
from tradewind.spark.literals import one_zero, text_sql
from tradewind.spark.terms import Term, bound, call, infix, null

_SIZES = {
    "microsecond": 1, "millisecond": 1_000, "second": MICROS, "minute": 60 * MICROS, "hour": 3_600 * MICROS, "day": DAY,
}  # fmt: skip
_PATTERN = r"[^\\]*+(?:\\[\\%_][^\\]*+)*+"
"""Patterns of LIKE whose backslashes make sense; Spark stops at others."""

_WHOLE_PATTERN = rf"\A{_PATTERN}\z"


def call_sql(name: str, arguments: Sequence[Term], result: DataType) -> str:
    """A function of parts; the parts have the types that the function wants."""
    function = FUNCTIONS.get(name)
    if function is not None and function.strict and any(a.is_null or a.type.name == "VOID" for a in arguments):
        return null(result)
    printer = PRINTERS.get(name)
    return printer(arguments, result) if printer else call(name, *arguments)


def _joined(word: str) -> Printer:
    return lambda arguments, _: "(" + f" {word} ".join(map(str, arguments)) + ")"


def _around(before: str, behind: str) -> Printer:
    return lambda arguments, _: f"({before}{arguments[0]}{behind})"


def _in(arguments: Sequence[Term], _: DataType) -> str:
    # Spark looks among many constants by their bits, which -0.0 and 0.0 do not share.
    subject, *values = (one_zero(each) if is_fraction(each.type) else each.sql for each in arguments)
    return f"({subject} IN ({', '.join(values)}))"


def _like(arguments: Sequence[Term], result: DataType) -> str:
    text, pattern = arguments
    if pattern.constant is not None:
        sensible = re.fullmatch(_PATTERN, str(pattern.constant.value))
        return infix(text, "LIKE", pattern) if sensible else null(result)
    # The letter at both ends keeps an empty pattern, for which there is no match, from being taken for a bad one.
    checked = f"regexp_substr(concat({pattern}, 'x'), {text_sql(_WHOLE_PATTERN)})"
    return f"(concat({text}, 'x') LIKE {checked})"


def _concat_ws(arguments: Sequence[Term], _: DataType) -> str:
    return call("concat_ws", *(null(STRING) if a.type != STRING else a for a in arguments))


def _bytes(function: str) -> Printer:
    return lambda arguments, _: f"{function}(CAST({arguments[0]} AS BINARY))"


def _not_zero(function: str) -> Printer:
    """Functions that stop at the position zero."""

    def printed(arguments: Sequence[Term], _: DataType) -> str:
        *others, position = arguments
        safe = position.constant is not None and position.constant.value != 0
        return call(function, *others, position if safe else f"nullif({position}, 0)")

    return printed


def _date_trunc(arguments: Sequence[Term], _: DataType) -> str:
    unit = str(arguments[0].constant.value).lower() if arguments[0].constant else ""
    first = f"timestamp_micros({_first_start(unit)}L)"
    return bound(arguments[1], lambda v: f"if({v} >= {first}, date_trunc({text_sql(unit)}, {v}), NULL)")


def _first_start(unit: str) -> int:
    """The earliest start of a unit of time within TIMESTAMP's range; Spark stops at times before it."""
    if unit in _SIZES:
        return -(2**63 // _SIZES[unit]) * _SIZES[unit]
    day = -(2**63) // DAY
    if unit == "week":
        # 1970 began on a Thursday, so days 4 after a multiple of 7 are Mondays.
        return (day + 7 - (day - 4) % 7) * DAY
    # That day lies in a December, so the next month, quarter and year begin together.
    return first_day(civil(day)[0] + 1) * DAY


def _days(guarded: str) -> Printer:
    return lambda arguments, _: f"date_from_unix_date({guarded}(unix_date({arguments[0]}), {arguments[1]}))"


def _datediff(arguments: Sequence[Term], _: DataType) -> str:
    return f"try_subtract(unix_date({arguments[0]}), unix_date({arguments[1]}))"


def _scaled(by: int) -> Printer:
    return lambda arguments, _: f"timestamp_micros(try_multiply({arguments[0]}, {by}L))"


PRINTERS: dict[str, Printer] = {
    **arithmetic.PRINTERS,
    **{operator: _joined(operator) for operator in ("=", "<>", "<", "<=", ">", ">=", "<=>")},
    "and": _joined("AND"), "or": _joined("OR"), "not": _around("NOT ", ""), "in": _in, "like": _like,
    "isnull": _around("", " IS NULL"), "isnotnull": _around("", " IS NOT NULL"),
    "concat_ws": _concat_ws, "crc32": _bytes("crc32"), "md5": _bytes("md5"), "split_part": _not_zero("split_part"),
    "element_at": _not_zero("element_at"), "size": lambda arguments, _: call("array_size", *arguments),
    "date_trunc": _date_trunc, "date_add": _days("try_add"), "date_sub": _days("try_subtract"), "datediff": _datediff,
    "timestamp_seconds": _scaled(MICROS), "timestamp_millis": _scaled(1_000),
}  # fmt: skip
"""How calls are printed that are more than the function's name before its arguments."""
