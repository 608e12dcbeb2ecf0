"""The boxes that look at single rows or pairs: source, filter, map, union, join, top, connection point."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from tradewind.algebra.durations import format_duration
from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Band, ConnectionPoint, Filter, Join, Kind, Map, Source, Top, Union
from tradewind.algebra.schema import Schema
from tradewind.errors import GraphError, InputError, unknown
from tradewind.frontends import build
from tradewind.frontends.arguments import orders
from tradewind.frontends.bounds import distance
from tradewind.frontends.flow.box import Box, Given, ManyIn, Named, OneIn, at, condition, expression, without_defaults
from tradewind.frontends.flow.fields import Distance, Names, PositiveDuration, Strict, Text, read_duration
from tradewind.frontends.flow.findings import Misplaced
from tradewind.frontends.flow.window import write_distance


class SourceBox(Box):
    """The rows of a declared stream from some of its sites only: `{box: source, stream: ticks, origins: [ams]}`."""

    reads: ClassVar[tuple[str, ...]] = ("stream",)
    stream: str
    origins: Names = ()

    def build(self, given: Given) -> Operator:
        """The stream's source with its origins narrowed down."""
        node = given.nodes[self.stream]
        if not isinstance(node, Source):
            raise Misplaced(("stream",), GraphError(f"{self.stream!r} is not a declared stream."))
        for number, origin in enumerate(self.origins):
            if node.origins and origin not in node.origins:
                raise Misplaced(("origins", number), unknown(f"site of {self.stream}", origin, node.origins))
        return replace(node, origins=self.origins)

    @classmethod
    def written(cls, node: Source, _: Named) -> dict[str, Any]:
        """By name, with its sites."""
        return without_defaults(stream=node.stream, origins=list(node.origins))


class FilterBox(OneIn):
    """The rows for which `where` is true."""

    where: Text

    def build(self, given: Given) -> Operator:
        """A filter."""
        node = given.nodes[self.input]
        return Filter(node, condition(self.where, node.schema, "where"))

    @classmethod
    def written(cls, node: Filter, named: Named) -> dict[str, Any]:
        """The predicate as text."""
        return {"in": named(node.input), "where": print_expression(node.predicate)}


class MapBox(OneIn):
    """Columns computed from expressions.

    `columns` alone are all there will be; with `keep: all` they replace or follow the input's, with `keep: [a, b]` they
    follow those. `rename: {old: new}` keeps all columns under other names. A map that changes nothing is left out
    unless it says `always`.
    """

    columns: dict[str, Text] = Field(default_factory=dict)
    keep: Names = ()
    rename: dict[str, str] = Field(default_factory=dict)
    always: bool = False

    def build(self, given: Given) -> Operator:
        """A map, or the input itself where nothing changes."""
        node = given.nodes[self.input]
        if self.rename:
            if self.columns or self.keep:
                raise Misplaced(
                    ("rename",), GraphError("rename goes with neither columns nor keep.", hint="use two maps.")
                )
            with at("rename"):
                return build.rename(node, self.rename)
        computed = {name: expression(text, node.schema, "columns", name) for name, text in self.columns.items()}
        if self.keep == ("all",):
            own = {name.lower(): name for name in node.schema.names}
            return build.extend(node, {own.get(name.lower(), name): e for name, e in computed.items()})
        with at("keep"):
            kept = [(node.schema.find(name), Column(node.schema.find(name))) for name in self.keep]
        wanted = tuple((name, e) for name, e in kept if name not in computed) + tuple(computed.items())
        return Map(node, wanted) if self.always or not wanted else build.project(node, wanted)

    @classmethod
    def written(cls, node: Map, named: Named) -> dict[str, Any]:
        """Every column with its expression."""
        columns = {name: print_expression(e) for name, e in node.columns}
        always = build.project(node.input, node.columns) != node
        return {"in": named(node.input), "columns": columns, **without_defaults(always=always)}


class UnionBox(ManyIn):
    """All rows of all inputs."""

    def build(self, given: Given) -> Operator:
        """A union."""
        return Union(tuple(given.nodes[name] for name in self.inputs))

    @classmethod
    def written(cls, node: Union, named: Named) -> dict[str, Any]:
        """Its members."""
        return {"in": [named(member) for member in node.members]}


class BandKeys(Strict):
    """`low <= right - left <= high` on a column of each side; lengths of time for times."""

    left: str
    right: str
    low: Distance | None = None
    high: Distance | None = None


def _pairs(value: Any) -> Any:
    """`ticker`, `[ticker, day]`, `{left: right}` and `[[left, right]]` all as pairs."""
    if isinstance(value, str):
        return ((value, value),)
    if isinstance(value, dict):
        return tuple(value.items())
    if isinstance(value, list | tuple):
        return tuple((one, one) if isinstance(one, str) else one for one in value)
    return value


def _within(value: Any) -> Any:
    """`5 minutes` (either way) and `[-1 minute, 5 minutes]` (how much earlier and later), as microseconds."""
    if isinstance(value, list | tuple):
        if len(value) != 2:
            hint = "within: 5 minutes, or [-1 minute, 5 minutes]."
            raise InputError(f"'within' is a length of time or two, not {len(value)}.", hint=hint)
        low, high = (read_duration(end) for end in value)
        if low > high:
            raise InputError("'within' ends before it begins.", hint="the lesser of the two stands first.")
        return low, high
    lasts = read_duration(value)
    if lasts <= 0:
        raise InputError("a length of time must be longer than nothing here.")
    return -lasts, lasts


Pair = Annotated[tuple[str, str], Field(strict=False)]
Pairs = Annotated[tuple[Pair, ...], Field(strict=False), BeforeValidator(_pairs)]
Within = Annotated[tuple[int, int], BeforeValidator(_within)]


class JoinBox(ManyIn):
    """Pairs of rows of two inputs whose keys are equal (`on`) and whose times or other values are near.

    `within: 5 minutes` is about event time, either way; `within: [-1 minute, 5 minutes]` says how much earlier and
    later the right row may be; `band` is about any two columns. Columns of the right side whose names the left side has
    too get `_suffix` behind them.
    """

    on: Pairs = ()
    how: Kind = "inner"
    within: Within | None = None
    band: BandKeys | None = None
    suffix: str = "right"

    def build(self, given: Given) -> Operator:
        """A join."""
        if len(self.inputs) != 2:
            raise Misplaced(
                ("in",), GraphError(f"a join reads two inputs, not {len(self.inputs)}.", hint="in: [left, right].")
            )
        left, right = (given.nodes[name] for name in self.inputs)
        with at("on"):
            keys = [(left.schema.find(a), right.schema.find(b)) for a, b in self.on]
        return build.join(left, right, self.how, keys, self._band(left.schema, right.schema), suffix=self.suffix)

    def _band(self, left: Schema, right: Schema) -> Band | None:
        if self.within is not None:
            if self.band is not None:
                raise Misplaced(("within",), GraphError("a join has either within or band."))
            if left.time is None or right.time is None:
                raise Misplaced(("within",), GraphError("within needs event time on both sides.", hint="use band."))
            return Band(left.time, right.time, *self.within)
        if self.band is None:
            return None
        with at("band"):
            columns = left.find(self.band.left), right.find(self.band.right)
        return Band(*columns, *(self._bound(left, columns[0], key) for key in ("low", "high")))

    def _bound(self, left: Schema, column: str, key: str) -> int | float | None:
        value = getattr(self.band, key)
        with at("band", key):
            return None if value is None else distance(left, column, value)

    @classmethod
    def written(cls, node: Join, named: Named) -> dict[str, Any]:
        """Keys as a mapping where each left column stands once."""
        lefts = [a for a, _ in node.keys]
        on: Any = dict(node.keys) if len(set(lefts)) == len(lefts) else [list(pair) for pair in node.keys]
        how = node.how if node.how != "inner" else None
        band = cls._written_band(node.band, node.left.schema) if node.band else None
        return {"in": [named(node.left), named(node.right)], **without_defaults(on=on, how=how, band=band)}

    @staticmethod
    def _written_band(band: Band, left: Schema) -> dict[str, Any]:
        bounds = {"low": band.low, "high": band.high}
        written = {key: write_distance(value, left, band.left) for key, value in bounds.items() if value is not None}
        return {"left": band.left, "right": band.right, **written}


class TopBox(OneIn):
    """The first `k` rows in the order of `by`: `hits` (the most first), or `hits DESC, domain`.

    They are the first of each group of `per`; of each window where the rows have one and nothing else is said.
    """

    k: int
    by: Names
    per: Names | None = None
    rank: str | None = None

    def build(self, given: Given) -> Operator:
        """A top."""
        node = given.nodes[self.input]
        with at("by"):
            by = orders(self.by)
            for name, _ in by:
                node.schema.find(name)
        return build.top(node, self.k, by, self.per, self.rank)

    @classmethod
    def written(cls, node: Top, named: Named) -> dict[str, Any]:
        """Each order with its direction."""
        by = ", ".join(f"{_ordered_name(name)} {'DESC' if descending else 'ASC'}" for name, descending in node.by)
        usual = build.top(node.input, node.k, node.by).per
        per = {} if usual == node.per else {"per": list(node.per)}
        return {"in": named(node.input), "k": node.k, "by": by, **per, **without_defaults(rank=node.rank)}


def _ordered_name(name: str) -> str:
    return name if re.fullmatch(r"\w+", name) else "`" + name.replace("`", "``") + "`"


class ConnectionPointBox(OneIn):
    """The input as it is, with its history kept for those who come later: `keep_time: 1 hour`, `keep_rows: 1000`."""

    name: str | None = None
    keep_time: PositiveDuration | None = None
    keep_rows: int | None = None

    def build(self, given: Given) -> Operator:
        """A connection point under the box's own name where it gives no other."""
        name = given.name if self.name is None else self.name
        return ConnectionPoint(given.nodes[self.input], name, self.keep_time, self.keep_rows)

    @classmethod
    def written(cls, node: ConnectionPoint, named: Named) -> dict[str, Any]:
        """Always with its name."""
        time = format_duration(node.keep_time) if node.keep_time is not None else None
        return {
            "in": named(node.input),
            "name": node.name,
            **without_defaults(keep_time=time, keep_rows=node.keep_rows),
        }
