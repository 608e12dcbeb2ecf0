"""Metrics of the user's own: statistics, folded over operators, sites and queries into one number, and bounds on them.

The shapes are those of XFlow's cost model. A metric is to be made small; a bound has to hold. What a metric is worth
for a plan is worked out by `tradewind.placement.measures`; how one is written, by `grammar` beside this file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from math import inf

OPERATOR_STATISTICS = {
    "cores": "cores that it keeps busy",
    "load": "the same as a share of its site's cores",
    "bytes_in": "bytes per second of its inputs",
    "bytes_out": "bytes per second of its output",
    "rows_in": "rows per second of its inputs",
    "rows_out": "rows per second of its output",
    "ms": "latency of the links into it, of the slowest input",
    "response_ms": "latency of all links from the origins to it, on the slowest way",
    "capacity": "bytes per second that the narrowest link into it can carry; no bound where none leads into it",
    "dollars": "dollars in an hour for its cores, and for its inputs on the links into it",
}
"""What is known of every operator, and so may be folded."""

NODE_STATISTICS = {
    "cores": "busy cores",
    "load": "busy cores as a share of the site's cores",
    "bytes_in": "bytes per second that links bring, also what only passes through",
    "bytes_out": "bytes per second that leave over links, also what only passes through",
    "dollars": "dollars in an hour for its busy cores and for the links that leave it",
}
"""What is known of every site; what several operators share is there once."""


class Fold(StrEnum):
    """How several numbers become one."""

    MIN = "MIN"
    MAX = "MAX"
    SUM = "SUM"
    AVERAGE = "AVERAGE"

    def of(self, values: Iterable[float | None]) -> float | None:
        """The fold of the values that exist; of none, a sum is 0 and the others do not exist."""
        known = [value for value in values if value is not None]
        if self is Fold.SUM:
            return sum(known, 0.0)
        if not known:
            return None
        if self is Fold.AVERAGE:
            return sum(known) / len(known)
        return min(known) if self is Fold.MIN else max(known)


class Direction(StrEnum):
    """Which operators of the same query are meant, seen from one of them; it belongs to both."""

    UP = "UP"
    DOWN = "DOWN"


class Relation(StrEnum):
    """How a value has to stand to its bound."""

    AT_MOST = "<="
    AT_LEAST = ">="


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic of one operator."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Along:
    """A statistic of an operator and of all that it rests on, or of all that rests on it, folded."""

    fold: Fold
    statistic: Statistic
    direction: Direction

    def __str__(self) -> str:
        return f"{self.fold}({self.statistic}, {self.direction} OPERATORS)"


OperatorCost = Statistic | Along


@dataclass(frozen=True, slots=True)
class OfNode:
    """Statistics of one site itself, folded."""

    fold: Fold
    statistics: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.fold}({', '.join(self.statistics)})"


@dataclass(frozen=True, slots=True)
class OverOperators:
    """The costs of the operators of one site or of one query, folded."""

    fold: Fold
    each: OperatorCost

    def __str__(self) -> str:
        return f"{self.fold}({self.each}, OPERATORS)"


@dataclass(frozen=True, slots=True)
class OverNodes:
    """The costs of all sites, folded."""

    fold: Fold
    each: OfNode | OverOperators

    def __str__(self) -> str:
        return f"{self.fold}({self.each}, NODES)"


@dataclass(frozen=True, slots=True)
class OverQueries:
    """The costs of all queries, folded."""

    fold: Fold
    each: OverOperators

    def __str__(self) -> str:
        return f"{self.fold}({self.each}, QUERIES)"


SystemCost = OverNodes | OverQueries


@dataclass(frozen=True, slots=True)
class Bound:
    """What has to hold: of the whole system; or of every site; or of every operator, also against another statistic."""

    left: SystemCost | OfNode | OperatorCost
    relation: Relation
    right: float | Statistic

    def __str__(self) -> str:
        right = repr(self.right).removesuffix(".0") if isinstance(self.right, float) else str(self.right)
        return f"{self.left} {self.relation} {right}"

    def excess(self, left: float, right: float) -> float:
        """By how much it is broken, as a share of the bound; 0 where it holds."""
        over = left - right if self.relation is Relation.AT_MOST else right - left
        if not over > _SLACK * abs(right):
            return 0.0
        return over / abs(right) if right else inf if over == inf else over


_SLACK = 1e-9
"""Sums of the same numbers in another order differ by less."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A cost to make small, and the bounds within which to do so."""

    cost: SystemCost
    where: tuple[Bound, ...] = ()
