"""Conversions as Spark SQL: `try_cast` where it gives NULL for what does not fit, and something longer where not."""

from __future__ import annotations

from tradewind.algebra.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    INTERVAL,
    MICROS,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    as_decimal,
    is_fraction,
    is_integer,
)  # fmt: skip
from tradewind.spark.literals import text_sql
from tradewind.spark.number_text import PLACES, WHOLE_DIGITS, fraction_text
from tradewind.spark.terms import Term, bound, null
from tradewind.spark.types import ddl

_DAY = 86_400_000_000
_BLANK = r"[\x00-\x20\x7F]*+"
_TIME = (
    rf"\A{_BLANK}[+-]?[0-9]{{4}}[0-9T :.\-]*+{_BLANK}"
    rf"(?:Z|(?:UTC|GMT|UT)?(?:[+-][0-9:]*+)?){_BLANK}\z"
)
"""Texts that Spark reads as a time without asking the clock for the day, or a zone for its rules."""

_EXACT_DIGITS = 34
"""Spark rounds decimals of more digits when it makes them whole numbers."""

_SECONDS = 12
"""Whole digits of seconds that are surely within the range of a TIMESTAMP."""

_EXACT_SECONDS = 27
"""Digits in all that Spark can multiply by a million without rounding."""


def cast_sql(term: Term, target: DataType) -> str:
    """A part, converted; NULL where it has no counterpart."""
    source = term.type
    if source == target:
        return term.sql
    function = _plain(source, target)
    if function is not None:
        return f"{function}({term} AS {ddl(target)})"
    if source.name == "ARRAY":
        return _array(term, target)
    if source.name == "STRUCT":
        return _struct(term, target)
    if target == STRING:
        return _text(term)
    if target == TIMESTAMP:
        return _timestamp(term)
    if target == INTERVAL:
        return f"try_multiply(INTERVAL '0 00:00:01' DAY TO SECOND, {term})"
    if target == FLOAT:
        # Adding zero keeps Catalyst from leaving out the FLOAT in BIGINT to FLOAT to DOUBLE.
        return f"(CAST({term} AS FLOAT) + CAST(0 AS FLOAT))"
    if target.name == "DECIMAL":
        double = Term(f"CAST({term} AS DOUBLE)", DOUBLE) if source == FLOAT else term
        return f"try_cast({bound(double, lambda v: fraction_text(v, DOUBLE))} AS {ddl(target)})"
    # A decimal of many digits: what stands before its point.
    return f"try_cast(substring_index(try_cast({term} AS STRING), '.', 1) AS {ddl(target)})"


def _plain(source: DataType, target: DataType) -> str | None:
    """The function that converts every value rightly: `CAST`, which can be pushed into files, where all values have a
    counterpart; None where neither does.
    """
    if source.name in ("ARRAY", "STRUCT") and target.name == source.name:
        pairs = zip(source.fields, target.fields, strict=True)
        return "try_cast" if all(have == want or _plain(have, want) for (_, have), (_, want) in pairs) else None
    if target == STRING:
        return _plain_text(source)
    if target == TIMESTAMP:
        return _plain_timestamp(source)
    if (target == INTERVAL and is_integer(source)) or (target == FLOAT and source in (INT, BIGINT)):
        return None
    if target.name == "DECIMAL" and is_fraction(source):
        precision, scale = target.parameters
        return "try_cast" if precision - scale < WHOLE_DIGITS and scale < PLACES else None
    if source.name == "DECIMAL" and is_integer(target) and source.parameters[0] > _EXACT_DIGITS:
        return None
    return "CAST" if _always_fits(source, target) else "try_cast"


def _plain_text(source: DataType) -> str | None:
    if source.name in ("ARRAY", "STRUCT"):
        return "try_cast" if all(_plain_text(inner) for _, inner in source.fields if inner != STRING) else None
    # `CAST` would write small decimals with a power of ten.
    return None if is_fraction(source) or source == BINARY else "try_cast" if source.name == "DECIMAL" else "CAST"


def _plain_timestamp(source: DataType) -> str | None:
    if source.name == "DECIMAL":
        precision, scale = source.parameters
        return "CAST" if precision <= _EXACT_SECONDS and precision - scale <= _SECONDS else None
    return "CAST" if source == NULL else "try_cast" if is_fraction(source) else None


def _always_fits(source: DataType, target: DataType) -> bool:
    if source == NULL or target in (BOOLEAN, BINARY) or is_fraction(target):
        return source != STRING or target == BINARY
    if source == BOOLEAN and is_integer(target):
        return True
    if is_integer(source) and is_integer(target):
        return INTEGERS.index(source) <= INTEGERS.index(target)
    if is_integer(source) and target.name == "DECIMAL":
        return as_decimal(source).parameters[0] <= target.parameters[0] - target.parameters[1]
    if source.name == target.name == "DECIMAL":
        (p1, s1), (p2, s2) = source.parameters, target.parameters
        return p1 - s1 <= p2 - s2 and s1 <= s2
    return source == TIMESTAMP and target == DATE


def _text(term: Term) -> str:
    if term.type == BINARY:
        return f"make_valid_utf8(CAST({term} AS STRING))"
    return bound(term, lambda v: fraction_text(v, term.type))


def _timestamp(term: Term) -> str:
    source = term.type
    if source == STRING:
        return bound(term, lambda v: f"try_cast(if({v} RLIKE {text_sql(_TIME)}, {v}, NULL) AS TIMESTAMP)")
    if source == DATE:
        return f"timestamp_micros(try_multiply(CAST(unix_date({term}) AS BIGINT), {_DAY}L))"
    if source.name != "DECIMAL":
        return f"timestamp_micros(try_multiply(CAST({term} AS BIGINT), {MICROS}L))"
    # Cut after six places; the digits without their point are microseconds.
    padded = f"concat(try_cast({term} AS STRING), '{'' if source.parameters[1] else '.'}000000')"
    digits = f"regexp_substr({padded}, '-?[0-9]+[.][0-9]{{6}}')"
    return f"timestamp_micros(try_cast(replace({digits}, '.', '') AS BIGINT))"


def _array(term: Term, target: DataType) -> str:
    each = Term("e", term.type.element, simple=True)
    if target == STRING:
        return f"concat('[', array_join(transform({term}, e -> {cast_sql(each, STRING)}), ', ', 'null'), ']')"
    return f"transform({term}, e -> {cast_sql(each, target.element)})"


def _struct(term: Term, target: DataType) -> str:
    def fields(v: str) -> list[Term]:
        return [Term(f"{v}[{text_sql(name)}]", inner, simple=True) for name, inner in term.type.fields]

    def as_text(v: str) -> str:
        parts = [f"coalesce({cast_sql(field, STRING)}, 'null')" for field in fields(v)]
        return f"if({v} IS NULL, NULL, concat('{{', concat_ws(', ', {', '.join(parts)}), '}}'))"

    def as_struct(v: str) -> str:
        pairs = zip(fields(v), target.fields, strict=True)
        parts = ", ".join(f"{text_sql(name)}, {cast_sql(field, inner)}" for field, (name, inner) in pairs)
        return f"if({v} IS NULL, {null(target)}, named_struct({parts}))"

    return bound(term, as_text if target == STRING else as_struct)
