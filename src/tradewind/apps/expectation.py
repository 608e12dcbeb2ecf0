"""What an application's answers must be, as the maker of its data knows it, and how given answers differ from that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Row = tuple[Any, ...]
"""Values as the interpreter has them: times are microseconds since 1970, structs are tuples."""

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Expectation:
    """The answer of every query once all streams have ended, how many rows were made, and what happens in them."""

    answers: Mapping[str, Counter[Row]]
    rows: int
    story: tuple[str, ...] = ()


def verify(expected: Expectation, answers: Mapping[str, Counter[Row]]) -> list[str]:
    """How answers differ from what they must be, in words; nothing when all is right.

    >>> right = Expectation({"low": Counter({(5, "IBM"): 1})}, rows=1)
    >>> verify(right, {"low": Counter({(5, "IBM"): 1})})
    []
    >>> verify(right, {"low": Counter({(6, "IBM"): 1})})
    ["low: 1 row is missing: (5, 'IBM')", "low: 1 row too many: (6, 'IBM')"]
    """
    found = [f"{name}: nobody asked for it" for name in answers if name not in expected.answers]
    for name, right in expected.answers.items():
        if name not in answers:
            found.append(f"{name}: there is no answer")
            continue
        # Plus and minus keep what is above zero: rows that are there, and rows taken back though they never were.
        given, owed = +answers[name], -answers[name]
        for rows, one, many in (
            (right - given, "is missing", "are missing"),
            (given - right, "too many", "too many"),
            (owed, "taken back that was never given", "taken back that were never given"),
        ):
            if rows:
                count = f"1 row {one}" if rows.total() == 1 else f"{rows.total():,} rows {many}"
                found.append(f"{name}: {count}: {_some(rows)}")
    return found


def _some(rows: Counter[Row]) -> str:
    # Rows with NULLs have no order of their own.
    first = sorted(rows, key=repr)[:_SHOWN]
    return ", ".join(map(repr, first)) + (", …" if len(rows) > _SHOWN else "")
