"""What the functions on dates and times do, in UTC. Results out of range are None."""

from __future__ import annotations

from collections.abc import Callable

from tradewind.algebra.civil import DAY, civil, first_day
from tradewind.algebra.types import MICROS
from tradewind.interpreter.values import Value, within

_FIXED = {
    "MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": MICROS, "MINUTE": 60 * MICROS, "HOUR": 3600 * MICROS, "DAY": DAY,
    "DD": DAY,
}  # fmt: skip
_MONTHS = {"MONTH": 1, "MON": 1, "MM": 1, "QUARTER": 3, "YEAR": 12, "YYYY": 12, "YY": 12}
_MONDAY = 4  # 1970 began on a Thursday, so days 4 after a multiple of 7 are Mondays


def _date_trunc(unit: str, time: int) -> int | None:
    """The start of the unit of time that a time lies in; None when Spark has no such unit."""
    name = unit.upper()
    if name in _FIXED:
        return within(time - time % _FIXED[name], 64)
    days = time // DAY
    if name == "WEEK":
        return within((days - (days - _MONDAY) % 7) * DAY, 64)
    if name not in _MONTHS:
        return None
    year, month, _ = civil(days)
    return within(first_day(year, month - (month - 1) % _MONTHS[name]) * DAY, 64)


def _day_of_week(days: int) -> int:
    """1 is Sunday."""
    return (days + _MONDAY) % 7 + 1


def _scaled(by: int) -> Callable[[int], int | None]:
    return lambda value: within(value * by, 64)


PLAIN: dict[str, Callable[..., Value]] = {
    "date_trunc": _date_trunc,
    "year": lambda days: civil(days)[0],
    "quarter": lambda days: (civil(days)[1] + 2) // 3,
    "month": lambda days: civil(days)[1],
    "day": lambda days: civil(days)[2],
    "dayofweek": _day_of_week,
    "dayofyear": lambda days: days - first_day(civil(days)[0]) + 1,
    "hour": lambda time: time % DAY // (3600 * MICROS),
    "minute": lambda time: time // (60 * MICROS) % 60,
    "second": lambda time: time // MICROS % 60,
    "date_add": lambda days, more: within(days + more, 32),
    "date_sub": lambda days, less: within(days - less, 32),
    "datediff": lambda end, start: within(end - start, 32),
    "unix_seconds": lambda time: time // MICROS,
    "unix_millis": lambda time: time // 1_000,
    "unix_micros": lambda time: time,
    "timestamp_seconds": _scaled(MICROS),
    "timestamp_millis": _scaled(1_000),
    "timestamp_micros": _scaled(1),
}
