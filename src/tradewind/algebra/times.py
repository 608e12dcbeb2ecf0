"""Points in time: whole microseconds, and days, since 1970 in UTC, as ISO 8601 text and back."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from tradewind.algebra.civil import DAY, date_text
from tradewind.errors import InputError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_ZERO = date(1970, 1, 1)
LOWEST = int((datetime(1, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds()) * 1_000_000
HIGHEST = (int((datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH).total_seconds()) + 86_400) * 1_000_000 - 1
"""The first and last microsecond that a TIMESTAMP of a stream may hold: years 1 to 9999. What is computed of them may
lie beyond: a window that holds the last second ends in the year 10000.
"""


def parse_timestamp(text: str) -> int:
    """Microseconds of an ISO 8601 time; without a zone it is UTC.

    >>> parse_timestamp("2026-01-02 03:04:05.5"), parse_timestamp("1970-01-01T01:00:00+01:00")
    (1767323045500000, 0)
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InputError(
            f"{text[:60]!r} is not a time.", hint="write it as '2026-01-31 13:45:00' or '2026-01-31T13:45:00Z'."
        ) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def format_timestamp(micros: int) -> str:
    """ISO 8601 in UTC, with a fraction only when there is one; years after 9999 and before 0 bear a sign.

    >>> format_timestamp(0), format_timestamp(1_500_000), format_timestamp(HIGHEST + 1)
    ('1970-01-01T00:00:00Z', '1970-01-01T00:00:01.500000Z', '+10000-01-01T00:00:00Z')
    """
    days, rest = divmod(micros, DAY)
    clock = (_EPOCH + timedelta(microseconds=rest)).time()
    return f"{date_text(days)}T{clock.isoformat()}Z"


def parse_date(text: str) -> int:
    """Days of an ISO 8601 date.

    >>> parse_date("1970-01-11")
    10
    """
    try:
        return (date.fromisoformat(text.strip()) - _DAY_ZERO).days
    except ValueError:
        raise InputError(f"{text[:60]!r} is not a date.", hint="write it as '2026-01-31'.") from None


def format_date(days: int) -> str:
    """ISO 8601; years after 9999 and before 0 bear a sign.

    >>> format_date(10), format_date(2_932_897)
    ('1970-01-11', '+10000-01-01')
    """
    return date_text(days)
