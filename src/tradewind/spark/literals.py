"""Constants as Spark SQL: each with exactly its type and value."""

from __future__ import annotations

import math
from decimal import Decimal

from tradewind.algebra.expressions.constants import decimal_type
from tradewind.algebra.expressions.tree import Literal
from tradewind.algebra.types import DataType
from tradewind.errors import InternalError
from tradewind.interpreter.time_text import interval_text
from tradewind.spark.terms import Term, null
from tradewind.spark.types import ddl

_SUFFIX = {"TINYINT": "Y", "SMALLINT": "S", "INT": "", "BIGINT": "L"}


def literal_sql(literal: Literal) -> str:
    """A constant.

    >>> from tradewind.algebra.types import BIGINT, STRING, TIMESTAMP
    >>> [literal_sql(Literal(*each)) for each in ((5, BIGINT), ("it's", STRING), (-1, TIMESTAMP))]
    ['5L', "'it\\\\'s'", 'timestamp_micros(-1L)']
    """
    match literal.value:
        case None:
            return null(literal.type)
        case bool(value):
            return "true" if value else "false"
        case str(value):
            return text_sql(value)
        case bytes(value):
            return f"X'{value.hex().upper()}'"
        case Decimal() as value:
            return _decimal(value, literal.type)
        case float(value):
            return _fraction(value, literal.type)
        case int(value):
            return _whole(value, literal.type)
    raise InternalError(f"a constant of type {literal.type} cannot be printed for Spark.")


def text_sql(text: str) -> str:
    """A text. Spark puts settings and variables in the place of `${…}` even inside quotes, so that is written apart."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{")
    return f"'{escaped}'"


def one_zero(term: Term) -> str:
    """A FLOAT or DOUBLE that is never -0.0: what compares equal must be the same."""
    return f"({term} + {_fraction(0.0, term.type)})" if term.signed else term.sql


def _decimal(value: Decimal, type_: DataType) -> str:
    return f"{value:f}BD" if decimal_type(value) == type_ else f"CAST('{value:f}' AS {ddl(type_)})"


def _fraction(value: float, type_: DataType) -> str:
    if not math.isfinite(value):
        word = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f"CAST('{word}' AS {ddl(type_)})"
    return f"CAST({value!r}D AS FLOAT)" if type_.name == "FLOAT" else f"{value!r}D"


def _whole(value: int, type_: DataType) -> str:
    match type_.name:
        case "TIMESTAMP":
            return f"timestamp_micros({value}L)"
        case "DATE":
            return f"date_from_unix_date({value})"
        case "INTERVAL":
            return interval_text(value)
        case "FLOAT" | "DOUBLE":
            return _fraction(float(value), type_)
        case name if name in _SUFFIX:
            return f"{value}{_SUFFIX[name]}"
    raise InternalError(f"the number {value} of type {type_} cannot be printed for Spark.")
