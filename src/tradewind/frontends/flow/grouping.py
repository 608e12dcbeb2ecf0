"""The boxes that group rows: aggregate, and the partial, combine, merge and finish that it can be split into."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tradewind.algebra.aggregates import (
    AGGREGATE_ALIASES,
    AGGREGATES,
    AggregateCall,
    Parameters,
    UserAggregate,
    aggregate_names,
    parse_aggregate,
)
from tradewind.algebra.expressions.parse import parse_raw
from tradewind.algebra.expressions.tree import Call, Column, Expression, Literal
from tradewind.algebra.operators.aggregation import (
    Aggregate,
    Combine,
    Finish,
    Functions,
    Merge,
    Partial,
    windows_of,
)
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import TIMESTAMP
from tradewind.algebra.windows import TimeWindow
from tradewind.errors import ExpressionError, unknown
from tradewind.frontends import build
from tradewind.frontends.flow.box import Given, Named, OneIn, at, expression, without_defaults
from tradewind.frontends.flow.fields import Names, Text, keyed
from tradewind.frontends.flow.window import WindowField, write_window


def _keys(value: Any) -> Any:
    """`ticker`, `[ticker, day]` and `{hour: date_trunc('HOUR', ts)}` all as a mapping."""
    if isinstance(value, str):
        return {value: None}
    return keyed(value, "a column's name")


class AggregateBox(OneIn):
    """One row per group of `by` and window, with the answers of `functions`.

    `by` is a column, a list of columns, or a mapping of names to expressions; functions are given as
    `{hits: count(*), p95: "approx_percentile(ms, 0.95)"}`.
    """

    by: Annotated[dict[str, Text | None], BeforeValidator(_keys)] = Field(default_factory=dict)
    functions: dict[str, Text] = Field(default_factory=dict)
    window: WindowField | None = None

    def build(self, given: Given) -> Operator:
        """An aggregate, over a map where a key is computed."""
        node = given.nodes[self.input]
        keys = [self._key(name, text, node.schema) for name, text in self.by.items()]
        window = self.window.build(node.schema) if self.window else None
        return build.group(node, keys, _functions(self.functions, node.schema, given), window)

    @staticmethod
    def _key(name: str, text: str | None, schema: Schema) -> tuple[str, Expression]:
        if text is not None:
            return name, expression(text, schema, "by", name)
        with at("by"):
            return schema.find(name), Column(schema.find(name))

    @classmethod
    def written(cls, node: Aggregate | Partial, named: Named) -> dict[str, Any]:
        """Calls as texts."""
        functions = {name: str(call) for name, call in node.functions}
        window = write_window(node.window, node.input.schema)
        return {"in": named(node.input), **without_defaults(by=list(node.keys), functions=functions, window=window)}


def _functions(texts: dict[str, str], schema: Schema, given: Given) -> Functions:
    found = []
    for name, text in texts.items():
        with at("functions", name):
            found.append((name, parse_aggregate(text, schema, given.users)))
    return tuple(found)


class PartialBox(AggregateBox):
    """As an aggregate, up to the states that can be merged; keys are plain columns."""

    by: Names = ()  # type: ignore[assignment]  # narrower than an aggregate's: no computed keys

    def build(self, given: Given) -> Operator:
        """A partial aggregate."""
        node = given.nodes[self.input]
        window = self.window.build(node.schema) if self.window else None
        with at("by"):
            keys = tuple(node.schema.find(name) for name in self.by)
        return Partial(node, keys, _functions(self.functions, node.schema, given), window)


class MergeBox(OneIn):
    """One state per group out of many; `functions` have constants only: `{p95: approx_percentile(0.95)}`."""

    by: Names = ()
    functions: dict[str, Text] = Field(default_factory=dict)

    def build(self, given: Given) -> Operator:
        """A merge."""
        node = given.nodes[self.input]
        with at("by"):
            keys = tuple(node.schema.find(name) for name in self.by)
        return Merge(node, keys, _detached(self.functions, given.users))

    @classmethod
    def written(cls, node: Combine | Merge, named: Named) -> dict[str, Any]:
        """Calls without what was lifted."""
        coarser = node.window if isinstance(node, Combine) else None
        window = write_window(coarser, _before(node.input)) if coarser else None
        functions = _write_detached(node.functions)
        return {"in": named(node.input), **without_defaults(by=list(node.keys), functions=functions, window=window)}


class CombineBox(MergeBox):
    """Partials merged into those of coarser groups: fewer columns in `by`, or a longer `window` that theirs tile;
    `functions` as in a merge, some or all.
    """

    window: WindowField | None = None

    def build(self, given: Given) -> Operator:
        """A combine."""
        node = given.nodes[self.input]
        window = self.window.build(_before(node)) if self.window else None
        with at("by"):
            keys = tuple(node.schema.find(name) for name in self.by)
        functions = _detached(self.functions, given.users)
        return Combine(node, keys, functions, window)  # type: ignore[arg-type]  # it refuses other windows itself


def _before(node: Operator) -> Schema:
    """The rows before they were aggregated, as far as partials tell: the time that their windows lie on."""
    with at("window"):
        found = sorted({window.column for window in windows_of(node) if isinstance(window, TimeWindow)})
    return Schema(tuple((name, TIMESTAMP) for name in found), tuple((name, 0) for name in found))


class FinishBox(OneIn):
    """Each state turned into its answer; `functions` as in a merge."""

    functions: dict[str, Text] = Field(default_factory=dict)

    def build(self, given: Given) -> Operator:
        """A finish."""
        return Finish(given.nodes[self.input], _detached(self.functions, given.users))

    @classmethod
    def written(cls, node: Finish, named: Named) -> dict[str, Any]:
        """Calls without what was lifted."""
        return {"in": named(node.input), **without_defaults(functions=_write_detached(node.functions))}


def _detached(texts: dict[str, str], users: dict[str, UserAggregate]) -> Functions:
    found = []
    for name, text in texts.items():
        with at("functions", name):
            found.append((name, _detached_call(text, users)))
    return tuple(found)


def _detached_call(text: str, users: dict[str, UserAggregate]) -> AggregateCall:
    raw = parse_raw(text, aggregate_names(users))
    called = raw.name if isinstance(raw, Column) else raw.function if isinstance(raw, Call) else text
    constants = raw.arguments if isinstance(raw, Call) else ()
    name = AGGREGATE_ALIASES.get(called.lower(), called)
    if name in users:
        return AggregateCall(name, (), (), users[name])
    if name not in AGGREGATES:
        raise unknown("aggregate", name, AGGREGATES)
    return AggregateCall(name, (), _constants(name, constants))


def _constants(name: str, given: tuple[Expression, ...]) -> Parameters:
    wanted = AGGREGATES[name].parameters
    values = [part.value for part in given if isinstance(part, Literal)]
    if (
        len(values) != len(given)
        or len(values) > len(wanted)
        or not all(isinstance(v, int | float | Decimal) for v in values)
    ):
        listed = ", ".join(p.name for p in wanted) or "no constants"
        raise ExpressionError(f"{name} takes {listed} here.", hint="what it was applied to is behind it already.")
    filled = [*values, *(p.default for p in wanted[len(values) :])]
    return tuple(int(v) if p.whole else float(v) for p, v in zip(wanted, filled, strict=True) if v is not None)


def _write_detached(functions: Functions) -> dict[str, str]:
    # An aggregate without arguments prints `count(*)`; here the bare name says what is meant.
    return {name: str(call) if call.parameters else call.function for name, call in functions}
