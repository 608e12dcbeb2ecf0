"""Rows as people and JSON read them."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from rich.console import Console
from rich.table import Table

from tradewind.algebra.schema import Schema
from tradewind.algebra.times import HIGHEST, LOWEST, format_date, format_timestamp
from tradewind.algebra.types import DataType, is_numeric


def plain(value: Any, type_: DataType) -> Any:
    """A value as JSON holds it: times as ISO 8601 in UTC, structs as objects, what JSON cannot say as text."""
    if value is None:
        return None
    match type_.name:
        case "TIMESTAMP":
            return format_timestamp(value) if LOWEST <= value <= HIGHEST else str(value)
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


def show(rows: Iterable[Sequence[Any]], schema: Schema, title: str, console: Console) -> None:
    """A table of rows on the console."""
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for name, type_ in schema.columns:
        table.add_column(name, justify="right" if is_numeric(type_) else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value, type_) for value, (_, type_) in zip(row, schema.columns, strict=True)))
    console.print(table)


def _cell(value: Any, type_: DataType) -> str:
    shown = plain(value, type_)
    if shown is None:
        return "·"
    if isinstance(shown, float):
        return f"{shown:,.3f}".rstrip("0").rstrip(".")
    if isinstance(shown, int) and not isinstance(shown, bool):
        return f"{shown:,}"
    return str(shown)
