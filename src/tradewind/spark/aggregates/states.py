"""Every aggregate's three functions as Spark SQL over a few plain columns: lift (rows to a state), merge (states to a
state), finish (a state to the answer).

A state is *lean* where rows are only ever added: then a sum is just a sum. Otherwise it carries what is needed to take
rows back. Partials that travel are never lean, so that whoever merges them need not know where they come from.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tradewind.algebra.aggregates import AggregateCall, UserAggregate
from tradewind.algebra.expressions.tree import Column, Field, LiteralValue, substitute
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BIGINT, DataType, decimal, is_fraction
from tradewind.spark.aggregates.multisets import MULTISETS
from tradewind.spark.aggregates.parts import Part, Rows, State, total
from tradewind.spark.aggregates.spreads import SPREADS, spread
from tradewind.spark.expressions import spark_sql
from tradewind.spark.literals import text_sql
from tradewind.spark.types import ddl

_ROW = "_tw_row"
FOREVER = 9223372036854775807
"""Stands for a missing event time among times."""


def state_of(call: AggregateCall, value: DataType, rows: Rows, *, lean: bool) -> State:
    """The state of a call over values of a type (for user-defined aggregates, of its state's type)."""
    if call.user is not None:
        return _user(call.user, rows)
    return _BUILDERS[call.function](call.function, value, call.parameters, rows, lean)


def _count(name: str, _: DataType, __: tuple[LiteralValue, ...], rows: Rows, ___: bool) -> State:
    condition = rows.value if name == "count_if" else rows.known
    return State((Part("BIGINT", rows.count(condition), total),), lambda n: f"coalesce({n}, 0L)")


@dataclass(frozen=True, slots=True)
class _Sum:
    """Columns that hold a total, and its SQL: as an exact number or a double, and as the answer's own type."""

    parts: tuple[Part, ...]
    exact: Callable[..., str]
    answer: Callable[..., str]


def _known_count(rows: Rows) -> Part:
    return Part("BIGINT", rows.count(rows.known), total)


def _whole_sum(type_: DataType, rows: Rows) -> _Sum:
    value = f"CAST({rows.value} AS BIGINT)"
    if type_ != BIGINT:
        # A sum of so many INTs that it leaves BIGINT would take 2^32 rows.
        return _Sum((Part("BIGINT", f"sum({rows.times(value)})", total),), _itself, _itself)
    # The halves of a BIGINT add up without leaving BIGINT, so the total is exact whatever order rows come in.
    high, low = rows.times(f"shiftright({value}, 32)"), rows.times(f"({value} & 4294967295L)")
    parts = (Part("BIGINT", f"sum({high})", total), Part("BIGINT", f"sum({low})", total))

    def fitting(high: str, low: str) -> str:
        # What the low half has over is the high one's. Decimals would do as well, at ten times the cost.
        carried = f"({high} + shiftright({low}, 32))"
        fits = f"{carried} >= -2147483648L AND {carried} <= 2147483647L"
        return f"if({fits}, shiftleft({carried}, 32) | ({low} & 4294967295L), NULL)"

    def exact(high: str, low: str) -> str:
        return f"(CAST({high} AS DECIMAL(20,0)) * 4294967296BD + CAST({low} AS DECIMAL(20,0)))"

    return _Sum(parts, exact, fitting)


def _itself(total: str) -> str:
    return total


_MULTIPLIED = 27
"""Decimals of more digits than these lose some when they are multiplied by a weight."""


def _decimal_sum(type_: DataType, rows: Rows) -> _Sum:
    precision, scale = type_.parameters
    kept = decimal(min(38, precision + 10), scale)
    value = rows.value
    if rows.weight is not None and precision > _MULTIPLIED:
        value = f"if({rows.weight} < 0L, -({rows.value}), {rows.value})"
    elif rows.weight is not None:
        value = f"({rows.value}) * CAST({rows.weight} AS DECIMAL(10,0))"
    lift = f"try_cast(try_sum({value}) AS {ddl(kept)})"
    return _Sum((Part(ddl(kept), lift, lambda c: f"try_cast(try_sum({c}) AS {ddl(kept)})"),), _itself, _itself)


def _fraction_sum(rows: Rows, lean: bool) -> _Sum:
    value = f"CAST({rows.value} AS DOUBLE)"
    if lean:
        return _Sum((Part("DOUBLE", f"sum({rows.times(value)})", total),), _itself, _one_zero)
    finite = f"abs({value}) < double('Infinity')"
    parts = [Part("DOUBLE", f"coalesce(sum({rows.times(f'if({finite}, {value}, 0D)')}), 0D)", total)]
    odd = ("double('Infinity')", "double('-Infinity')", "double('NaN')")
    parts += [Part("BIGINT", rows.count(f"{value} = {one}"), total) for one in odd]

    def exact(total: str, up: str, down: str, nan: str) -> str:
        odd = f"CASE WHEN {nan} > 0 OR ({up} > 0 AND {down} > 0) THEN double('NaN')"
        return (
            f"({odd} WHEN {up} > 0 THEN double('Infinity') WHEN {down} > 0 THEN double('-Infinity') ELSE {total} END)"
        )

    return _Sum(tuple(parts), exact, lambda *columns: _one_zero(exact(*columns)))


def _one_zero(total: str) -> str:
    return f"({total} + 0D)"


def _sum_of(type_: DataType, rows: Rows, lean: bool) -> _Sum:
    if is_fraction(type_):
        return _fraction_sum(rows, lean)
    return _decimal_sum(type_, rows) if type_.name == "DECIMAL" else _whole_sum(type_, rows)


def _sum(_: str, type_: DataType, __: tuple[LiteralValue, ...], rows: Rows, lean: bool) -> State:
    total = _sum_of(type_, rows, lean)
    if lean:
        return State(total.parts, total.answer)
    parts = (*total.parts, _known_count(rows))
    return State(parts, lambda *columns: f"if({columns[-1]} <> 0L, {total.answer(*columns[:-1])}, NULL)")


_DIVIDED = 24
"""Quotients of decimals of more digits have fewer places in Spark than a mean has."""


def _decimal_mean(total: str, count: str, type_: DataType) -> str:
    precision, scale = type_.parameters
    places = min(38, scale + 4)
    wanted = f"DECIMAL({min(38, precision + 4)},{places})"
    plain = f"try_cast({total} / CAST({count} AS DECIMAL(20,0)) AS {wanted})"
    digits = min(precision, 33) - scale
    if precision <= _DIVIDED or digits < 1:
        return plain
    # The whole part and the rest are divided apart: neither needs all the digits.
    few = f"CAST({count} AS DECIMAL(12,0))"
    rest = f"({total} % {few})"
    whole = f"try_cast(({total} - {rest}) / {few} AS DECIMAL({digits},0))"
    return f"coalesce(try_cast({whole} + CAST({rest} / {few} AS DECIMAL({places + 1},{places})) AS {wanted}), {plain})"


def _avg(_: str, type_: DataType, __: tuple[LiteralValue, ...], rows: Rows, lean: bool) -> State:
    total = _sum_of(type_, rows, lean)

    def answer(*columns: str) -> str:
        exact, count = total.exact(*columns[:-1]), columns[-1]
        if type_.name == "DECIMAL":
            return f"if({count} <> 0L, {_decimal_mean(exact, count, type_)}, NULL)"
        return f"if({count} <> 0L, CAST({exact} AS DOUBLE) / {count} + 0D, NULL)"

    return State((*total.parts, _known_count(rows)), answer)


def _extreme(name: str, type_: DataType, _: tuple[LiteralValue, ...], rows: Rows, __: bool) -> State:
    chosen = "min" if name in ("min", "bool_and") else "max"
    part = Part(ddl(type_), f"{chosen}({rows.value})", lambda column: f"{chosen}({column})")
    return State((part,), lambda value: value)


def _end(type_: DataType, rows: Rows, chosen: str) -> Part:
    timed = f"named_struct('t', coalesce(unix_micros({rows.time}), {FOREVER}L), 'v', {rows.value})"
    lift = f"{chosen}({timed}) FILTER (WHERE {rows.known})"
    return Part(f"STRUCT<t: BIGINT, v: {ddl(type_)}>", lift, lambda column: f"{chosen}({column})")


def _at_end(name: str, type_: DataType, _: tuple[LiteralValue, ...], rows: Rows, __: bool) -> State:
    return State((_end(type_, rows, "min" if name == "first" else "max"),), lambda state: f"{state}.v")


def _delta(_: str, type_: DataType, __: tuple[LiteralValue, ...], rows: Rows, ___: bool) -> State:
    def answer(first: str, last: str) -> str:
        if is_fraction(type_):
            return f"CAST({last}.v - {first}.v + 0D AS {ddl(type_)})"
        return f"try_cast(try_subtract({last}.v, {first}.v) AS {ddl(type_)})"

    return State((_end(type_, rows, "min"), _end(type_, rows, "max")), answer)


_HASHED_AS_THEY_ARE = ("INT", "BIGINT")
"""Sketches leave empty texts out, so texts are hashed first."""


def _item(type_: DataType, rows: Rows) -> str:
    """A value as the sketches of distinct counts take it."""
    return rows.value if type_.name in _HASHED_AS_THEY_ARE else f"if({rows.known}, xxhash64({rows.value}), NULL)"


def _hll(_: str, type_: DataType, parameters: tuple[LiteralValue, ...], rows: Rows, __: bool) -> State:
    # One standard error is 1.024 over the root of the number of registers.
    size = min(21, max(4, math.ceil(2 * math.log2(1.024 / float(parameters[0] or 1)) - 1e-9)))
    part = Part("BINARY", f"hll_sketch_agg({_item(type_, rows)}, {size})", lambda c: f"hll_union_agg({c}, true)")
    return State((part,), lambda sketch: f"coalesce(hll_sketch_estimate({sketch}), 0L)")


def _theta(_: str, type_: DataType, __: tuple[LiteralValue, ...], rows: Rows, ___: bool) -> State:
    part = Part("BINARY", f"theta_sketch_agg({_item(type_, rows)})", lambda column: f"theta_union_agg({column})")
    return State((part,), lambda sketch: f"coalesce(theta_sketch_estimate({sketch}), 0L)")


def _kll(_: str, __: DataType, parameters: tuple[LiteralValue, ...], rows: Rows, ___: bool) -> State:
    share, size = float(str(parameters[0])), int(str(parameters[1]))
    value = f"CAST({rows.value} AS DOUBLE)"
    # A sketch leaves NaNs out and cannot be asked when it is empty.
    parts = (
        Part("BINARY", f"kll_sketch_agg_double({value}, {size})", lambda column: f"kll_merge_agg_double({column})"),
        Part("BIGINT", rows.count(f"{rows.known} AND NOT isnan({value})"), total),
        Part("BIGINT", rows.count(rows.known), total),
    )

    def answer(sketch: str, numbers: str, all_values: str) -> str:
        asked = f"kll_sketch_get_quantile_double({sketch}, {share!r}D)"
        return f"CASE WHEN {numbers} > 0 THEN {asked} + 0D WHEN {all_values} > 0 THEN double('NaN') END"

    return State(parts, answer)


def _multiset(name: str, type_: DataType, parameters: tuple[LiteralValue, ...], rows: Rows, _: bool) -> State:
    multiset = MULTISETS[name]
    one = f"named_struct('v', {rows.value}, 'w', {rows.weight or '1L'})"
    part = Part(
        f"ARRAY<STRUCT<v: {ddl(type_)}, w: BIGINT>>",
        f"collect_list({one}) FILTER (WHERE {rows.known})",
        lambda column: f"flatten(collect_list({column}))",
    )
    return State((part,), lambda values: multiset(values, type_, parameters))


_NOT_RANKED = ("BINARY", "ARRAY", "STRUCT")


def ranks_by_sketch(type_: DataType) -> bool:
    """Whether Spark's sketch of frequent values takes values of the type; it has no place for others."""
    return type_.name not in _NOT_RANKED


def _frequent(name: str, type_: DataType, parameters: tuple[LiteralValue, ...], rows: Rows, lean: bool) -> State:
    if not ranks_by_sketch(type_):
        return _multiset(name, type_, parameters, rows, lean)
    wanted, items = (int(str(one)) for one in parameters)
    kind = ddl(type_)
    part = Part(
        f"STRUCT<sketch: BINARY, maxItemsTracked: INT, itemDataType: {kind}, itemDataTypeDDL: STRING>",
        f"approx_top_k_accumulate({rows.value}, {max(wanted, items)}) FILTER (WHERE {rows.known})",
        lambda column: f"approx_top_k_combine({column})",
    )
    shown = f"ARRAY<STRUCT<item: {kind}, count: BIGINT>>"

    def answer(sketch: str) -> str:
        # Spark cannot ask a sketch that is NULL; values that are equally frequent come in no order from it.
        found = f"transform(approx_top_k_estimate({sketch}, {wanted}), e -> named_struct('n', -e.count, 'v', e.item))"
        ranked = f"transform(array_sort({found}), e -> named_struct('item', e.v, 'count', -e.n))"
        return f"CAST(if({sketch} IS NULL, array(), {ranked}) AS {shown})"

    return State((part,), answer)


def _user(user: UserAggregate, rows: Rows) -> State:
    states = Schema((("a", user.state), ("b", user.state)))
    merged = spark_sql(user.merge, states)
    wrapped = f"STRUCT<s: {ddl(user.state)}>"

    def fold(states_: str) -> str:
        # Wrapped, because a state may be NULL, which lists leave out.
        both = f"element_at(transform(array(x.s), a -> element_at(transform(array(y.s), b -> {merged}), 1)), 1)"
        pair = f"named_struct('s', if(x IS NULL, y.s, {both}))"
        return f"aggregate({states_}, CAST(NULL AS {wrapped}), (x, y) -> {pair})"

    # The arguments are bound together under an odd name, so that they hide no column that another one is made of.
    bound = Schema(((_ROW, DataType("STRUCT", (), user.over.columns)),))
    whole = substitute(user.lift, {name: Field(Column(_ROW), name) for name in user.over.names})
    given = ", ".join(f"{text_sql(name)}, {value}" for name, value in zip(user.over.names, rows.values, strict=False))
    row = f"named_struct({given})" if rows.values != ("NULL",) else f"CAST(NULL AS {ddl(bound.type_of(_ROW))})"
    lifted = f"element_at(transform(array({row}), {_ROW} -> {spark_sql(whole, bound)}), 1)"
    copies = f"array_repeat(named_struct('s', {lifted}), {f'CAST({rows.weight} AS INT)' if rows.weight else '1'})"
    part = Part(
        wrapped,
        fold(f"flatten(collect_list({copies}) FILTER (WHERE {rows.known}))"),
        lambda column: fold(f"collect_list({column})"),
    )
    finished = spark_sql(user.finish, Schema((("state", user.state),)))
    return State(
        (part,), lambda s: f"if({s} IS NULL, NULL, element_at(transform(array({s}.s), state -> {finished}), 1))"
    )


_COPIED = frozenset({*SPREADS, "approx_percentile", "approx_top_k"})


def wants_copies(call: AggregateCall, schema: Schema) -> bool:
    """Whether an aggregate can only take weights of one and minus one."""
    if call.user is not None or call.function in _COPIED:
        return True
    if call.function not in ("sum", "avg"):
        return False
    type_ = call.state_type(schema).fields[0][1]
    return type_.name == "DECIMAL" and type_.parameters[0] > _MULTIPLIED


_Builder = Callable[[str, DataType, tuple[LiteralValue, ...], Rows, bool], State]
_BUILDERS: dict[str, _Builder] = {
    **dict.fromkeys(("count", "count_if"), _count),
    "sum": _sum,
    "avg": _avg,
    **dict.fromkeys(SPREADS, spread),
    **dict.fromkeys(("min", "max", "bool_and", "bool_or"), _extreme),
    **dict.fromkeys(("first", "last"), _at_end),
    "delta": _delta,
    "approx_count_distinct": _hll,
    "theta_count_distinct": _theta,
    "approx_percentile": _kll,
    "approx_top_k": _frequent,
    **dict.fromkeys(("count_distinct", "percentile", "top_k"), _multiset),
}
