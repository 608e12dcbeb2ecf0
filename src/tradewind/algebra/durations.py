"""Lengths of time in whole microseconds, as people write them."""

from __future__ import annotations

import re

from tradewind.errors import InputError

_UNITS = {
    "microsecond": 1, "us": 1, "millisecond": 1_000, "ms": 1_000, "second": 1_000_000, "sec": 1_000_000, "s": 1_000_000,
    "minute": 60_000_000, "min": 60_000_000, "m": 60_000_000, "hour": 3_600_000_000, "h": 3_600_000_000,
    "day": 86_400_000_000, "d": 86_400_000_000, "week": 604_800_000_000, "w": 604_800_000_000,
}  # fmt: skip
_LONGEST = 10_000 * 366 * 86_400_000_000
_PART = re.compile(r"\s*([+-]?\d{1,12}(?:\.\d{1,6})?)\s*([A-Za-z]+)\s*")
_HINT = "write it as '10 seconds', '5 minutes', '1 hour 30 minutes', '250 ms' or '5s'."


def parse_duration(text: str) -> int:
    """Microseconds of a length of time.

    >>> parse_duration("1 minute 30 seconds"), parse_duration("5s"), parse_duration("INTERVAL 2 HOURS")
    (90000000, 5000000, 7200000000)
    """
    stripped = text.strip()
    rest = stripped[8:].strip() if stripped.lower().startswith("interval") else stripped
    total = 0
    position = 0
    while position < len(rest) or position == 0:
        found = _PART.match(rest, position)
        if not found:
            raise InputError(f"{text[:60]!r} is not a length of time.", hint=_HINT)
        number, unit = found.groups()
        total += round(float(number) * _scale(unit, text))
        position = found.end()
    if abs(total) > _LONGEST:
        raise InputError(f"{text[:60]!r} is longer than ten thousand years.", hint=_HINT)
    return total


def _scale(unit: str, text: str) -> int:
    lower = unit.lower()
    if lower in ("month", "months", "year", "years", "quarter", "quarters"):
        raise InputError(f"{text[:60]!r}: months and years have no fixed length.", hint="give days or weeks.")
    for spelling in (lower, lower.removesuffix("s")):
        if spelling in _UNITS:
            return _UNITS[spelling]
    raise InputError(f"{text[:60]!r} has the unknown unit {unit[:20]!r}.", hint=_HINT)


def format_duration(micros: int) -> str:
    """The shortest exact way to write a length of time.

    >>> format_duration(90_000_000), format_duration(3_600_000_000), format_duration(1_500)
    ('90 seconds', '1 hour', '1500 microseconds')
    """
    for name in ("week", "day", "hour", "minute", "second", "millisecond", "microsecond"):
        size = _UNITS[name]
        if micros % size == 0 and (micros or name == "second"):
            count = micros // size
            return f"{count} {name}" if count == 1 else f"{count} {name}s"
    return f"{micros} microseconds"
