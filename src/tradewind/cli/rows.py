"""Rows as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from tradewind.algebra.schema import Schema
from tradewind.algebra.types import is_numeric


def show(rows: Iterable[Mapping[str, Any]], schema: Schema, title: str, console: Console) -> None:
    """A table on the console, of rows as JSON holds them."""
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for name, type_ in schema.columns:
        table.add_column(name, justify="right" if is_numeric(type_) else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row[name]) for name, _ in schema.columns))
    console.print(table)


def _cell(shown: Any) -> str:
    if shown is None:
        return "·"
    if isinstance(shown, float):
        return f"{shown:,.3f}".rstrip("0").rstrip(".")
    if isinstance(shown, int) and not isinstance(shown, bool):
        return f"{shown:,}"
    return str(shown)
