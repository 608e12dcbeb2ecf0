"""Prints an expression as Spark SQL: one way for each tree, and reading it back gives the same tree."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from tradewind.algebra.durations import format_duration
from tradewind.algebra.expressions.constants import decimal_type
from tradewind.algebra.expressions.dialect import KEYWORDS
from tradewind.algebra.expressions.tree import Call, Case, Cast, Column, Expression, Field, Literal
from tradewind.algebra.times import format_date, format_timestamp
from tradewind.errors import InternalError

_LEVELS = {"or": 1, "and": 2, "not": 3}
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>", "like")
_LEVELS |= dict.fromkeys((*_COMPARISONS, "in", "isnull", "isnotnull"), 4)
_LEVELS |= {"+": 5, "-": 5, "*": 6, "/": 6, "%": 6, "div": 6, "negative": 7}
_TIGHT = 9
_BEFORE_OR_BEHIND = ("not", "negative", "isnull", "isnotnull")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_WORDS = KEYWORDS | {
    "at", "by", "cast", "cluster", "distribute", "explode", "group", "if", "order", "sort", "user",
}  # fmt: skip
"""Names that need back-quotes: the parser's own words, and further ones that Spark gives a meaning to."""

_SUFFIX = {"TINYINT": "Y", "SMALLINT": "S", "BIGINT": "L", "DOUBLE": "D"}


def print_expression(expression: Expression) -> str:
    """Canonical Spark SQL for an expression.

    >>> from tradewind.algebra.expressions.parse import parse_raw
    >>> print_expression(parse_raw("a+1<b AND (c OR d)"))
    'a + 1 < b AND (c OR d)'
    """
    return _printed(expression, 0)


def print_name(name: str) -> str:
    """A name, in back-quotes where it needs them.

    >>> print_name("domain"), print_name("a b"), print_name("end")
    ('domain', '`a b`', '`end`')
    """
    plain = _PLAIN_NAME.fullmatch(name) and name.lower() not in _WORDS
    return name if plain else "`" + name.replace("`", "``") + "`"


def _printed(expression: Expression, outer: int) -> str:
    match expression:
        case Column(name=name):
            return print_name(name)
        case Literal():
            return _literal(expression)
        case Field(of=of, name=name):
            return f"{_printed(of, _TIGHT)}.{print_name(name)}"
        case Cast(of=of, type=type_):
            return f"CAST({_printed(of, 0)} AS {type_})"
        case Case(branches=branches, otherwise=otherwise):
            whens = " ".join(f"WHEN {_printed(c, 0)} THEN {_printed(v, 0)}" for c, v in branches)
            return f"CASE {whens} ELSE {_printed(otherwise, 0)} END"
        case Call(function=name):
            level = _LEVELS.get(name, _TIGHT)
            text = _call(expression, level)
            return f"({text})" if level < outer else text


def _call(call: Call, level: int) -> str:
    name, arguments = call.function, call.arguments
    if name in ("and", "or") and len(arguments) > 1:
        return f" {name.upper()} ".join(_printed(a, level + 1) for a in arguments)
    if name == "in" and len(arguments) > 1:
        values = ", ".join(_printed(a, 0) for a in arguments[1:])
        return f"{_printed(arguments[0], level + 1)} IN ({values})"
    if len(arguments) == 1 and name in _BEFORE_OR_BEHIND:
        return _one_sided(name, arguments[0], level)
    if len(arguments) == 2 and name in _LEVELS:
        left = level + 1 if name in _COMPARISONS else level
        return f"{_printed(arguments[0], left)} {name.upper()} {_printed(arguments[1], level + 1)}"
    if name == "count" and not arguments:
        return "count(*)"
    if name == "count_distinct" and len(arguments) == 1:
        return f"count(DISTINCT {_printed(arguments[0], 0)})"
    return f"{name}({', '.join(_printed(a, 0) for a in arguments)})"


def _one_sided(name: str, of: Expression, level: int) -> str:
    if name == "not":
        nested = isinstance(of, Call) and of.function == "not"
        return f"NOT {_printed(of, level if nested else level + 2)}"
    if name == "negative":
        return f"-({_printed(of, 0)})"
    return f"{_printed(of, level + 1)} IS {'NULL' if name == 'isnull' else 'NOT NULL'}"


def _literal(literal: Literal) -> str:
    value, kind = literal.value, literal.type.name
    if value is None:
        return "NULL" if kind == "VOID" else f"CAST(NULL AS {literal.type})"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    if isinstance(value, Decimal):
        own = decimal_type(value)
        return f"{value:f}BD" if own == literal.type else f"CAST({value:f}BD AS {literal.type})"
    if kind == "INTERVAL":
        number, unit = format_duration(int(value)).split(" ")
        return f"INTERVAL '{number}' {unit.upper()}"
    if kind == "TIMESTAMP":
        return f"TIMESTAMP '{format_timestamp(int(value))}'"
    if kind == "DATE":
        return f"DATE '{format_date(int(value))}'"
    return _number(literal, value)


def _number(literal: Literal, value: float) -> str:
    kind = literal.type.name
    if not math.isfinite(value):
        word = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f"CAST('{word}' AS {kind})"
    if kind == "INT":
        return str(value)
    if kind == "FLOAT":
        return f"CAST({value!r}D AS FLOAT)"
    if kind not in _SUFFIX:
        raise InternalError(f"a constant of type {literal.type} cannot be printed.")
    return f"{value!r}{_SUFFIX[kind]}"
