"""FLOAT and DOUBLE as text, whatever Java runs.

Java's digits are the interpreter's but for powers of two below 0.001, whole numbers from 2^53 on (2^24 for FLOAT) and
the smallest FLOATs: there Java 17 does not always find the shortest ones, and newer versions never give the longer ones
that the interpreter takes for whole numbers below 2^63. So for these numbers, which are rare, the digits are searched.
"""

from __future__ import annotations

from tradewind.algebra.types import DOUBLE, FLOAT, DataType
from tradewind.spark.types import ddl

WHOLE_DIGITS, PLACES = 16, 19
"""Decimals of so many digits before or behind the point can tell numbers apart whose digits are searched."""

_TINY, _SMALL = "2.8698592549372254E-42D", "1.0E-3D"
"""2^-138, below which a FLOAT has hardly any digits left, and 0.001."""

_LONG, _TOP = "9.223372036854775808E18D", "8.507059173023462E37D"
"""2^63, up to which a number fits BIGINT, and 2^126, up to which all its digits fit DECIMAL(38,0)."""

_WHOLE = {FLOAT: "1.6777216E7D", DOUBLE: "9.007199254740992E15D"}
_BITS, _MOST = {FLOAT: 24, DOUBLE: 53}, {FLOAT: 9, DOUBLE: 17}


def fraction_text(v: str, type_: DataType) -> str:
    """The number that a name stands for, as text."""
    size = f"abs({v})"
    odd = f"{size} >= {_WHOLE[type_]} AND {size} < {_TOP}"
    far = f"{size} < {_SMALL} OR {size} >= {_TOP} AND {size} < CAST('Infinity' AS DOUBLE)"
    odd += f" OR ({far}) AND {size} = pow(2, rint(log2({size})))"
    if type_ == FLOAT:
        odd += f" OR {size} < {_TINY} AND {v} <> 0"
    return f"CASE WHEN {odd} THEN concat(if({v} < 0, '-', ''), {_searched(size, type_)}) ELSE CAST({v} AS STRING) END"


def rounded_sql(v: str, places: int) -> str:
    """The DOUBLE that a name stands for, rounded to tens, hundreds and so on, which goes by the digits of its text."""
    large = f"abs({v}) >= {_WHOLE[DOUBLE]} AND abs({v}) < 1.0E37D"
    number = f"CAST(round(CAST({fraction_text(v, DOUBLE)} AS DECIMAL(38,0)), {places}) AS DOUBLE)"
    return f"CASE WHEN {large} THEN {number} ELSE round({v}, {places}) END"


def _searched(size: str, type_: DataType) -> str:
    """The text of a number above zero: of the digits that are read as it again, the fewest, but at least two.

    Below 2^63 the interpreter knows at once how many they are.
    """
    text, whole = f"CAST(CAST({size} AS DOUBLE) AS STRING)", f"{size} >= {_WHOLE[type_]} AND {size} < {_TOP}"
    digits = f"if({whole}, {_all_digits(size)}, {_text_digits(text)})"
    power = f"if({whole}, 0, {_text_power(text)})"
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
