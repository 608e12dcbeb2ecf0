"""Equality and order of values as Spark has them.

NULL comes before everything, NaN equals NaN and is greater than any number, -0.0 equals 0.0, texts go by their
UTF-8 bytes, arrays and structs part by part. Inside arrays and structs NULL equals NULL.
"""

from __future__ import annotations

import math

from tradewind.algebra.types import DataType, is_fraction
from tradewind.interpreter.values import Value


def equal(left: Value, right: Value, type_: DataType) -> bool:
    """Whether two values of a type, neither NULL, are the same."""
    return compare(left, right, type_) == 0


def compare(left: Value, right: Value, type_: DataType) -> int:
    """-1, 0 or 1: whether the left value comes before, with or after the right one. Neither is NULL.

    >>> from tradewind.algebra.types import DOUBLE
    >>> compare(math.nan, math.inf, DOUBLE), compare(-0.0, 0.0, DOUBLE)
    (1, 0)
    """
    first, second = order_key(left, type_), order_key(right, type_)
    return (first > second) - (first < second)


def order_key(value: Value, type_: DataType) -> tuple[Value, ...]:
    """What Python sorts as Spark sorts the value, NULLs first."""
    if value is None:
        return (0,)
    if is_fraction(type_):
        return (2,) if math.isnan(value) else (1, value)
    if type_.name == "ARRAY":
        return (1, tuple(order_key(part, type_.element) for part in value))
    if type_.name == "STRUCT":
        parts = zip(value, type_.fields, strict=True)
        return (1, tuple(order_key(part, inner) for part, (_, inner) in parts))
    # Python compares texts by code point, which is the order of their UTF-8 bytes.
    return (1, value)


def group_key(value: Value, type_: DataType) -> Value:
    """The value by which its group is known: equal values, and only they, give the same. NULL stays None.

    >>> from tradewind.algebra.types import DOUBLE
    >>> group_key(-0.0, DOUBLE), group_key(float("nan"), DOUBLE) is group_key(-math.nan, DOUBLE)
    (0.0, True)
    """
    if value is None:
        return None
    if is_fraction(type_):
        # Python finds NaN in a dict only when it is the same object.
        return math.nan if math.isnan(value) else value + 0.0
    if type_.name == "ARRAY":
        return tuple(group_key(part, type_.element) for part in value)
    if type_.name == "STRUCT":
        parts = zip(value, type_.fields, strict=True)
        return tuple(group_key(part, inner) for part, (_, inner) in parts)
    return value
