"""Which types convert to which. The pairs are those that Spark's `try_cast` accepts."""

from __future__ import annotations

from tradewind.algebra.types import (
    BINARY,
    BOOLEAN,
    DATE,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    is_fraction,
    is_numeric,
)  # fmt: skip


def convertible(source: DataType, target: DataType) -> bool:
    """Whether values of `source` can be written as `target` at all; single values may still have no counterpart.

    >>> from tradewind.algebra.types import INT, array
    >>> convertible(TIMESTAMP, INT), convertible(DATE, INT), convertible(array(INT), array(STRING))
    (True, False, True)
    """
    if source in (target, NULL):
        return True
    if target == STRING:
        return source.name != "STATE"
    if source.name == target.name and source.name in ("ARRAY", "STRUCT"):
        return len(source.fields) == len(target.fields) and all(
            convertible(have, want) for (_, have), (_, want) in zip(source.fields, target.fields, strict=True)
        )
    if source == STRING:
        return target in (BOOLEAN, BINARY, DATE, TIMESTAMP, INTERVAL) or is_numeric(target)
    if is_numeric(source):
        fits = target in (BOOLEAN, TIMESTAMP) or is_numeric(target)
        return fits or (target == INTERVAL and not is_fraction(source))
    if source == INTERVAL:
        return is_numeric(target) and not is_fraction(target)
    return (source == BOOLEAN and is_numeric(target)) or (
        source == TIMESTAMP and (target == DATE or is_numeric(target))
    ) or (source == DATE and target == TIMESTAMP)  # fmt: skip
