"""Variance and standard deviation: count, mean and spread, merged by Chan's formula.

Those of the rows that came and of those that were taken back are kept apart: merging either is stable, and taking back
is done once, in the answer. Values whose squares could leave the range of doubles have moments of their own, scaled
down. So they neither make the others' moments infinite nor leave rounding errors there when they are taken back.
"""

from __future__ import annotations

from dataclasses import dataclass

from tradewind.algebra.expressions.tree import LiteralValue
from tradewind.algebra.types import DataType
from tradewind.spark.aggregates.parts import Part, Rows, State, total

SPREADS = ("var_samp", "var_pop", "stddev_samp", "stddev_pop")

_HUGE = f"{2.0**480!r}D"
"""Squares of smaller values add up within the range of doubles."""
_SCALE = f"{2.0**-600!r}D"
"""Makes every huge value so small that its square is in the range of doubles. A power of two: no digit is lost."""

_ROUNDED = f"{2.0**-48!r}D"
"""How far off the sum of squares may be, as a share of it, for each row: what docs/aggregates.md promises."""

_MOMENTS = "STRUCT<n: BIGINT, mean: DOUBLE, m2: DOUBLE>"
_NO_MOMENTS = "named_struct('n', 0L, 'mean', 0D, 'm2', 0D)"
_NOTHING = f"CAST(NULL AS {_MOMENTS})"


def spread(name: str, _: DataType, __: tuple[LiteralValue, ...], rows: Rows, ___: bool) -> State:
    """The state of one of `SPREADS`. Weights other than one and minus one have been unfolded before."""
    value = f"CAST({rows.value} AS DOUBLE)"
    finite = f"abs({value}) < double('Infinity')"
    odd = Part("BIGINT", rows.count(f"({value}) IS NOT NULL AND NOT {finite}"), total)
    plain, huge = f"abs({value}) < {_HUGE}", f"{finite} AND abs({value}) >= {_HUGE}"
    scaled = f"({value} * {_SCALE})"
    parts = (
        _moments(value, plain, rows, ">"),
        _moments(value, plain, rows, "<"),
        odd,
        _seldom(_moments(scaled, huge, rows, ">")),
        _seldom(_moments(scaled, huge, rows, "<")),
    )

    def answer(came: str, gone: str, strange: str, huge_came: str, huge_gone: str) -> str:
        plain = _Left.of(came, gone)
        huge = _Left.of(f"coalesce({huge_came}, {_NO_MOMENTS})", f"coalesce({huge_gone}, {_NO_MOMENTS})")
        return _answer(name, plain, huge, strange)

    return State(parts, answer)


def _moments(value: str, condition: str, rows: Rows, sign: str) -> Part:
    """The moments of the values that satisfy a condition, of rows whose weight has a sign."""
    if rows.weight is None and sign == "<":
        return Part(_MOMENTS, _NO_MOMENTS, _merge_moments)
    chosen = f"FILTER (WHERE {condition}{f' AND {rows.weight} {sign} 0' if rows.weight else ''})"
    mean = f"coalesce(avg({value}) {chosen}, 0D)"
    m2 = f"coalesce(var_pop({value}) {chosen}, 0D) * count({value}) {chosen}"
    return Part(_MOMENTS, f"named_struct('n', count({value}) {chosen}, 'mean', {mean}, 'm2', {m2})", _merge_moments)


def _seldom(part: Part) -> Part:
    """Moments that are NULL where there are no values, so that they take no room and no time."""
    lift = f"if({part.lift}.n > 0, {part.lift}, NULL)" if part.lift != _NO_MOMENTS else _NOTHING
    return Part(_MOMENTS, lift, lambda column: _folded(column, _NOTHING))


def _merge_moments(column: str) -> str:
    return _folded(column, _NO_MOMENTS)


def _folded(column: str, start: str) -> str:
    return f"aggregate(collect_list({column}), {start}, (a, b) -> {_merged_moments('a', 'b')})"


def _merged_moments(a: str, b: str) -> str:
    """Chan's formula: how far two means lie apart adds to the spread."""
    count, apart = f"({a}.n + {b}.n)", f"({b}.mean - {a}.mean)"
    mean = f"{a}.mean + {apart} * {b}.n / {count}"
    m2 = f"{a}.m2 + {b}.m2 + {apart} * {apart} * {a}.n * {b}.n / {count}"
    both = f"named_struct('n', {count}, 'mean', {mean}, 'm2', {m2})"
    return f"CASE WHEN {a} IS NULL OR {a}.n = 0 THEN {b} WHEN {b}.n = 0 THEN {a} ELSE {both} END"


@dataclass(frozen=True, slots=True)
class _Left:
    """SQL for the moments of what is left of the rows that came, less those that were taken back."""

    n: str
    mean: str
    m2: str

    @staticmethod
    def of(came: str, gone: str) -> _Left:
        """Taking back is merging with a negative count. One value has no spread, and where none is left, nothing of
        its errors is. A spread below zero by no more than doubles are rounded is none.
        """
        n = f"({came}.n - {gone}.n)"
        apart = f"({gone}.mean - {came}.mean)"
        mean = f"({came}.mean - {apart} * {gone}.n / {n})"
        m2 = f"({came}.m2 - {gone}.m2 - {apart} * {apart} * {came}.n * {gone}.n / {n})"
        rounded = f"{_ROUNDED} * ({came}.m2 + {came}.n * {came}.mean * {came}.mean)"
        spread = f"if({m2} < 0D AND {m2} >= -({rounded}), 0D, {m2})"
        kept = f"WHEN {gone}.n = 0 THEN {came}"
        return _Left(
            n,
            f"(CASE {kept}.mean WHEN {n} = 0 THEN 0D ELSE {mean} END)",
            f"(CASE {kept}.m2 WHEN {n} IN (0, 1) THEN 0D ELSE {spread} END)",
        )


def _answer(name: str, plain: _Left, huge: _Left, strange: str) -> str:
    """The answer from the moments of both kinds of values, and from how many values are no numbers."""
    least, divisor = (2, "- 1") if name.endswith("samp") else (1, "")
    count = f"({plain.n} + {huge.n})"
    apart = f"({plain.mean} * {_SCALE} - {huge.mean})"
    between = f"{apart} * {apart} * {plain.n} * {huge.n} / {count}"
    scaled = f"({plain.m2} * {_SCALE} * {_SCALE} + {huge.m2} + {between})"
    usual = _shown(name, f"{plain.m2} / ({count} {divisor})", "")
    large = _shown(name, f"{scaled} / ({count} {divisor})", f" / {_SCALE}")
    return (
        f"CASE WHEN {count} + {strange} < {least} THEN NULL WHEN {strange} > 0 THEN double('NaN') "
        f"WHEN {huge.n} = 0 THEN {usual} ELSE {large} END"
    )


def _shown(name: str, variance: str, unscaled: str) -> str:
    """The answer from a variance; below zero only while a row that is taken back has not come yet."""
    shown = f"sqrt({variance}){unscaled}" if name.startswith("stddev") else f"({variance}){unscaled}{unscaled}"
    return f"if({variance} < 0D, NULL, {shown})"
