"""The boxes that look at neighbours, other inputs and stored tables, and those that abbreviate others."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from tradewind.algebra.durations import format_duration
from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import Column, Expression
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.derived import Distinct, Sample, Split, Superbox
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor, pair_schema
from tradewind.algebra.operators.stored import Read, Update
from tradewind.errors import GraphError
from tradewind.frontends.flow.box import Box, Given, Named, OneIn, at, condition, expression, without_defaults
from tradewind.frontends.flow.fields import BOX_NAME, Names, PositiveDuration, Share, Text, keyed
from tradewind.frontends.flow.findings import Misplaced

ELSE = "else"
"""The last route of a split: what no other took."""


class OrderBox(OneIn):
    """The rows in the order of `by`, as far as a buffer of `slack` rows can sort them."""

    by: str
    slack: int = 0

    def build(self, given: Given) -> Operator:
        """A bounded sort."""
        node = given.nodes[self.input]
        with at("by"):
            return Order(node, node.schema.find(self.by), self.slack)

    @classmethod
    def written(cls, node: Order, named: Named) -> dict[str, Any]:
        """The column and the slack."""
        return {"in": named(node.input), "by": node.by, **without_defaults(slack=node.slack or None)}


class ResampleBox(OneIn):
    """The `values` of a stream, per group of `by`, on a grid (`every: 1 minute`) or at another's times (`at: box`)."""

    reads: ClassVar[tuple[str, ...]] = ("input", "at")
    by: Names = ()
    values: Names
    method: Literal["previous", "linear"] = "previous"
    every: PositiveDuration | None = None
    at: str | None = None
    max_gap: PositiveDuration | None = None

    def build(self, given: Given) -> Operator:
        """A resample."""
        node = given.nodes[self.input]
        with at("by"):
            keys = tuple(node.schema.find(name) for name in self.by)
        with at("values"):
            values = tuple(node.schema.find(name) for name in self.values)
        other = given.nodes[self.at] if self.at is not None else None
        return Resample(node, keys, values, self.method, self.every, other, self.max_gap)

    @classmethod
    def written(cls, node: Resample, named: Named) -> dict[str, Any]:
        """With the grid or the other stream."""
        keys = without_defaults(
            by=list(node.keys),
            values=list(node.values),
            method=node.method if node.method != "previous" else None,
            every=format_duration(node.every) if node.every is not None else None,
            at=named(node.at) if node.at is not None else None,
            max_gap=format_duration(node.max_gap) if node.max_gap is not None else None,
        )
        return {"in": named(node.input), **keys}


class WaitForBox(OneIn):
    """Each row for which a row of `signal` makes `where` true within the `timeout`; all columns' names differ."""

    reads: ClassVar[tuple[str, ...]] = ("input", "signal")
    signal: str
    where: Text
    timeout: PositiveDuration

    def build(self, given: Given) -> Operator:
        """A waitfor."""
        node, other = given.nodes[self.input], given.nodes[self.signal]
        with at("signal"):
            both = pair_schema(node.schema, other.schema)
        return WaitFor(node, other, condition(self.where, both, "where"), self.timeout)

    @classmethod
    def written(cls, node: WaitFor, named: Named) -> dict[str, Any]:
        """Both inputs and the predicate."""
        where, timeout = print_expression(node.predicate), format_duration(node.timeout)
        return {"in": named(node.input), "signal": named(node.signal), "where": where, "timeout": timeout}


class DistinctBox(OneIn):
    """Each different row once."""

    def build(self, given: Given) -> Operator:
        """A distinct."""
        return Distinct(given.nodes[self.input])

    @classmethod
    def written(cls, node: Distinct, named: Named) -> dict[str, Any]:
        """Only its input."""
        return {"in": named(node.input)}


class SampleBox(OneIn):
    """A `fraction` of the rows, drawn by a hash of the `key` columns or of the whole row."""

    fraction: Share
    key: Names = ()
    seed: int = 0

    def build(self, given: Given) -> Operator:
        """A sample."""
        node = given.nodes[self.input]
        with at("key"):
            key = tuple(node.schema.find(name) for name in self.key)
        return Sample(node, self.fraction, key, self.seed)

    @classmethod
    def written(cls, node: Sample, named: Named) -> dict[str, Any]:
        """The share and what it is drawn by."""
        rest = without_defaults(key=list(node.key), seed=node.seed or None)
        return {"in": named(node.input), "fraction": node.fraction, **rest}


class ReadBox(OneIn):
    """Each row with what the SELECT in `sql` finds for it in a `table`; with `keep: true` also rows without."""

    table: str
    sql: str
    keep: bool = False

    def build(self, given: Given) -> Operator:
        """A read."""
        table = given.table(self.table)
        with at("sql"):
            return Read(given.nodes[self.input], table, self.sql, self.keep)

    @classmethod
    def written(cls, node: Read, named: Named) -> dict[str, Any]:
        """The statement as it is."""
        rest = without_defaults(keep=node.keep)
        return {"in": named(node.input), "table": node.table.name, "sql": node.statement, **rest}


def _reported(value: Any) -> Any:
    return keyed((value,) if isinstance(value, str) else value, "a column's name")


class UpdateBox(OneIn):
    """Each row's INSERT, UPDATE or DELETE in `sql` done to a `table`; gives out `report`, else all columns."""

    table: str
    sql: str
    report: Annotated[dict[str, Text | None], BeforeValidator(_reported)] = Field(default_factory=dict)

    def build(self, given: Given) -> Operator:
        """An update."""
        table, node = given.table(self.table), given.nodes[self.input]
        wanted = self.report or dict.fromkeys(node.schema.names)
        report: list[tuple[str, Expression]] = []
        for name, text in wanted.items():
            if text is not None:
                report.append((name, expression(text, node.schema, "report", name)))
                continue
            with at("report"):
                report.append((node.schema.find(name), Column(node.schema.find(name))))
        with at("sql"):
            return Update(node, table, self.sql, tuple(report))

    @classmethod
    def written(cls, node: Update, named: Named) -> dict[str, Any]:
        """The statement as it is."""
        report = {name: print_expression(e) for name, e in node.report}
        if node.report == tuple((name, Column(name)) for name in node.input.schema.names):
            report = {}
        rest = without_defaults(report=report)
        return {"in": named(node.input), "table": node.table.name, "sql": node.statement, **rest}


class SplitBox(OneIn):
    """Several ways out: `routes: {nyse: "exchange = 'NYSE'", rest: else}`, read as `name.nyse` and `name.rest`.

    A row takes the first route whose predicate is true. `else` stands last; without it the rest is dropped.
    """

    routes: dict[str, Text]

    def build(self, given: Given) -> dict[str, Operator]:
        """One split for each route."""
        node = given.nodes[self.input]
        predicates = []
        for number, (name, text) in enumerate(self.routes.items()):
            if not _is_name(name):
                raise Misplaced(("routes", name), GraphError(f"{name!r} cannot be the name of a route."))
            if text.strip().lower() != ELSE:
                predicates.append(condition(text, node.schema, "routes", name))
            elif number + 1 < len(self.routes):
                raise Misplaced(("routes", name), GraphError("else takes all that is left, so it stands last."))
        if not predicates:
            raise Misplaced(("routes",), GraphError("a split needs at least one route with a predicate."))
        return {name: Split(node, tuple(predicates), number) for number, name in enumerate(self.routes)}

    @classmethod
    def written(cls, node: Split, named: Named) -> dict[str, Any]:
        """All routes of the split, whether this graph reads them or not."""
        routes = {route_name(node, number): print_expression(p) for number, p in enumerate(node.predicates)}
        return {"in": named(node.input), "routes": routes | {"rest": ELSE}}


def route_name(node: Split, number: int) -> str:
    """The name a written split gives to one of its routes."""
    return f"route_{number + 1}" if number < len(node.predicates) else "rest"


def _is_name(text: str) -> bool:
    return re.fullmatch(BOX_NAME, text) is not None


class SuperboxBox(Box):
    """A superbox spelled out: its `body` box, the boxes that it `starts` from, and the arguments it was made `with`."""

    reads: ClassVar[tuple[str, ...]] = ("body", "starts")
    name: str
    body: str
    starts: Names = ()
    arguments: dict[str, Text] = Field(default_factory=dict, alias="with")

    def build(self, given: Given) -> Operator:
        """The superbox around its body."""
        starts = tuple(given.nodes[name] for name in self.starts)
        return Superbox(given.nodes[self.body], starts, self.name, tuple(self.arguments.items()))

    @classmethod
    def written(cls, node: Superbox, named: Named) -> dict[str, Any]:
        """Its body and starts by name."""
        rest = without_defaults(**{"starts": [named(s) for s in node.starts], "with": dict(node.arguments)})
        return {"name": node.name, "body": named(node.body), **rest}
