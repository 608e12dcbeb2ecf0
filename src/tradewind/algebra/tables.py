"""Stored tables that read and update boxes work on."""

from __future__ import annotations

from dataclasses import dataclass

from tradewind.algebra.schema import Schema
from tradewind.errors import GraphError


@dataclass(frozen=True, slots=True)
class Table:
    """A named table with its columns and primary key."""

    name: str
    schema: Schema
    key: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for column in self.key:
            self.schema.find(column, f"table {self.name}")
        for column, type_ in self.schema.columns:
            if type_.name in ("ARRAY", "STRUCT", "STATE", "INTERVAL"):
                raise GraphError(
                    f"column {column!r} of table {self.name!r} is {type_}.", hint="tables hold plain values."
                )
