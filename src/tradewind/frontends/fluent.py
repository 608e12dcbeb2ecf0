"""Streams in Python: each method gives a new stream with one more operator on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from typing import Literal as OneOf

from tradewind.algebra.aggregates import UserAggregate
from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.expressions.typing import parse_condition
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import ConnectionPoint, Filter, Kind, Union
from tradewind.algebra.operators.derived import Distinct, Sample, Split
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor, pair_schema
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.tables import Table
from tradewind.errors import GraphError, InputError, unknown
from tradewind.frontends import build
from tradewind.frontends.arguments import (
    Names,
    columns,
    flag,
    items,
    iterated,
    length,
    names,
    number,
    optional_length,
    optional_text,
    orders,
    place,
    text,
    texts_by_name,
    whole,
)
from tradewind.frontends.bounds import BandSpec, WindowSpec, band_of, resolved
from tradewind.frontends.catalog import Catalog
from tradewind.frontends.grouping import functions_of, grouping
from tradewind.frontends.rows import Rows
from tradewind.frontends.superboxes import boxed

On = Names | Iterable[tuple[str, str]] | Mapping[str, str] | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stream(Rows):
    """Rows that arrive for ever, as the last operator of a graph; equal to every stream that means the same."""

    catalog: Catalog = field(default_factory=Catalog)

    @staticmethod
    @place("stream")
    def named(name: str, catalog: Catalog) -> Stream:
        """A stream that the catalog declares."""
        found = catalog.stream(name)
        if found is None:
            raise unknown("stream", name, catalog.streams)
        return Stream(found, catalog)

    @place("where")
    def where(self, predicate: str) -> Stream:
        """The rows for which the predicate is true."""
        return self._on(Filter(self.operator, parse_condition(text(predicate, "a condition"), self.schema)))

    @place("select")
    def select(self, *texts: str, **named: str) -> Stream:
        """Only these columns: `"domain"`, `"bytes * 8 AS bits"`, `"*"`, `minute="window.start"`."""
        return self._on(build.project(self.operator, items(texts, named, self.schema)))

    @place("with_columns")
    def with_columns(self, *texts: str, **named: str) -> Stream:
        """All columns, with these added, or put in the place of those of the same name."""
        return self._extended(texts, named)

    @place("rename")
    def rename(self, names: Mapping[str, str] | None = None, /, **named: str) -> Stream:
        """The same columns under other names: `rename(old="new")`."""
        given = {} if names is None else texts_by_name(names, "a mapping such as {'old': 'new'}")
        return self._on(build.rename(self.operator, given | texts_by_name(named, "names")))

    @place("drop")
    def drop(self, *names: str) -> Stream:
        """All columns but these."""
        gone = columns(names, self.schema)
        return self._on(build.project(self.operator, [(n, Column(n)) for n in self.schema.names if n not in gone]))

    @place("union")
    def union(self, *others: Stream) -> Stream:
        """All rows of this stream and of the others, which have the same columns."""
        return self._on(Union((self.operator, *(_operator(other) for other in others))))

    @place("join")
    def join(
        self, other: Stream, on: On = None, how: Kind = "inner", *, within: str | tuple[str, str] | None = None,
        band: BandSpec | None = None, suffix: str = "right",
    ) -> Stream:  # fmt: skip
        """Pairs of rows with equal keys whose event times lie `within` a span, or whose values lie in a `band`.

        `on` is a name, a list of names or of pairs, or `{"left": "right"}`. `within="5 minutes"` is that much earlier
        or later; `("-1 minute", "5 minutes")` says how much earlier and later the right row may be. Columns of the
        right side whose names the left has too get the suffix: `ts_right`.
        """
        right = _operator(other)
        near = band_of(self.schema, right.schema, within, band)
        return self._on(build.join(self.operator, right, how, _pairs(on), near, suffix=text(suffix, "a suffix")))

    def group_by(self, *texts: str, window: WindowSpec | None = None, **named: str) -> Grouped:
        """The rows by columns or expressions, and by window; `.agg(…)` then says what is asked of each group."""
        return Grouped(self, texts, window, tuple(named.items()))

    @place("top")
    def top(self, k: int, by: Names, per: Names | None = None, rank: str | None = None) -> Stream:
        """The first k rows, per window where the rows have one, unless `per` names other columns (or none: `per=[]`).

        `by="hits"` takes the most first, and `by="hits DESC, domain"` says the order as SQL does. `rank` names a column
        for the place.
        """
        groups = None if per is None else names(per)
        return self._on(build.top(self.operator, whole(k, "k"), orders(by), groups, optional_text(rank, "a name")))

    @place("order")
    def order(self, by: str, *, slack: int) -> Stream:
        """The rows in the order of a column, as far as a buffer of `slack` rows can sort them."""
        return self._on(Order(self.operator, self.schema.find(text(by)), whole(slack, "slack")))

    @place("resample")
    def resample(
        self, *, values: Names, every: str | None = None, at: Stream | None = None, keys: Names = (),
        method: OneOf["previous", "linear"] = "previous", max_gap: str | None = None,
    ) -> Stream:  # fmt: skip
        """The values at other times: on a grid (`every="10 seconds"`) or at the times of another stream (`at`)."""
        other = None if at is None else _operator(at)
        wanted = columns(keys, self.schema), columns(values, self.schema)
        gap = optional_length(max_gap)
        return self._on(Resample(self.operator, *wanted, method, optional_length(every), other, gap))

    @place("distinct")
    def distinct(self) -> Stream:
        """Each different row once."""
        return self._on(Distinct(self.operator))

    @place("sample")
    def sample(self, fraction: float, by: Names | None = None, seed: int = 0) -> Stream:
        """A share of the rows; with `by`, all rows of a drawn value and none of the others."""
        share = number(fraction, "the fraction")
        return self._on(Sample(self.operator, share, columns(by, self.schema), whole(seed, "seed")))

    @place("wait_for")
    def wait_for(self, signal: Stream, predicate: str, timeout: str, suffix: str = "signal") -> Stream:
        """The rows that, before the timeout, a row of the signal satisfies the predicate with.

        Columns of the signal whose names this stream has too get the suffix in the predicate: `ts_signal`.
        """
        other, _ = build.renamed_apart(self.schema, _operator(signal), text(suffix, "a suffix"))
        condition = parse_condition(text(predicate, "a condition"), pair_schema(self.schema, other.schema))
        return self._on(WaitFor(self.operator, other, condition, length(timeout)))

    @place("read")
    def read(self, table: str | Table, sql: str, keep: bool = False) -> Stream:
        """Each row with what a SELECT on the table gives for it, where `:name` is the row's column.

        Rows for which it gives nothing are dropped, or kept with NULLs.
        """
        return self._on(Read(self.operator, self._table(table), text(sql, "a SELECT").strip(), flag(keep, "keep")))

    @place("update")
    def update(self, table: str | Table, sql: str, report: Names = ("*",)) -> Stream:
        """An INSERT, UPDATE or DELETE on the table for each row; then the columns or expressions in `report`."""
        reported = tuple(items(names(report), {}, self.schema))
        return self._on(Update(self.operator, self._table(table), text(sql, "a statement").strip(), reported))

    @place("split")
    def split(self, *predicates: str) -> tuple[Stream, ...]:
        """One stream for each predicate, with the rows for which it is the first true one, and one with the rest."""
        if not predicates:
            raise GraphError("a split needs at least one predicate.")
        conditions = tuple(parse_condition(text(one, "a condition"), self.schema) for one in predicates)
        return tuple(self._on(Split(self.operator, conditions, route)) for route in range(len(conditions) + 1))

    @place("connection_point")
    def connection_point(self, name: str, keep: str | int | None = None) -> Stream:
        """The same rows, with their history kept (`"1 hour"`, or a number of rows) for those who come later."""
        rows = whole(keep, "keep") if isinstance(keep, int) else None
        time = length(keep) if keep is not None and rows is None else None
        return self._on(ConnectionPoint(self.operator, text(name, "a name"), time, rows))

    def box(self, name: str, function: Callable[..., Stream], **parameters: object) -> Stream:
        """What the function makes of this stream, as a superbox: drawn, shown and shared as one thing with a name."""
        with place("box"):
            given = text(name, "a name")
        return boxed(given, function, (self,), parameters)

    @place("deliver")
    def deliver(self, site: str, **sink: object) -> Delivery:
        """The stream as an answer that is wanted at a site: `deliver("hq", format="parquet", path="out/top")`."""
        return Delivery(self, text(site, "a site's name"), sink)

    # The names that PySpark has for the same: docs/python.md lists them. What Spark means otherwise is not here.

    filter = where
    groupBy = group_by  # noqa: N815 - PySpark's name
    selectExpr = select  # noqa: N815 - PySpark's name
    unionAll = union  # noqa: N815 - PySpark's name

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self.schema.names)

    @place("withColumn")
    def withColumn(self, name: str, expression: str) -> Stream:  # noqa: N802 - PySpark's name
        """All columns, and one that is added, or put in the place of the one of that name."""
        return self._extended((), {text(name, "a name"): expression})

    @place("withColumns")
    def withColumns(self, named: Mapping[str, str]) -> Stream:  # noqa: N802 - PySpark's name
        """All columns, with these added, or put in the place of those of the same name."""
        return self._extended((), texts_by_name(named, "a mapping such as {'name': 'expression'}"))

    @place("withColumnRenamed")
    def withColumnRenamed(self, old: str, new: str) -> Stream:  # noqa: N802 - PySpark's name
        """The same columns, one of them under another name."""
        return self._on(build.rename(self.operator, {text(old, "a name"): text(new, "a name")}))

    @place("withColumnsRenamed")
    def withColumnsRenamed(self, names: Mapping[str, str]) -> Stream:  # noqa: N802 - PySpark's name
        """The same columns, some of them under other names: `{"old": "new"}`."""
        return self._on(build.rename(self.operator, texts_by_name(names, "a mapping such as {'old': 'new'}")))

    def _extended(self, texts: Iterable[str], named: Mapping[str, str]) -> Stream:
        own = {name.lower(): name for name in self.schema.names}
        computed = {own.get(name.lower(), name): e for name, e in items(texts, named, self.schema)}
        return self._on(build.extend(self.operator, computed))

    def _on(self, operator: Operator) -> Stream:
        return replace(self, operator=operator)

    def _table(self, table: str | Table) -> Table:
        if isinstance(table, Table):
            return table
        found = self.catalog.table(text(table, "a table's name"))
        if found is None:
            raise unknown("table", table, self.catalog.tables)
        return found


@dataclass(frozen=True, slots=True)
class Grouped:
    """A stream whose rows are in groups, before it is said what is asked of each group."""

    stream: Stream
    texts: tuple[str, ...]
    window: WindowSpec | None
    named: tuple[tuple[str, str], ...]

    def agg(self, *users: UserAggregate, **functions: str) -> Stream:
        """One row per group with the answers: `agg(hits="count(*)", total="sum(bytes)")`; without any, the groups.

        User-defined aggregates are those of the deployment, and those given here: `agg(spread, s="spread(price)")`.
        """
        node = self.stream.operator
        with place("group_by"):
            keys, grouped = grouping(node, self.texts, dict(self.named))
            window = resolved(self.window, grouped)
        with place("agg"):
            for user in users:
                _require_user(user)
            known = {**self.stream.catalog.aggregates, **{user.name: user for user in users}}
            return replace(
                self.stream, operator=build.group(node, keys, functions_of(functions, grouped, known), window)
            )

    def count(self) -> Stream:
        """One row per group with its number of rows in a column `count`, as PySpark has it."""
        return self.agg(count="count(*)")


@dataclass(frozen=True, slots=True)
class Delivery:
    """A stream, the site where its rows are wanted, and what the site does with them."""

    stream: Stream
    site: str
    options: Mapping[str, object] = field(default_factory=dict, hash=False)


def _operator(other: Any) -> Operator:
    if not isinstance(other, Stream):
        raise InputError(f"expected a stream, not {type(other).__name__}.")
    return other.operator


def _require_user(given: object) -> None:
    if not isinstance(given, UserAggregate):
        raise InputError("only aggregates of one's own go without a name.", hint='agg(hits="count(*)").')


def _pairs(on: On) -> list[tuple[str, str]]:
    """The keys of a join as pairs of a left and a right column."""
    if on is None or isinstance(on, str):
        return [] if on is None else [(on, on)]
    given = on.items() if isinstance(on, Mapping) else on
    pairs = [names(one) for one in iterated(given, "a name, a list of names, or {'left': 'right'}")]
    if any(len(pair) not in (1, 2) for pair in pairs):
        raise InputError("on takes pairs of a left and a right column.")
    return [(pair[0], pair[-1]) for pair in pairs]
