"""What comparisons, the choice among values, and the functions on arrays and structs do."""

from __future__ import annotations

from collections.abc import Callable

from tradewind.algebra.types import DataType
from tradewind.interpreter.comparison import compare, equal, order_key
from tradewind.interpreter.values import Value

Types = tuple[DataType, ...]


def _compared(holds: Callable[[int], bool]) -> Callable[..., bool]:
    return lambda types, _, left, right: holds(compare(left, right, types[0]))


def _same(types: Types, _: DataType, left: Value, right: Value) -> bool:
    """Equality for which NULL is a value like others."""
    return order_key(left, types[0]) == order_key(right, types[0])


def _nullif(types: Types, _: DataType, value: Value, unwanted: Value) -> Value:
    if value is None or unwanted is None:
        return value
    return None if equal(value, unwanted, types[0]) else value


def _greatest(_: Types, result: DataType, *values: Value) -> Value:
    """The first of the greatest; NULL only when all are."""
    present = [value for value in values if value is not None]
    return max(present, key=lambda value: order_key(value, result), default=None)


def _least(_: Types, result: DataType, *values: Value) -> Value:
    present = [value for value in values if value is not None]
    return min(present, key=lambda value: order_key(value, result), default=None)


def _element_at(values: tuple[Value, ...], position: int) -> Value:
    place = position - 1 if position > 0 else len(values) + position
    return values[place] if position != 0 and 0 <= place < len(values) else None


def _array_contains(types: Types, _: DataType, values: tuple[Value, ...], wanted: Value) -> bool | None:
    """NULL when it is not there but a NULL is, for that might be it."""
    if any(value is not None and equal(value, wanted, types[1]) for value in values):
        return True
    return None if None in values else False


TYPED: dict[str, Callable[..., Value]] = {
    "=": _compared(lambda order: order == 0),
    "<>": _compared(lambda order: order != 0),
    "<": _compared(lambda order: order < 0),
    "<=": _compared(lambda order: order <= 0),
    ">": _compared(lambda order: order > 0),
    ">=": _compared(lambda order: order >= 0),
    "<=>": _same,
    "nullif": _nullif,
    "greatest": _greatest,
    "least": _least,
    "array_contains": _array_contains,
}

PLAIN: dict[str, Callable[..., Value]] = {
    "not": lambda value: not value,
    "isnull": lambda value: value is None,
    "isnotnull": lambda value: value is not None,
    "array": lambda *values: values,
    "named_struct": lambda *values: values,
    "size": len,
    "element_at": _element_at,
}
