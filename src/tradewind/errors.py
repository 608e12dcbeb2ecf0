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
    """A deployment file with problems; all of them are in `problems`, by line."""

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        candidates: Iterable[str] = (),
        problems: Iterable[Problem] = (),
    ) -> None:
        super().__init__(what, where=where, hint=hint, candidates=candidates)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *(f"  {problem}" for problem in self.problems)])

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_deployment, (self.what, self.where, self.hint, self.candidates, self.problems)

    def at(self, where: str) -> DeploymentError:
        """The same error with an outer place put before the one it has."""
        joined = f"{where}: {self.where}" if self.where else where
        return _rebuild_deployment(self.what, joined, self.hint, self.candidates, self.problems)


def _rebuild_deployment(
    what: str, where: str | None, hint: str | None, candidates: tuple[str, ...], problems: tuple[Problem, ...]
) -> DeploymentError:
    return DeploymentError(what, where=where, hint=hint, candidates=candidates, problems=problems)


class NoPlanError(InputError):
    """No plan can bring an answer to where it is wanted, given what is allowed."""


class DataError(InputError):
    """Rows that do not fit the stream they are given to."""


class RunError(TradewindError):
    """A run that could not go on."""


class RuleError(TradewindError):
    """A rewrite rule broke an invariant, or the rules do not come to rest."""


class InternalError(TradewindError):
    """A bug in Tradewind."""


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` was probably meant to be.

    >>> closest("domian", ["domain", "url"])
    'domain'
    """
    by_lower = {one.lower(): one for one in known}
    found = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def unknown(kind: str, name: str, known: Iterable[str], where: str | None = None) -> UnknownNameError:
    """An `UnknownNameError` that lists what exists and guesses what was meant."""
    known = list(known)
    guess = closest(name, known)
    listed = ", ".join(known[:12]) + (f" and {len(known) - 12} more" if len(known) > 12 else "")
    hint = f"did you mean {guess!r}? " if guess else ""
    hint += f"There is: {listed}." if known else f"There is no {kind} at all."
    return UnknownNameError(f"unknown {kind} {name!r}.", where=where, hint=hint, candidates=known)
