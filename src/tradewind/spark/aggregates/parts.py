"""What the states of aggregates are made of: columns, each with the SQL that lifts it from rows and that merges it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rows:
    """What an aggregate is fed: SQL for the value (or values), for the row's weight (None: one each) and its time."""

    values: tuple[str, ...]
    weight: str | None
    time: str | None

    @property
    def value(self) -> str:
        """The only value, or a constant that is never NULL for counting rows."""
        return self.values[0] if self.values else "true"

    def times(self, number: str) -> str:
        """A number as often as the row is there."""
        return number if self.weight is None else f"({number}) * {self.weight}"

    @property
    def known(self) -> str:
        """Whether there is a value."""
        return " AND ".join(f"({value}) IS NOT NULL" for value in self.values) or "true"

    def count(self, condition: str) -> str:
        """How many rows satisfy a condition."""
        if self.weight is None:
            return f"count_if({condition})"
        return f"coalesce(sum(if({condition}, {self.weight}, 0L)), 0L)"


@dataclass(frozen=True, slots=True)
class Part:
    """One column of a state: its type, the SQL aggregate that lifts it from rows, and the one that merges it."""

    type: str
    lift: str
    merge: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class State:
    """An aggregate's state: its columns, and the SQL of the answer from the columns' SQL."""

    parts: tuple[Part, ...]
    finish: Callable[..., str]


def total(column: str) -> str:
    """The SQL that merges a column by adding up."""
    return f"sum({column})"
