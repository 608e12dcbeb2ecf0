"""What a query may name: the declared streams, tables and user-defined aggregates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tradewind.algebra.aggregates import UserAggregate
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.tables import Table
from tradewind.frontends.arguments import text


@dataclass(frozen=True, slots=True)
class Catalog:
    """Names and what they stand for; they are looked up regardless of upper and lower case.

    A stream is a declared one's `Source` or the last node of any named derived stream. Aggregates are keyed by their
    own name.
    """

    streams: Mapping[str, Operator] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    aggregates: Mapping[str, UserAggregate] = field(default_factory=dict)

    def stream(self, name: str) -> Operator | None:
        """The stream of that name, if there is one."""
        wanted = text(name, "a stream's name").lower()
        return next((node for known, node in self.streams.items() if known.lower() == wanted), None)

    def table(self, name: str) -> Table | None:
        """The table of that name, if there is one."""
        wanted = text(name, "a table's name").lower()
        return next((table for known, table in self.tables.items() if known.lower() == wanted), None)
