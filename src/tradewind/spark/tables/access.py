"""How a statement finds the rows that it is about.

Only comparisons of a plain column with something computed from the running row are left to the database, and only
those which every database makes as the interpreter does. All else is evaluated by the interpreter's own functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tradewind.algebra.expressions.tree import Call, Cast, Column, Expression, columns_of, conjunction, conjuncts
from tradewind.algebra.schema import Schema
from tradewind.algebra.statements import ROW, scope
from tradewind.algebra.tables import Table
from tradewind.algebra.types import INTEGER_BITS
from tradewind.interpreter.evaluate import Evaluator, condition, evaluator
from tradewind.interpreter.rows import Values
from tradewind.interpreter.values import Value

_FLIPPED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Bound(NamedTuple):
    """A column compared with a value: the column, the sign, the value."""

    column: str
    sign: str
    value: Value


class _Comparison(NamedTuple):
    """A condition that the database can answer: the value comes from the running row."""

    column: str
    sign: str
    value: Evaluator
    condition: Expression


class Access:
    """What a WHERE needs of the table: the rows of one key, or those within bounds; then what `holds` for them."""

    def __init__(self, where: Expression, table: Table, row: Schema) -> None:
        parts = [(part, _comparison(part, table, row)) for part in conjuncts(where)]
        found = [comparison for _, comparison in parts if comparison is not None]
        rest = [part for part, comparison in parts if comparison is None]
        equal = {one.column: one for one in reversed(found) if one.sign == "="}
        self._key = [equal[name].value for name in table.key] if set(table.key) <= set(equal) else None
        self._within = found if self._key is None else []
        if self._key is not None:
            asked = [equal[name] for name in table.key]
            rest.extend(one.condition for one in found if one not in asked)
        left = conjunction(rest)
        self.holds: Callable[[Sequence[Value]], bool] | None = condition(left, scope(table, row)) if rest else None

    @property
    def by_key(self) -> bool:
        """Whether the rows are those of one key."""
        return self._key is not None

    @property
    def searched(self) -> tuple[list[str], list[str]]:
        """The columns that a search compares for equality, and those for order."""
        equal = [one.column for one in self._within if one.sign == "="]
        return equal, [one.column for one in self._within if one.sign != "="]

    def key(self, row: Values) -> Values | None:
        """The key that the running row asks for, None when it asks otherwise. With a NULL in it, nothing is found."""
        return None if self._key is None else tuple([value(row) for value in self._key])

    def bounds(self, row: Values) -> list[Bound] | None:
        """What the running row asks for by bounds; None when nothing can be found, because one is NULL."""
        found = [Bound(one.column, one.sign, one.value(row)) for one in self._within]
        return None if any(bound.value is None for bound in found) else found


def running(row: Schema) -> Schema:
    """The columns of the running row, as a statement's expressions know them."""
    return Schema(tuple((ROW + name, type_) for name, type_ in row.columns))


def _comparison(part: Expression, table: Table, row: Schema) -> _Comparison | None:
    if not isinstance(part, Call) or part.function not in _FLIPPED:
        return None
    left, right = part.arguments
    sign = part.function
    column = _column(left, table)
    if column is None:
        left, right, sign = right, left, _FLIPPED[sign]
        column = _column(left, table)
    mine = running(row)
    if column is None or not columns_of(right) <= set(mine.names):
        return None
    if table.schema.type_of(column).name == "DECIMAL" and sign != "=":
        # Not every database keeps decimals in a form that it can put in order.
        return None
    return _Comparison(column, sign, evaluator(right, mine), part)


def _column(expression: Expression, table: Table) -> str | None:
    """The table's column that an expression is, or of which it is a wider whole number."""
    of = expression.of if isinstance(expression, Cast) else expression
    if not isinstance(of, Column) or of.name not in table.schema.names:
        return None
    if isinstance(expression, Cast):
        have, want = INTEGER_BITS.get(table.schema.type_of(of.name)), INTEGER_BITS.get(expression.type)
        if have is None or want is None or have > want:
            return None
    return of.name
