"""FLOAT and DOUBLE as text, whatever Java runs.

Java's digits are the interpreter's for all numbers from 0.001 to 2^53 (2^24 for FLOAT). Beyond, Java 17 does not always
find the shortest ones, and newer versions never give the longer ones that the interpreter takes for whole numbers
below 2^63. So for these numbers, which are rare, the digits are searched here.
"""

from __future__ import annotations

from tradewind.algebra.types import DOUBLE, FLOAT, DataType
from tradewind.spark.types import ddl

WHOLE_DIGITS, PLACES = 16, 19
"""Decimals of so many digits before or behind the point can tell numbers apart whose digits are searched."""

_SMALL, _LONG, _TOP = "1.0E-3D", "9.223372036854775808E18D", "8.507059173023462E37D"
"""0.001; 2^63, up to which a number fits BIGINT; 2^126, up to which all digits fit DECIMAL(38,0)."""

_WHOLE = {FLOAT: "1.6777216E7D", DOUBLE: "9.007199254740992E15D"}
_BITS, _MOST = {FLOAT: 24, DOUBLE: 53}, {FLOAT: 9, DOUBLE: 17}


def fraction_text(v: str, type_: DataType) -> str:
    """The number that a name stands for, as text."""
    size = f"abs({v})"
    usual = f"{v} = 0 OR {size} >= {_SMALL} AND {size} < {_WHOLE[type_]} OR {size} >= CAST('Infinity' AS DOUBLE)"
    searched = f"concat(if({v} < 0, '-', ''), {_searched(size, type_)})"
    return f"CASE WHEN {usual} THEN CAST({v} AS STRING) ELSE {searched} END"


def rounded_sql(v: str, places: int) -> str:
    """The DOUBLE that a name stands for, rounded to tens, hundreds and so on, which goes by the digits of its text."""
    large = f"abs({v}) >= {_WHOLE[DOUBLE]} AND abs({v}) < 1.0E37D"
    number = f"CAST(round(CAST({fraction_text(v, DOUBLE)} AS DECIMAL(38,0)), {places}) AS DOUBLE)"
    return f"CASE WHEN {large} THEN {number} ELSE round({v}, {places}) END"


def _searched(size: str, type_: DataType) -> str:
    """The text of a number above zero: of the digits that are read as it again, the fewest, but at least two.

    Below 2^63 the interpreter knows at once how many they are.
    """
    text = f"CAST(CAST({size} AS DOUBLE) AS STRING)"
    digits = f"if({size} >= {_WHOLE[type_]} AND {size} < {_TOP}, {_all_digits(size)}, {_text_digits(text)})"
    power = f"if({size} >= {_WHOLE[type_]} AND {size} < {_TOP}, 0, {_text_power(text)})"
    known = f"array(length(p.d) - greatest({_spare('p.x', type_)}, 0))"
    places = f"if(p.x >= {_WHOLE[type_]} AND p.x < {_LONG}, {known}, sequence(2, {_MOST[type_]}))"
    found = f"filter(flatten(transform({places}, k -> {_candidates(type_)})), c -> CAST(c AS {ddl(type_)}) = p.x)"
    number = f"named_struct('x', {size}, 'd', {digits}, 'e', {power})"
    return f"element_at(transform(array({number}), p -> {_written(f'element_at({found}, 1)')}), 1)"


def _all_digits(size: str) -> str:
    """Those of a whole number, from its two halves, because DOUBLE to DECIMAL goes by Java's text."""
    high = f"CAST(CAST({size} / {_LONG} AS BIGINT) AS DECIMAL(19,0))"
    return f"CAST({high} * 9223372036854775808BD + CAST({size} % {_LONG} AS BIGINT) AS STRING)"


def _text_digits(text: str) -> str:
    return f"replace(substring_index({text}, 'E', 1), '.', '')"


def _text_power(text: str) -> str:
    return f"CAST(substring_index({text}, 'E', -1) AS INT) - length({_text_digits(text)}) + 1"


def _spare(number: str, type_: DataType) -> str:
    """How many digits of a whole number are zeros, by the bits that its type does not keep."""
    return f"CAST((length(bin(CAST({number} AS BIGINT))) - {_BITS[type_] + 2}) * 0.3010299956639812D AS INT)"


def _candidates(type_: DataType) -> str:
    """The number rounded to k digits; and rounded up, as beside a power of two there is less room below than above."""
    begun = "CAST(left(p.d, k) AS BIGINT)"
    power = "'E', p.e + greatest(length(p.d) - k, 0)"
    rest, odd = "substring(p.d, k + 1)", "CAST(substring(p.d, k, 1) AS INT) % 2 = 1"
    nearest = f"concat({begun} + if({rest} > '5' OR {rest} = '5' AND {odd}, 1, 0), {power})"
    return f"array({nearest}, concat({begun} + 1, {power}))" if type_ == DOUBLE else f"array({nearest})"


def _written(candidate: str) -> str:
    """Digits and a power as Java writes them: one digit before the point and at least one behind it."""
    behind = "coalesce(nullif(trim(TRAILING '0' FROM substring(c.d, 2)), ''), '0')"
    text = f"concat(left(c.d, 1), '.', {behind}, 'E', length(c.d) - 1 + c.e)"
    parts = "named_struct('d', substring_index(c, 'E', 1), 'e', CAST(substring_index(c, 'E', -1) AS INT))"
    return f"element_at(transform(transform(array({candidate}), c -> {parts}), c -> {text}), 1)"
