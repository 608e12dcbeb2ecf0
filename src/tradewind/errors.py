"""Every error that Tradewind raises on purpose: what is wrong, where, and what to do about it.

One base, one subclass per stage. Errors carry data (candidates, position, rule), not only a sentence; they pickle, so
that a worker's error reaches the coordinator whole. `InternalError` is the only one a user should never see.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


class TradewindError(Exception):
    """Base of all errors: `what` went wrong, `where`, a `hint`, and the `candidates` that would have been right."""

    def __init__(
        self, what: str, *, where: str | None = None, hint: str | None = None, candidates: Iterable[str] = ()
    ) -> None:
        self.what = what
        self.where = where
        self.hint = hint
        self.candidates = tuple(candidates)
        super().__init__(what)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        hint = f" Hint: {self.hint}" if self.hint else ""
        return f"{place}{self.what}{hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.what, self.where, self.hint, self.candidates)

    def placed(self, where: str | None) -> TradewindError:
        """The same error with a place, if it has none yet."""
        return self.at(where) if where and not self.where else self

    def at(self, where: str) -> TradewindError:
        """The same error with an outer place put before the one it has."""
        joined = f"{where}: {self.where}" if self.where else where
        return _rebuild(type(self), self.what, joined, self.hint, self.candidates)


def _rebuild(
    kind: type[TradewindError], what: str, where: str | None, hint: str | None, candidates: tuple[str, ...]
) -> TradewindError:
    return kind(what, where=where, hint=hint, candidates=candidates)


class InputError(TradewindError, ValueError):
    """Something the user gave cannot be used."""


class ExpressionError(InputError):
    """An expression that cannot be parsed, typed, or may not be run."""


class ForbiddenError(ExpressionError):
    """An expression or statement that could reach beyond the rows it is given."""


class UnknownNameError(InputError):
    """A column, stream, site, table or box that does not exist."""


class GraphError(InputError):
    """Operators that do not fit together."""


class QueryError(InputError):
    """SQL that is not a query Tradewind can answer."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a file: `where` (file:line:column and the keys that lead there), `what`, and a
    `hint`.
    """

    where: str
    what: str
    hint: str | None = None
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f" Hint: {self.hint}" if self.hint else "")


class DeploymentError(InputError):
    """A deployment file with problems; they are in `problems`, by line, and there are at least so many `more`: after
    some, what is left of a file is not looked at."""

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        candidates: Iterable[str] = (),
        problems: Iterable[Problem] = (),
        more: int = 0,
    ) -> None:
        super().__init__(what, where=where, hint=hint, candidates=candidates)
        self.problems = tuple(problems)
        self.more = more

    def __str__(self) -> str:
        left_out = [f"  … and at least {self.more:,} more"] if self.more else []
        return "\n".join([super().__str__(), *(f"  {problem}" for problem in self.problems), *left_out])

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_deployment, (self.what, self.where, self.hint, self.candidates, self.problems, self.more)

    def at(self, where: str) -> DeploymentError:
        """The same error with an outer place put before the one it has."""
        joined = f"{where}: {self.where}" if self.where else where
        return _rebuild_deployment(self.what, joined, self.hint, self.candidates, self.problems, self.more)


def _rebuild_deployment(  # noqa: PLR0917  what is pickled comes back by position
    what: str,
    where: str | None,
    hint: str | None,
    candidates: tuple[str, ...],
    problems: tuple[Problem, ...],
    more: int,
) -> DeploymentError:
    return DeploymentError(what, where=where, hint=hint, candidates=candidates, problems=problems, more=more)


class NoPlanError(InputError):
    """No plan can bring an answer to where it is wanted, given what is allowed."""


class DataError(InputError):
    """Rows that do not fit the stream they are given to."""


class BadRecordsError(DataError):
    """Records of a stream that cannot be read, where the stream says that this ends those who read it."""


class RunError(TradewindError):
    """A run that could not go on."""


class RuleError(TradewindError):
    """A rewrite rule broke an invariant, or the rules do not come to rest."""


class InternalError(TradewindError):
    """A bug in Tradewind."""


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` was probably meant to be.

    >>> closest("domian", ["domain", "url"]), closest("decode", ["second"]), closest("any", ["day"])
    ('domain', None, None)
    """
    by_lower = {one.lower(): one for one in known}
    found = difflib.get_close_matches(name.lower(), list(by_lower), n=5, cutoff=0.6)
    return next((by_lower[one] for one in found if _is_slip(name.lower(), one)), None)


def _is_slip(name: str, known: str) -> bool:
    """Whether a name may be a slip of the pen for another: it begins or ends it, or few signs are wrong. Names that
    only have letters in common, as `decode` and `second` do, are not meant.
    """
    short, long = sorted((name, known), key=len)
    if len(short) >= 3 and (long.startswith(short) or long.endswith(short)):
        return True
    return _slips(name, known) <= max(1, min(len(name), len(known)) // 3)


def _slips(name: str, known: str) -> int:
    """How many signs were added, left out, mistaken or swapped with the next."""
    before: list[int] = []
    row = list(range(len(known) + 1))
    for i, sign in enumerate(name, start=1):
        earlier, before, row = before, row, [i]
        for j, wanted in enumerate(known, start=1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (sign != wanted))
            if i > 1 and j > 1 and sign == known[j - 2] and name[i - 2] == wanted:
                least = min(least, earlier[j - 2] + 1)
            row.append(least)
    return row[-1]


def unknown(kind: str, name: str, known: Iterable[str], where: str | None = None) -> UnknownNameError:
    """An `UnknownNameError` that lists what exists and guesses what was meant."""
    known = list(known)
    guess = closest(name, known)
    listed = ", ".join(known[:12]) + (f" and {len(known) - 12} more" if len(known) > 12 else "")
    hint = f"did you mean {guess!r}? " if guess else ""
    hint += f"There is: {listed}." if known else f"There is no {kind} at all."
    return UnknownNameError(f"unknown {kind} {name!r}.", where=where, hint=hint, candidates=known)
