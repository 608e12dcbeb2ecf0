"""What a rewrite must leave as it is."""

from __future__ import annotations

from tradewind.algebra.schema import Schema


def broken(old: Schema, new: Schema, *, keep_time: bool = True) -> str | None:
    """How a new schema fails to stand for the old one, or None.

    Columns stay. What tells the time still does, at least as soon. Inside a graph (`keep_time`) the event time stays
    the same column too, because operators above may read it without naming it.
    """
    if new.columns != old.columns:
        return f"the columns ({old}) have become ({new})."
    for name, lag in old.times:
        found = new.lag(name)
        if found is None:
            return f"{name!r} no longer tells the time."
        if found > lag:
            return f"{name!r} tells the time {found - lag} µs later."
    if keep_time and new.time != old.time:
        return f"the event time was {old.time!r} and is {new.time!r}."
    return None
