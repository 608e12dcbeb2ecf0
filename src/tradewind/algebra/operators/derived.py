"""Operators that abbreviate others. `expand` says what each one means in terms of the core."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from tradewind.algebra.expressions.tree import Call, Case, Column, Expression, Literal, conjunction
from tradewind.algebra.expressions.typing import require_boolean
from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BIGINT, BOOLEAN
from tradewind.errors import GraphError

_SHARES = 1_000_000
"""Samples are drawn in millionths."""


@dataclass(frozen=True, eq=False, repr=False)
class Derived(Operator):
    """A node that stands for others."""

    derived: ClassVar[bool] = True

    @abstractmethod
    def expand(self) -> Operator:
        """The same in core operators."""

    def output(self) -> Schema:
        """As that of what it stands for."""
        return self.expand().schema

    def only_adds(self) -> bool:
        """As what it stands for."""
        return self.expand().append_only


@dataclass(frozen=True, eq=False, repr=False)
class Distinct(Derived):
    """Each different row once."""

    input: Operator

    def expand(self) -> Operator:
        """Grouping by all columns without asking for anything."""
        return Aggregate(self.input, self.input.schema.names, ())


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Derived):
    """A share of the rows, drawn by a hash: of the columns in `key` (all rows of a key or none), or of the whole row.

    The hash makes the draw repeatable, the same at every site, and the same for a row and for the record that takes
    it back.
    """

    input: Operator
    fraction: float
    key: tuple[str, ...] = ()
    seed: int = 0

    def expand(self) -> Operator:
        """A filter on the hash."""
        if not 0 <= self.fraction <= 1:
            raise GraphError(f"a sample's fraction lies between 0 and 1, not {self.fraction}.")
        names = self.key or self.input.schema.names
        columns = tuple(Column(self.input.schema.find(name)) for name in names)
        drawn = Call("xxhash64", (*columns, Literal(self.seed, BIGINT)))
        share = Call("pmod", (drawn, Literal(_SHARES, BIGINT)))
        return Filter(self.input, Call("<", (share, Literal(round(self.fraction * _SHARES), BIGINT))))


@dataclass(frozen=True, eq=False, repr=False)
class Split(Derived):
    """One way out of a split: the rows whose first true predicate is number `route`; the last route takes the rest."""

    input: Operator
    predicates: tuple[Expression, ...]
    route: int

    def expand(self) -> Operator:
        """A filter that asks the route's own predicate and refuses the earlier ones."""
        if not 0 <= self.route <= len(self.predicates):
            raise GraphError(f"a split of {len(self.predicates)} predicates has no route {self.route}.")
        conditions = [require_boolean(p, self.input.schema) for p in self.predicates]
        earlier = [Call("not", (_surely(p),)) for p in conditions[: self.route]]
        own = conditions[self.route : self.route + 1]
        return Filter(self.input, conjunction([*earlier, *own]))


def _surely(condition: Expression) -> Expression:
    """The condition with NULL read as false, so that its negation is true for the rows it does not take."""
    return Case(((condition, Literal(True, BOOLEAN)),), Literal(False, BOOLEAN))


@dataclass(frozen=True, eq=False, repr=False)
class Superbox(Derived):
    """A named sub-graph: `body` reads the nodes in `starts`, and was built with `arguments`."""

    body: Operator
    starts: tuple[Operator, ...]
    name: str
    arguments: tuple[tuple[str, str], ...] = ()
    takes: ClassVar = ("body", "starts")

    def expand(self) -> Operator:
        """What is in the box."""
        return self.body
