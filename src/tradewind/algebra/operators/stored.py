"""Read and update: SQL on a named table, once for each row."""

from __future__ import annotations

from dataclasses import dataclass

from tradewind.algebra.durations import format_duration
from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.expressions.typing import resolve
from tradewind.algebra.operators.base import Linear, Operator, walk
from tradewind.algebra.operators.core import Columns
from tradewind.algebra.schema import Schema
from tradewind.algebra.statements import parse_change, parse_read
from tradewind.algebra.tables import Table
from tradewind.algebra.windows import require_time
from tradewind.errors import GraphError


@dataclass(frozen=True, eq=False, repr=False)
class Read(Operator):
    """Each row with every row that a SELECT on the table gives for it, as the table is at the row's time.

    A row's time is its event time; of several (after a join, say), the one that is settled soonest.

    `:name` in the text stands for the row's column. Without an answer the row is dropped, or kept with NULLs when
    `keep` is set.
    """

    input: Operator
    table: Table
    statement: str
    keep: bool = False

    def output(self) -> Schema:
        """The input's columns, then the selected ones."""
        require_time(self.input.schema, None, "rows")
        select = parse_read(self.statement, self.table, self.input.schema)
        selected = tuple((name, type_) for name, _, type_ in select.columns)
        # What the table holds at a time is known once that time has passed, even where the row was settled before.
        time = str(self.input.schema.soonest)
        lag = max(0, self.input.schema.lag(time) or 0)
        return Schema(self.input.schema.columns + selected, ((time, lag),))


@dataclass(frozen=True, eq=False, repr=False)
class Update(Linear):
    """Each row's INSERT, UPDATE or DELETE done to the table, in the order of event time; then `report` is given out.

    At equal times the rows' content decides the order, and updates come before reads.
    """

    input: Operator
    table: Table
    statement: str
    report: Columns

    def output(self) -> Schema:
        """The reported columns."""
        require_time(self.input.schema, None, "rows")
        lag = self.input.schema.lag(str(self.input.schema.soonest)) or 0
        if lag > 0:
            raise GraphError(
                f"rows are settled only {format_duration(lag)} after their time, too late to update a table in order.",
                hint="keep the later of the two times of the join, or window the rows first.",
            )
        parse_change(self.statement, self.table, self.input.schema)
        for node in walk(self.input):
            if isinstance(node, Read) and node.table.name == self.table.name:
                raise GraphError(
                    f"table {self.table.name!r} is read on the way to its own update: a cycle.",
                    hint="let the UPDATE statement itself compute with the table's columns.",
                )
        schema = self.input.schema
        columns = tuple((name, resolve(expression, schema)[1]) for name, expression in self.report)
        if not columns:
            raise GraphError("an update needs something to report.")
        kept = {e.name: n for n, e in self.report if isinstance(e, Column)}
        return Schema(columns, tuple((kept[n], lag) for n, lag in schema.times if n in kept))
