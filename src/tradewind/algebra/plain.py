"""Values and rows as JSON holds them."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from tradewind.algebra.schema import Schema
from tradewind.algebra.times import format_date, format_timestamp
from tradewind.algebra.types import DataType


def plain(value: Any, type_: DataType) -> Any:
    """A value as JSON holds it: times as ISO 8601 in UTC, structs as objects, what JSON cannot say as text."""
    if value is None:
        return None
    match type_.name:
        case "TIMESTAMP":
            return format_timestamp(value)
        case "DATE":
            return format_date(value)
        case "STRUCT":
            return {name: plain(part, inner) for part, (name, inner) in zip(value, type_.fields, strict=True)}
        case "ARRAY":
            return [plain(part, type_.element) for part in value]
        case "BINARY":
            return base64.b64encode(value).decode()
    if isinstance(value, Decimal) or (isinstance(value, float) and not math.isfinite(value)):
        return str(value)
    return value


def as_object(row: Sequence[Any], schema: Schema) -> dict[str, Any]:
    """A row as JSON holds it."""
    return {name: plain(value, type_) for value, (name, type_) in zip(row, schema.columns, strict=True)}
