"""The last operator of a graph as Python shows it: comparable, printable, drawable in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from tradewind.algebra.drawing.svg import draw_svg
from tradewind.algebra.drawing.text import draw_text
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.schema import Schema
from tradewind.frontends.arguments import place, text


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rows:
    """What an operator gives out."""

    operator: Operator

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        return self.operator.schema

    @place("graph")
    def graph(self, name: str = "result") -> Graph:
        """The graph whose one result these rows are."""
        return Graph(((text(name, "a name"), self.operator),))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rows) and self.operator == other.operator

    def __hash__(self) -> int:
        return hash(self.operator)

    def __repr__(self) -> str:
        time = f", event time {self.schema.time}" if self.schema.time else ""
        return f"{type(self).__name__}({self.schema}{time})\n{draw_text(self.operator)}"

    def _repr_svg_(self) -> str:
        return draw_svg(self.operator)

    def _repr_html_(self) -> str:
        return (
            f'<div style="overflow-x:auto"><code>{escape(str(self.schema))}</code><br>{draw_svg(self.operator)}</div>'
        )
