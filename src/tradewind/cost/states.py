"""How many bytes the partial of each aggregate weighs, packed, and how many columns of a batch it takes.

A state that travels is never lean: a sum brings the number of its values, so that rows can be taken back (see
docs/aggregates.md). Sketches grow with what they have seen until they are full; their full sizes were measured on
Spark's own sketches, compressed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tradewind.algebra.aggregates import AGGREGATES, AggregateCall, Parameters
from tradewind.algebra.types import BIGINT, DOUBLE, TIMESTAMP, DataType, is_fraction, is_integer
from tradewind.cost.packed import CONSTANT, coded, column_bytes, fresh_bytes

HLL_REGISTER = 0.4
"""Bytes of a register of a full HyperLogLog sketch: one before compression."""
HLL_ITEM = 4.6
"""Bytes of a value in a HyperLogLog sketch that is not full."""
THETA_ITEM = 7.3
THETA_FULL = 26_000.0
"""A theta sketch of 4,096 nominal entries; its hashes do not compress."""
KLL_KEPT = 2.0
"""A full KLL sketch holds about so many times k values."""
KLL_WHOLE = 1.0
"""Bytes of a whole number that a KLL sketch holds as a DOUBLE; other numbers take all digits."""
FREQUENT_KEPT = 0.5
"""The share of its places that a full sketch of frequent values uses: 0.75 just before it drops some."""
SKETCH_HEAD = 3.0


@dataclass(frozen=True, slots=True)
class Group:
    """What a state stands for: how many rows of its group, and how many different values among them."""

    rows: float = 1.0
    different: float = 1.0


ONE = Group()


def state_columns(call: AggregateCall, value: DataType, group: Group = ONE) -> tuple[float, ...]:
    """Bytes per row of each column that a state takes in a batch; for user-defined ones `value` is the state's type."""
    if call.user is not None:
        return (CONSTANT, *(column_bytes(inner) for inner in _flat(value)))
    return _STATES[call.function](value, call.parameters, group)


def state_bytes(call: AggregateCall, value: DataType, group: Group = ONE) -> float:
    """Bytes per row of a state."""
    return sum(state_columns(call, value, group))


def answer_bytes(call: AggregateCall, type_: DataType, group: Group = ONE) -> float:
    """Bytes per row of a finished answer."""
    if call.function in ("count", "count_if"):
        return _count(group)
    if call.function in _COUNTED:
        return coded(math.log2(1 + group.different))
    return column_bytes(type_)


def leaves(type_: DataType) -> int:
    """How many columns of a batch a column of the type takes, itself and those inside counted."""
    if type_.name == "STATE":
        function, value = type_.fields[0]
        plain = AggregateCall(function, (), _usual(function)) if function in AGGREGATES else None
        return len(state_columns(plain, value)) if plain is not None else 1 + leaves(value)
    return 1 + sum(leaves(inner) for _, inner in type_.fields)


def _usual(function: str) -> Parameters:
    return tuple(p.default if p.default is not None else p.low for p in AGGREGATES[function].parameters)


def _flat(type_: DataType) -> tuple[DataType, ...]:
    return tuple(inner for _, inner in type_.fields) if type_.name == "STRUCT" else (type_,)


def _count(group: Group) -> float:
    """A number of rows is a number like that of the others' rows: it takes the bits of its size, and one more."""
    return coded(math.log2(1 + max(0.0, group.rows)))


def _total(value: DataType) -> tuple[float, ...]:
    if is_fraction(value):
        return (column_bytes(DOUBLE), CONSTANT, CONSTANT, CONSTANT)  # the total, and how many were no numbers
    total = column_bytes(value if value.name == "DECIMAL" else BIGINT)
    return (CONSTANT, total) if value == BIGINT else (total,)  # the high half of a BIGINT's total is nearly always 0


def _sum(value: DataType, _: Parameters, group: Group) -> tuple[float, ...]:
    return (*_total(value), _count(group))


def _spread(_: DataType, __: Parameters, group: Group) -> tuple[float, ...]:
    came = (CONSTANT, _count(group), column_bytes(DOUBLE), column_bytes(DOUBLE) if group.rows > 1 else CONSTANT)
    return (*came, *(CONSTANT,) * 13)  # nothing was taken back or huge, and nothing was no number


def _extreme(value: DataType, _: Parameters, __: Group) -> tuple[float, ...]:
    return (column_bytes(value),)


def _end(value: DataType, _: Parameters, __: Group) -> tuple[float, ...]:
    return (CONSTANT, column_bytes(TIMESTAMP), column_bytes(value))


def _delta(value: DataType, parameters: Parameters, group: Group) -> tuple[float, ...]:
    return _end(value, parameters, group) * 2


def _hll(_: DataType, parameters: Parameters, group: Group) -> tuple[float, ...]:
    registers = 2.0 ** hll_size(float(parameters[0] or 1))
    return (SKETCH_HEAD + min(HLL_REGISTER * registers, HLL_ITEM * group.different),)


def hll_size(error: float) -> int:
    """The binary logarithm of the number of registers: one standard error is 1.024 over the root of their number."""
    return min(21, max(4, math.ceil(2 * math.log2(1.024 / error) - 1e-9)))


def _theta(_: DataType, __: Parameters, group: Group) -> tuple[float, ...]:
    return (SKETCH_HEAD + min(THETA_FULL, THETA_ITEM * group.different),)


def _kll(value: DataType, parameters: Parameters, group: Group) -> tuple[float, ...]:
    kept = min(group.rows, KLL_KEPT * float(parameters[1] or 200))
    each = KLL_WHOLE if is_integer(value) else column_bytes(DOUBLE)
    return (SKETCH_HEAD + kept * each, _count(group), _count(group))


def _frequent(value: DataType, parameters: Parameters, group: Group) -> tuple[float, ...]:
    kept = min(group.different, FREQUENT_KEPT * max(float(parameters[0] or 1), float(parameters[1] or 1)))
    each = fresh_bytes(value) + _count(Group(group.rows / max(1.0, group.different)))
    return (CONSTANT, SKETCH_HEAD + kept * each, CONSTANT, CONSTANT, CONSTANT)


def _multiset(value: DataType, _: Parameters, group: Group) -> tuple[float, ...]:
    """Every value with its weight, as often as it came."""
    return (coded(math.log2(1 + group.rows)), CONSTANT, group.rows * column_bytes(value), group.rows * CONSTANT)


_COUNTED = ("count_distinct", "approx_count_distinct", "theta_count_distinct")
_Builder = Callable[[DataType, Parameters, Group], tuple[float, ...]]
_STATES: dict[str, _Builder] = {
    **dict.fromkeys(("count", "count_if"), lambda _, __, group: (_count(group),)),
    **dict.fromkeys(("sum", "avg"), _sum),
    **dict.fromkeys(("var_samp", "var_pop", "stddev_samp", "stddev_pop"), _spread),
    **dict.fromkeys(("min", "max", "bool_and", "bool_or"), _extreme),
    **dict.fromkeys(("first", "last"), _end),
    "delta": _delta,
    "approx_count_distinct": _hll,
    "theta_count_distinct": _theta,
    "approx_percentile": _kll,
    "approx_top_k": _frequent,
    **dict.fromkeys(("count_distinct", "percentile", "top_k"), _multiset),
}
