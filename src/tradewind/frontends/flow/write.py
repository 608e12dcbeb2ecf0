"""Writes a graph as boxes and arrows; reading them back gives the same graph."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Source
from tradewind.algebra.operators.derived import Split
from tradewind.frontends.catalog import Catalog
from tradewind.frontends.flow.fields import BOX_NAME
from tradewind.frontends.flow.kinds import BOXES, WRITTEN_AS
from tradewind.frontends.flow.ordered import route_name


def write_flow(graph: Graph, catalog: Catalog | None = None) -> dict[str, Any]:
    """The graph as the `flow` and `queries` of a deployment file: each box once, and which box each result is.

    Streams are named, not written out: the boxes can be read back in the given catalog, else in `catalog_of(graph)`.
    """
    writer = _Writer(graph, catalog if catalog is not None else catalog_of(graph))
    for node in graph:
        writer.write(node)
    return {"flow": writer.boxes, "queries": {name: {"from": writer.named(node)} for name, node in graph.results}}


def catalog_of(graph: Graph) -> Catalog:
    """What a graph names: its streams from all origins that it reads, its tables and its user-defined aggregates."""
    streams: dict[str, Source] = {}
    for node in graph:
        if isinstance(node, Source):
            known = streams.get(node.stream, node)
            everywhere = not (known.origins and node.origins)
            origins = () if everywhere else tuple(dict.fromkeys(known.origins + node.origins))
            streams[node.stream] = replace(node, origins=origins)
    tables = {node.table.name: node.table for node in graph if hasattr(node, "table")}
    calls = [call for node in graph for _, call in getattr(node, "functions", ())]
    return Catalog(streams, tables, {call.user.name: call.user for call in calls if call.user is not None})


class _Writer:
    """The boxes written so far, and the name under which each operator can be read."""

    def __init__(self, graph: Graph, catalog: Catalog) -> None:
        self.boxes: dict[str, dict[str, Any]] = {}
        self.names: dict[Operator, str] = {}
        self.streams = catalog.streams
        self.splits: dict[Operator, str] = {}
        self.taken = {stream.lower() for stream in self.streams}
        self.wanted = {node: name for name, node in reversed(graph.results) if self._usable(name)}

    def named(self, node: Operator) -> str:
        return self.names[node]

    def write(self, node: Operator) -> None:
        if isinstance(node, Source) and self.streams.get(node.stream) == node:
            self.names[node] = node.stream
            return
        if isinstance(node, Split):
            self._write_split(node)
            return
        name = self._name(node)
        kind = WRITTEN_AS[type(node)]
        self.boxes[name] = {"box": kind, **BOXES[kind].written(node, self.named)}
        self.names[node] = name

    def _write_split(self, node: Split) -> None:
        """All routes of one split are one box."""
        first = Split(node.input, node.predicates, 0)
        if first not in self.splits:
            name = self._fresh("split")
            self.splits[first] = name
            self.boxes[name] = {"box": "split", **BOXES["split"].written(node, self.named)}
        self.names[node] = f"{self.splits[first]}.{route_name(node, node.route)}"

    def _name(self, node: Operator) -> str:
        wanted = self.wanted.get(node)
        if wanted is not None and wanted.lower() not in self.taken:
            self.taken.add(wanted.lower())
            return wanted
        return self._fresh(WRITTEN_AS[type(node)])

    def _fresh(self, kind: str) -> str:
        reserved = {name.lower() for name in self.wanted.values()} | self.taken
        name = next(name for number in _counting() if (name := f"{kind}_{number}") not in reserved)
        self.taken.add(name)
        return name

    @staticmethod
    def _usable(name: str) -> bool:
        return re.fullmatch(BOX_NAME, name) is not None


def _counting() -> Iterable[int]:
    number = 0
    while True:
        number += 1
        yield number
