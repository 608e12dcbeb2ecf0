"""Where the operators of a query run: from its answer down, each piece of the plan with its site, rate and reason.

The tree is drawn from the pieces that fragments are cut from, so it shows what runs: also the filters and projections
that a step of the plan does besides its join or aggregate.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tradewind.algebra.drawing.labels import label
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Finish
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Map, Union
from tradewind.cli.aligning import amount
from tradewind.cli.plan import approximation
from tradewind.fragments.deployed import above
from tradewind.fragments.pieces import Pieces, Place
from tradewind.placement.report import Line, Report

_BESIDES = (Filter, Map, Union, Finish)
"""Operators that a step does besides another one, which says better what the step is for."""


class Placed:
    """The pieces of a chosen plan, to be read."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.pieces = Pieces(report.plan, report.network, report.contents)

    @cached_property
    def lines(self) -> dict[Place, Line]:
        """What the plan says of each piece."""
        by_id = {line.id: line for line in self.report.lines}
        found: dict[Place, Line] = {}
        for (key, site), place in self.pieces.made.items():
            name = self.report.ids.get((key, site))
            if place[1] == site and name is not None:
                found.setdefault(place, by_id[name])
        return found

    def operators(self, place: Place) -> tuple[Operator, ...]:
        """What one piece does, inputs first."""
        read = self.pieces.reads.get(place, ())
        return tuple(above(Graph.of(piece=place[0]), (node for node, _ in read)))

    def by_id(self) -> dict[str, list[str]]:
        """What each operator of the plan does, in words and in the order in which it is done, by the plan's names."""
        return {line.id: [label(node) for node in self.operators(place)] for place, line in self.lines.items()}

    def tree(self, query: str) -> list[str]:
        """The operators of one query from its answer down, each with its site, its rate and why it is there."""
        places = ((place, site) for place, some in self.pieces.answers.items() for name, site in some if name == query)
        root, delivered_at = next(places)
        found = [f"{query}, delivered at {self.report.network.name(delivered_at)}"]
        if query in self.report.chosen.approximated:
            found.append(approximation(self.report, query))
        seen: set[Place] = set()
        stack: list[tuple[Place, str, bool]] = [(root, "", True)]
        while stack:
            place, indent, last = stack.pop()
            head, more = ("└─ ", "   ") if last else ("├─ ", "│  ")
            read = self.pieces.reads.get(place, ())
            first, *others = self._lines(place, query)
            found.append(f"{indent}{head}{first}")
            if place in seen:
                found[-1] += " ↑"
                continue
            seen.add(place)
            bar = "│  " if read else "   "
            found += [f"{indent}{more}{bar}{text}" for text in others]
            below = list(enumerate(read, 1))
            stack.extend((one, indent + more, number == len(read)) for number, one in reversed(below))
        return found

    def _lines(self, place: Place, query: str) -> Iterator[str]:
        """What a piece is for; then what it does before and after that, how much comes out, and why it is there."""
        line = self.lines[place]
        operators = self.operators(place)
        telling = [number for number, node in enumerate(operators) if not isinstance(node, _BESIDES)]
        main = telling[-1] if telling else len(operators) - 1
        yield f"{line.site}: {label(operators[main]) if operators else 'pass on'}  ({line.id})"
        yield from (f"first: {label(node)}" for node in operators[:main])
        yield from (f"then: {label(node)}" for node in operators[main + 1 :])
        yield f"{amount(line.rows_per_second)} rows/s, {amount(line.bytes_per_second)} B/s; {line.why}"
        others = [name for name in line.queries if name != query]
        if others:
            yield f"shared with {', '.join(others)}"
        if line.residency and line.residency != "free to go anywhere":
            yield line.residency
