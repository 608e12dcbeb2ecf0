"""Dates, times and intervals read from text in the forms that Spark takes; what cannot be read is None."""

from __future__ import annotations

import re

from tradewind.algebra.civil import DAY, clock_text, days_of
from tradewind.interpreter.number_text import BLANKS
from tradewind.interpreter.values import within

_SECOND = 1_000_000
_FLAGS = re.ASCII | re.DOTALL
_DATE = re.compile(r"([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", _FLAGS)
_CLOCK = r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?(\D.*)?)?)?"
_TIMESTAMP = re.compile(rf"([+-]?\d{{4,6}})(?:-(\d{{1,2}})(?:-(\d{{1,2}})(?:[ T]{_CLOCK})?)?)?", _FLAGS)
_ZERO_ZONES = ("Z", "UTC", "GMT", "UT")
_OFFSET = re.compile(
    r"(?:UTC|GMT|UT)?([+-])(?:(\d{1,2})|(\d\d)(\d\d)(\d\d)?|(\d\d?):(\d\d?)|(\d\d?):(\d\d):(\d\d))", re.ASCII
)
_INTERVAL = re.compile(
    r"(?:([+-]?)|INTERVAL\s+([+-]?)'([+-]?))(\d{1,9}) (\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?"
    r"(?(3)'\s+DAY\s+TO\s+SECOND)",
    re.ASCII | re.IGNORECASE,
)


def parse_date(text: str) -> int | None:
    """The days since 1970 of `2026-01-02`, `2026-01` or `2026`; a time of day after a whole date is passed over.

    >>> parse_date(" 1970-1-2 "), parse_date("1971"), parse_date("1970-01-02T03:04"), parse_date("1970-02-30")
    (1, 365, 1, None)
    """
    found = _DATE.fullmatch(text.strip(BLANKS))
    days = days_of(int(found[1]), int(found[2] or 1), int(found[3] or 1)) if found else None
    return None if days is None else within(days, 32)


def parse_timestamp(text: str) -> int | None:
    """The microseconds since 1970 of a date, or of a date and a time with or without a fraction and a zone's offset.

    A time without a date is None: Spark would take today's.

    >>> [parse_timestamp(f"1970-01-01{rest}") for rest in ("", " 00:01", "T0:0:1.5", " 00:00:00 -01:00")]
    [0, 60000000, 1500000, 3600000000]
    """
    found = _TIMESTAMP.fullmatch(text.strip(BLANKS))
    if not found:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    days = days_of(int(year), int(month or 1), int(day or 1))
    clock = _clock(hour, minute, second, fraction)
    offset = parse_offset(zone)
    return None if days is None or clock is None or offset is None else within(days * DAY + clock - offset, 64)


def _clock(hour: str | None, minute: str | None, second: str | None, fraction: str | None) -> int | None:
    hours, minutes, seconds = int(hour or 0), int(minute or 0), int(second or 0)
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    return ((hours * 60 + minutes) * 60 + seconds) * _SECOND + int(f"{(fraction or '')[:6]:0<6}")


def parse_offset(zone: str | None) -> int | None:
    """The microseconds that a zone is ahead of UTC; zones named by region are None, as their rules change.

    >>> parse_offset("+01:30"), parse_offset("UTC-1"), parse_offset("Europe/Paris")
    (5400000000, -3600000000, None)
    """
    name = (zone or "Z").strip(BLANKS[:33])
    if name in _ZERO_ZONES:
        return 0
    found = _OFFSET.fullmatch(name)
    if not found:
        return None
    parts = [int(part) for part in found.groups()[1:] if part is not None]
    hours, minutes, seconds = (*parts, 0, 0)[:3]
    total = (hours * 60 + minutes) * 60 + seconds
    if minutes > 59 or seconds > 59 or total > 18 * 3600:
        return None
    return (-total if found[1] == "-" else total) * _SECOND


def parse_interval(text: str) -> int | None:
    """The microseconds of `1 02:03:04.5`: days and a time, with or without the words that Spark puts around them.

    >>> [parse_interval(text) for text in ("0 00:00:01.5", "interval '-1 00:00:00' day to second", "1 day")]
    [1500000, -86400000000, None]
    """
    found = _INTERVAL.fullmatch(text.strip(BLANKS))
    if not found:
        return None
    plain, outer, inner, days, *clock = found.groups()
    time = _clock(*clock)
    negative = (plain == "-") ^ (outer == "-") ^ (inner == "-")
    total = None if time is None else int(days) * DAY + time
    return None if total is None else within(-total if negative else total, 64)


def interval_text(micros: int) -> str:
    """An interval as Spark prints it.

    >>> interval_text(-90_500_000)
    "INTERVAL '-0 00:01:30.5' DAY TO SECOND"
    """
    days, rest = divmod(abs(micros), DAY)
    return f"INTERVAL '{'-' if micros < 0 else ''}{days} {clock_text(rest)}' DAY TO SECOND"
