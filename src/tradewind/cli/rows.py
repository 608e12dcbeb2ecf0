"""Rows as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from tradewind.algebra.plain import plain
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DataType, is_numeric


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
