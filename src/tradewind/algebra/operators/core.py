"""Source, filter, map, union, join, top and connection point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar
from typing import Literal as OneOf

from tradewind.algebra.expressions.clock import lag_of
from tradewind.algebra.expressions.tree import Expression
from tradewind.algebra.expressions.typing import require_boolean, resolve
from tradewind.algebra.operators.base import Linear, Operator
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import INT, INTERVAL, NULL, TIMESTAMP, common, is_numeric, is_orderable
from tradewind.errors import GraphError

Columns = tuple[tuple[str, Expression], ...]
Kind = OneOf["inner", "left", "right", "full"]


@dataclass(frozen=True, eq=False, repr=False)
class Source(Operator):
    """The rows of a declared stream: from all its origins, or from the named ones only.

    Each origin's mark follows its own rows by `late_by`. Rows are only ever added unless the stream declares
    `revisions`.
    """

    stream: str
    columns: Schema
    late_by: int = 0
    origins: tuple[str, ...] = ()
    revisions: bool = False
    takes: ClassVar = ()

    def output(self) -> Schema:
        """The declared columns."""
        if not self.columns.columns:
            raise GraphError(f"stream {self.stream!r} has no columns.")
        if self.late_by < 0:
            raise GraphError(f"stream {self.stream!r} cannot be late by less than nothing.")
        return self.columns

    def only_adds(self) -> bool:
        """Unless the stream is declared to be revised."""
        return not self.revisions


@dataclass(frozen=True, eq=False, repr=False)
class Filter(Linear):
    """The rows for which the predicate is true."""

    input: Operator
    predicate: Expression

    def output(self) -> Schema:
        """As the input's."""
        if require_boolean(self.predicate, self.input.schema) != self.predicate:
            raise GraphError("the predicate was not resolved against the input.")
        return self.input.schema


@dataclass(frozen=True, eq=False, repr=False)
class Map(Linear):
    """Each row with its columns computed anew from expressions."""

    input: Operator
    columns: Columns

    def output(self) -> Schema:
        """One column for each expression; those that follow event time keep telling the time."""
        if not self.columns:
            raise GraphError("a map needs at least one column.")
        types = []
        for name, expression in self.columns:
            type_ = resolve(expression, self.input.schema)[1]
            if type_ in (NULL, INTERVAL):
                raise GraphError(
                    f"column {name!r} would be {'NULL of no type' if type_ == NULL else 'an INTERVAL'}.",
                    hint="CAST(NULL AS …)." if type_ == NULL else "subtract unix_micros() of both times instead.",
                )
            types.append((name, type_))
        lags = [(name, lag_of(expression, self.input.schema)) for name, expression in self.columns]
        return Schema(tuple(types), _with_parts(lags, self.columns, self.input.schema))


def _with_parts(lags: list[tuple[str, int | None]], columns: Columns, schema: Schema) -> tuple[tuple[str, int], ...]:
    """The time columns of a map: `window` columns that are kept keep the lags of their start and end too."""
    found: list[tuple[str, int]] = []
    for (name, lag), (_, expression) in zip(lags, columns, strict=True):
        if lag is None:
            continue
        found.append((name, lag))
        before = getattr(expression, "name", None)
        for part in ("start", "end"):
            inner = schema.lag(f"{before}.{part}")
            if inner is not None:
                found.append((f"{name}.{part}", inner))
    return tuple(found)


@dataclass(frozen=True, eq=False, repr=False)
class Union(Linear):
    """All rows of all inputs."""

    members: tuple[Operator, ...]
    takes: ClassVar = ("members",)

    def output(self) -> Schema:
        """The inputs' common schema; the slowest input decides when a row is settled."""
        if len(self.members) < 1:
            raise GraphError("a union needs at least one input.")
        first = self.members[0].schema
        for number, member in enumerate(self.members[1:], start=2):
            if member.schema.columns != first.columns:
                raise GraphError(
                    f"union of unlike schemas: input 1 is ({first}), input {number} is ({member.schema}).",
                    hint="map both to the same names and types, in the same order.",
                )
        lags = [dict(member.schema.times) for member in self.members]
        shared = [name for name, _ in first.times if all(name in known for known in lags)]
        return Schema(first.columns, tuple((name, max(known[name] for known in lags)) for name in shared))


@dataclass(frozen=True, slots=True)
class Band:
    """`low <= right - left <= high` on one attribute of each side; None leaves that end open."""

    left: str
    right: str
    low: int | float | None
    high: int | float | None


@dataclass(frozen=True, eq=False, repr=False)
class Join(Operator):
    """Pairs of rows whose keys are equal and whose distance lies in the band.

    Outer kinds add the rows of that side that no row will ever match, with NULLs, once that is settled.
    """

    left: Operator
    right: Operator
    how: Kind
    keys: tuple[tuple[str, str], ...]
    band: Band | None = None
    takes: ClassVar = ("left", "right")

    def output(self) -> Schema:
        """The left columns, then the right ones; names must differ."""
        left, right = self.left.schema, self.right.schema
        if self.how not in ("inner", "left", "right", "full"):
            raise GraphError(f"unknown kind of join {self.how!r}.", hint="inner, left, right or full.")
        clash = {name.lower() for name in left.names} & {name.lower() for name in right.names}
        if clash:
            raise GraphError(
                f"both sides of the join have columns named {', '.join(sorted(clash))}.",
                hint="rename them on one side.",
            )
        if not self.keys and self.band is None:
            raise GraphError(
                "a join needs equal keys or a band.", hint="pair all with all by a constant key if that is meant."
            )
        for a, b in self.keys:
            self._check_pair(a, b, left, right)
        if self.band:
            self._check_band(self.band, left, right)
        return Schema(left.columns + right.columns, self._times(left, right))

    def only_adds(self) -> bool:
        """A pair stays as long as both its rows do; a row without a match may find one late."""
        return self.how == "inner" and self.left.append_only and self.right.append_only

    def _check_pair(self, a: str, b: str, left: Schema, right: Schema) -> None:
        kinds = left.type_of(a), right.type_of(b)
        if common(*kinds) is None or not is_orderable(kinds[0]):
            raise GraphError(
                f"{a!r} ({kinds[0]}) and {b!r} ({kinds[1]}) cannot be equal.", hint="CAST one side in a map."
            )

    def _check_band(self, band: Band, left: Schema, right: Schema) -> None:
        kinds = left.type_of(band.left), right.type_of(band.right)
        times = all(type_ == TIMESTAMP for type_ in kinds)
        if not times and not all(is_numeric(type_) for type_ in kinds):
            raise GraphError(f"a band needs two times or two numbers, not {kinds[0]} and {kinds[1]}.")
        if band.low is None and band.high is None:
            raise GraphError("a band needs at least one bound.")
        if band.low is not None and band.high is not None and band.low > band.high:
            raise GraphError(f"the band from {band.low} to {band.high} is empty.")
        if times and any(isinstance(bound, float) for bound in (band.low, band.high)):
            raise GraphError("a band on times has whole microseconds as bounds.")

    def bands(self) -> tuple[Band, ...]:
        """The band and the equalities that are bands of width zero on columns that tell the time."""
        zero = (Band(a, b, 0, 0) for a, b in self.keys)
        return (*((self.band,) if self.band else ()), *zero)

    def _times(self, left: Schema, right: Schema) -> tuple[tuple[str, int], ...]:
        found: dict[str, int] = {}
        for band in self.bands():
            lag_left, lag_right = left.lag(band.left), right.lag(band.right)
            if lag_left is None or lag_right is None:
                continue
            if band.high is not None and self.how in ("inner", "left"):
                found[band.left] = max(lag_left, int(band.high) + lag_right)
            if band.low is not None and self.how in ("inner", "right"):
                found[band.right] = max(lag_right, lag_left - int(band.low))
        return tuple(found.items())


@dataclass(frozen=True, eq=False, repr=False)
class Top(Operator):
    """The `k` first rows of each group in the order of `by` (True: descending); the other columns, ascending, decide
    ties.

    NULLs are the smallest values. `rank` names a column for the place, from 1.
    """

    input: Operator
    k: int
    by: tuple[tuple[str, bool], ...]
    per: tuple[str, ...] = ()
    rank: str | None = None

    def output(self) -> Schema:
        """As the input's, with the rank; it tells the time only by the columns that make the groups."""
        schema = self.input.schema
        if self.k < 1:
            raise GraphError(f"top needs at least one row, not {self.k}.")
        if not self.by:
            raise GraphError("top needs an order.", hint="by=… names the column that decides.")
        for name, _ in self.by:
            if not is_orderable(schema.type_of(name)):
                raise GraphError(f"{name!r} is {schema.type_of(name)} and cannot be ordered.")
        for name in self.per:
            schema.find(name)
        columns = schema.columns + (((self.rank, INT),) if self.rank else ())
        kept = tuple((name, lag) for name, lag in schema.times if name.split(".")[0] in self.per)
        return Schema(columns, kept)


@dataclass(frozen=True, eq=False, repr=False)
class ConnectionPoint(Linear):
    """The input as it is, with its history kept by time or by count for those who come later. Nothing is moved across
    it.
    """

    input: Operator
    name: str
    keep_time: int | None = None
    keep_rows: int | None = None

    def output(self) -> Schema:
        """As the input's."""
        if any(bound is not None and bound <= 0 for bound in (self.keep_time, self.keep_rows)):
            raise GraphError("a connection point's history must be longer than nothing.")
        return self.input.schema
