"""Whether given rows fit the stream that they are given to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

from tradewind.algebra.operators.core import Source
from tradewind.algebra.schema import Schema
from tradewind.algebra.times import HIGHEST, LOWEST
from tradewind.algebra.types import INTEGER_BITS, DataType, fits
from tradewind.errors import DataError
from tradewind.interpreter.comparison import group_key
from tradewind.interpreter.rows import Values
from tradewind.interpreter.values import Value

_DAY = 86_400_000_000
_PLAIN: dict[str, type | tuple[type, ...]] = {
    "BOOLEAN": bool, "STRING": str, "BINARY": bytes, "DECIMAL": Decimal, "FLOAT": float, "DOUBLE": float,
}  # fmt: skip


def check_row(source: Source, values: object, weight: int, forms: Mapping[str, str] = MappingProxyType({})) -> None:
    """Refuse a row of the wrong width or with a value that is not of its column's type. `forms` says of types by name
    what else may be given for them.
    """
    if not isinstance(values, tuple) or len(values) != len(source.schema.columns):
        width = f"{len(values)} values" if isinstance(values, tuple) else f"{values!r:.60}, which is no tuple"
        raise DataError(f"a row of stream {source.stream!r} has {width}.", hint=f"its columns are {source.schema}.")
    if weight < 0 and not source.revisions:
        raise DataError(f"stream {source.stream!r} takes a row back.", hint="declare `revisions: true` on the stream.")
    for value, (name, type_) in zip(values, source.schema.columns, strict=True):
        if not is_of(value, type_):
            raise DataError(
                f"{value!r:.60} is not of type {type_}.",
                where=f"stream {source.stream}, column {name}",
                hint=_hint(type_, forms),
            )


def canonical(values: Values, schema: Schema) -> Values:
    """The row with one NaN and one zero, as every map gives them: what compares equal must be the same row."""
    return tuple(group_key(value, type_) for value, (_, type_) in zip(values, schema.columns, strict=True))


def is_of(value: Value, type_: DataType) -> bool:
    """Whether a value is one of a type's, or NULL."""
    if value is None or type_.name == "STATE":
        return True
    if type_.name in ("STRUCT", "ARRAY"):
        if not isinstance(value, tuple):
            return False
        inner = [type_.element] * len(value) if type_.name == "ARRAY" else [t for _, t in type_.fields]
        return len(inner) == len(value) and all(is_of(part, t) for part, t in zip(value, inner, strict=True))
    if type_.name in _PLAIN:
        return isinstance(value, _PLAIN[type_.name])
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    if type_ in INTEGER_BITS:
        return fits(value, type_)
    return LOWEST <= (value * _DAY if type_.name == "DATE" else value) <= HIGHEST


def _hint(type_: DataType, forms: Mapping[str, str]) -> str:
    kinds = {
        "TIMESTAMP": "whole microseconds since 1970", "DATE": "whole days since 1970", "DECIMAL": "a decimal.Decimal",
        "STRUCT": "a tuple of its fields' values", "ARRAY": "a tuple of its elements", **forms,
    }  # fmt: skip
    return f"give {kinds.get(type_.name, 'a Python value of that type')}, or None."


def is_time(mark: object) -> bool:
    """Whether something can be a mark."""
    return isinstance(mark, int | float) and not isinstance(mark, bool) and not math.isnan(mark)
