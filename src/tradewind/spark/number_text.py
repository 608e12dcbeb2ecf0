"""FLOAT and DOUBLE as text, whatever Java runs.

Java's digits are those of the interpreter but for whole numbers from 2^53 on (2^24 for FLOAT) and the smallest FLOATs:
there Java 17 does not always find the shortest ones, and newer versions never give the longer ones that the
interpreter takes below 2^63. So for these numbers, which are rare, the digits are worked out here.
"""

from __future__ import annotations

from tradewind.algebra.types import FLOAT, DataType

FROM_TEXT_ON = 16
"""Decimals of so many whole digits can hold numbers whose digits are worked out here."""

_TOP = "8.507059173023462E37D"  # 2^126, up to which DECIMAL holds all digits; beyond, Java is right
_LONG = "9.223372036854775808E18D"  # 2^63
_WHOLE = {24: "1.6777216E7D", 53: "9.007199254740992E15D"}
_TINY = "2.8698592549372254E-42D"  # 2^-138: below, a FLOAT has hardly any digits left
_SHIFT = 60


def fraction_text(v: str, type_: DataType) -> str:
    """The number that a name stands for, as text."""
    bits = 24 if type_ == FLOAT else 53
    sign, size = f"if({v} < 0, '-', '')", f"abs({v})"
    whole = f"WHEN {size} >= {_WHOLE[bits]} AND {size} < {_TOP} THEN concat({sign}, {_worked_out(size, bits, 0)})"
    tiny = f"WHEN {size} < {_TINY} AND {v} <> 0 THEN concat({sign}, {_worked_out(size, bits, -_SHIFT)})"
    return f"CASE {whole}{f' {tiny}' if type_ == FLOAT else ''} ELSE CAST({v} AS STRING) END"


def rounded_sql(v: str, places: int) -> str:
    """The DOUBLE that a name stands for, rounded to tens, hundreds and so on, which goes by the digits of its text."""
    text = fraction_text(v, FLOAT if False else DataType("DOUBLE"))
    large = f"abs({v}) >= {_WHOLE[53]} AND abs({v}) < 1.0E37D"
    return f"CASE WHEN {large} THEN CAST(round(CAST({text} AS DECIMAL(38,0)), {places}) AS DOUBLE) ELSE round({v}, {places}) END"


def _worked_out(size: str, bits: int, shift: int) -> str:
    """The text of a number above zero, whose digits, scaled by a power of ten, are those of a whole number.

    They are rounded to two places, three and so on, until the result is read as the number again. Below 2^63 the
    interpreter knows at once how many places there are.
    """
    kind, most = ("FLOAT", 9) if bits == 24 else ("DOUBLE", 17)
    digits = f"CAST({_whole_digits(size) if not shift else f'CAST({size} * 1.0E{-shift}D AS BIGINT)'} AS STRING)"
    numbers = f"named_struct('x', {size}, 'd', {digits})"
    spare = f"CAST((length(bin(CAST(p.x AS BIGINT))) - {bits + 2}) * 0.3010299956639812D AS INT)"
    tried = f"sequence(2, {most})"
    tried = tried if shift else f"if(p.x < {_LONG}, array(length(p.d) - greatest({spare}, 0)), {tried})"
    cut = "CAST(CAST(left(p.d, k) AS BIGINT) + if(substring(p.d, k + 1, 1) >= '5', 1, 0) AS STRING)"
    candidates = f"transform({tried}, k -> concat({cut}, repeat('0', length(p.d) - k)))"
    read = f"CAST(concat(z, 'E{shift}') AS {kind})"
    mantissa = "concat(left(z, 1), '.', coalesce(nullif(trim(TRAILING '0' FROM substring(z, 2)), ''), '0'))"
    written = f"concat({mantissa}, 'E', length(z) - 1 + {shift})"
    found = f"element_at(transform(filter({candidates}, z -> {read} = p.x), z -> {written}), 1)"
    return f"element_at(transform(array({numbers}), p -> {found}), 1)"


def _whole_digits(size: str) -> str:
    """A whole number up to 2^126 as a decimal, its two halves apart, because DOUBLE to DECIMAL goes by the text."""
    high = f"CAST(CAST({size} / {_LONG} AS BIGINT) AS DECIMAL(19,0))"
    return f"{high} * 9223372036854775808BD + CAST({size} % {_LONG} AS BIGINT)"
