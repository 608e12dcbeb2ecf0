"""Answers from a list of values with weights: aggregates whose state grows with the number of different values."""

from __future__ import annotations

from collections.abc import Callable

from tradewind.algebra.expressions.tree import LiteralValue
from tradewind.algebra.types import DataType
from tradewind.spark.types import ddl

Parameters = tuple[LiteralValue, ...]


def consolidated(values: str) -> str:
    """Each value once with its weights added up, if there is one of it."""
    weight = f"aggregate(filter({values}, e -> e.v <=> u), 0L, (t, e) -> t + e.w)"
    each = f"transform(array_distinct(transform({values}, e -> e.v)), u -> named_struct('v', u, 'w', {weight}))"
    return f"filter({each}, e -> e.w > 0)"


def _count(values: str, _: DataType, __: Parameters) -> str:
    return f"CAST(size({consolidated(f'coalesce({values}, array())')}) AS BIGINT)"


def percentile_of(copies: str, share: LiteralValue) -> str:
    """The value at a share of a sorted list of doubles, in proportion between neighbours."""
    place = f"(size(s) - 1) * {float(str(share))!r}D"
    low, high = f"element_at(s, CAST(floor({place}) AS INT) + 1)", f"element_at(s, CAST(ceil({place}) AS INT) + 1)"
    part = f"({place} - floor({place}))"
    between = f"if({low} = {high} OR {part} = 0D, {low}, (1D - {part}) * {low} + {part} * {high}) + 0D"
    return f"element_at(transform(array({copies}), s -> if(size(s) = 0, NULL, {between})), 1)"


def _percentile(values: str, _: DataType, parameters: Parameters) -> str:
    copies = f"flatten(transform({consolidated(values)}, e -> array_repeat(CAST(e.v AS DOUBLE), CAST(e.w AS INT))))"
    return f"if({values} IS NULL, NULL, {percentile_of(f'array_sort({copies})', parameters[0])})"


def _top_k(values: str, type_: DataType, parameters: Parameters) -> str:
    ranked = f"array_sort(transform({consolidated(values)}, e -> named_struct('n', -e.w, 'v', e.v)))"
    shown = f"transform(slice({ranked}, 1, {int(str(parameters[0]))}), e -> named_struct('item', e.v, 'count', -e.n))"
    kind = f"ARRAY<STRUCT<item: {ddl(type_)}, count: BIGINT>>"
    return f"CAST(if({values} IS NULL, array(), {shown}) AS {kind})"


MULTISETS: dict[str, Callable[[str, DataType, Parameters], str]] = {
    "count_distinct": _count,
    "percentile": _percentile,
    "top_k": _top_k,
    "approx_top_k": _top_k,
}
"""The answer of each aggregate from the SQL of its list."""
