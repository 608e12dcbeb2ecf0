"""Numbers written as Java writes them, and read as Java reads them."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from tradewind.algebra.types import DOUBLE, FLOAT, DataType
from tradewind.interpreter.values import single, single_of, whole

BLANKS = "".join(map(chr, (*range(33), 127)))
"""What Spark strips from both ends of a text before it reads something else than a number with a fraction in it."""

_SPACES = "".join(map(chr, range(33)))
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?")
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,10})?")
_NAMED = {
    "nan": math.nan, "inf": math.inf, "+inf": math.inf, "infinity": math.inf, "+infinity": math.inf, "-inf": -math.inf,
    "-infinity": -math.inf,
}  # fmt: skip
_PLAIN = (Decimal("0.001"), Decimal(10_000_000))  # outside, Java writes a power of ten


def fraction_text(value: float, type_: DataType) -> str:
    """A FLOAT or DOUBLE as Java 17 writes it.

    >>> from tradewind.algebra.types import DOUBLE
    >>> [fraction_text(x, DOUBLE) for x in (1e10, 100000.0, 0.001, 2e-4, -0.0, math.inf)]
    ['1.0E10', '100000.0', '0.001', '2.0E-4', '-0.0', 'Infinity']
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    number = digits_of(value, type_).copy_abs()
    if number == 0:
        return f"{sign}0.0"
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0")
    power = number.adjusted()
    if not _PLAIN[0] <= number < _PLAIN[1]:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"
    if power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{digits}"
    return f"{sign}{digits[: power + 1]:0<{power + 1}}.{digits[power + 1 :] or '0'}"


def digits_of(value: float, type_: DataType) -> Decimal:
    """The decimal number that Java 17 prints for a finite FLOAT or DOUBLE; it rounds and converts that one too."""
    bits = 24 if type_ == FLOAT else 53
    if value == 0 or value != int(value) or not bits < (length := int(abs(value)).bit_length()) <= 63:
        return _shortest(value, type_)
    # Java before 19 does not look for the fewest digits here: it cuts those that a last bit's half decides.
    spare = length - bits - 2
    cut: int = 10 ** (int(spare * math.log10(2)) if spare > 1 else 0)
    number = (abs(int(value)) + cut // 2) // cut * cut
    return Decimal(number if value > 0 else -number)


def _shortest(value: float, type_: DataType) -> Decimal:
    """The number of fewest digits, but at least two, that is nearer to the value than to any other of its type."""
    if type_ == DOUBLE:
        number = Decimal(repr(value))
        return number if len(number.as_tuple().digits) > 1 else Decimal(f"{value:.1e}")
    candidates = (Decimal(f"{value:.{digits}e}") for digits in range(1, 9))
    return next(number for number in candidates if single_of(number) == value)


def parse_fraction(text: str, type_: DataType) -> float | None:
    """The FLOAT or DOUBLE that a text says, as Java reads it, hexadecimal and `nan` and `inf` included, or None."""
    text = text.strip(_SPACES)
    if _NUMBER.fullmatch(text):
        number = text.rstrip("fFdD")
        double = float(number)
        return single_of(Decimal(number)) if type_ == FLOAT and 0 < abs(double) < math.inf else double
    if _HEXADECIMAL.fullmatch(text):
        power = text.lower().index("p")
        try:
            found = float.fromhex(text[:power] + text[power:].rstrip("fFdD"))
        except OverflowError:
            found = -math.inf if text.startswith("-") else math.inf
        return single(found) if type_ == FLOAT else found
    return math.nan if text in ("+NaN", "-NaN") else _NAMED.get(text.lower())


def parse_decimal(text: str) -> Decimal | None:
    """The decimal number that a text says, or None. Java counts a number's places in 32 bits."""
    text = text.strip(_SPACES)
    number = Decimal(text) if _DECIMAL.fullmatch(text) else None
    return number if number is not None and int(number.as_tuple().exponent) > -(2**31) else None


def parse_whole(text: str, type_: DataType) -> int | None:
    """The whole number that a text says, without point or power, or None when it says none or is out of range."""
    found = re.fullmatch(r"([+-]?)0*([0-9]{1,19})", text.strip(BLANKS))
    return whole(int(found[1] + found[2]), type_) if found else None
