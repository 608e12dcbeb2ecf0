"""The calendar: days since 1970 and years, months and days, in Gregorian years before 1 and after 9999 too."""

from __future__ import annotations

import datetime as dt

DAY = 86_400_000_000
"""Microseconds in a day."""

_EPOCH = dt.date(1970, 1, 1).toordinal()
_CYCLE_DAYS = 146_097  # in 400 years, after which the calendar repeats
_CYCLE_YEARS = 400


def civil(days: int) -> tuple[int, int, int]:
    """The year, month and day of a date.

    >>> civil(0), civil(-719529), civil(2932897)
    ((1970, 1, 1), (-1, 12, 31), (10000, 1, 1))
    """
    cycles, rest = divmod(days + _EPOCH - 1, _CYCLE_DAYS)
    date = dt.date.fromordinal(rest + 1)
    return date.year + cycles * _CYCLE_YEARS, date.month, date.day


def days_of(year: int, month: int, day: int) -> int | None:
    """The date of a year, month and day, or None when there is no such day."""
    cycles, rest = divmod(year - 1, _CYCLE_YEARS)
    try:
        date = dt.date(rest + 1, month, day)
    except ValueError:
        return None
    return date.toordinal() - _EPOCH + cycles * _CYCLE_DAYS


def first_day(year: int, month: int = 1) -> int:
    """The date of a month's first day."""
    cycles, rest = divmod(year - 1, _CYCLE_YEARS)
    return dt.date(rest + 1, month, 1).toordinal() - _EPOCH + cycles * _CYCLE_DAYS


def date_text(days: int) -> str:
    """A date as `2026-01-02`; years of more than four digits bear a sign.

    >>> date_text(0), date_text(2932897), date_text(-719529)
    ('1970-01-01', '+10000-01-01', '-0001-12-31')
    """
    year, month, day = civil(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def timestamp_text(micros: int) -> str:
    """A time as `2026-01-02 03:04:05.6`, without a fraction's closing zeros."""
    days, rest = divmod(micros, DAY)
    return f"{date_text(days)} {clock_text(rest)}"


def clock_text(micros: int) -> str:
    """A time of day as `03:04:05.6`."""
    seconds, fraction = divmod(micros, 1_000_000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{fraction:06}".rstrip("0") if fraction else text
