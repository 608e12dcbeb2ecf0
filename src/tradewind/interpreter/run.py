"""Runs a graph on plain rows: the answer now, its deltas in order, and what of it is final.

Rows come from origins in batches. An origin's mark follows its rows by the stream's `late_by`, may be moved on by
hand, and goes to FOREVER at the end. A row behind the mark that stood when its batch came is late: it still counts, and
corrects what was said before, unless it is more than `horizon` late: then it is dropped and counted. An origin that is
said to be idle follows the others (`algebra.idleness`) until its next row comes; then it is waited for again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from tradewind.algebra.graph import Graph
from tradewind.algebra.idleness import OriginStatus, combined, followed
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Source
from tradewind.algebra.operators.stored import Read, Update
from tradewind.errors import DataError, GraphError, unknown
from tradewind.interpreter.checking import canonical, check_row, is_time
from tradewind.interpreter.operators import Known, deltas_of
from tradewind.interpreter.rows import FOREVER, NEVER, Bag, Delta, Row, Time, Values, clock, is_final, tidy


class Weighted(NamedTuple):
    """A row given with a weight of its own: below zero takes back."""

    values: Values
    weight: int


GivenRow = Values | Weighted
Batch = Mapping[str, Mapping[str, Sequence[GivenRow]]]
"""Rows by stream and origin, in the order in which they arrive."""


@dataclass
class _Origin:
    """Where one origin of a stream stands."""

    mark: Time = NEVER
    late: int = 0
    dropped: int = 0
    idle: bool = False


@dataclass
class _Node:
    """What is known of one operator so far."""

    log: list[Delta] = field(default_factory=list)
    bag: Bag = field(default_factory=Bag)
    mark: Time = NEVER


class Run:
    """One run of a graph. Feed it batches; ask for the answer at any moment."""

    def __init__(
        self, graph: Graph, origins: Mapping[str, Iterable[str]] | None = None, horizon: int | None = None
    ) -> None:
        self.graph = graph
        self.horizon = horizon
        self._order = _in_order(graph)
        self._nodes: dict[Operator, _Node] = {node: _Node() for node in self._order}
        declared = {n.stream: n.origins for n in self._order if isinstance(n, Source) and n.origins}
        self._origins: dict[str, dict[str, _Origin]] = {stream: {} for stream in graph.sources()}
        for node in self._order:
            if isinstance(node, Source):
                known = [*node.origins, *(origins or {}).get(node.stream, ())]
                self._origins[node.stream].update({name: _Origin() for name in known})
        self._declared = declared

    def feed(
        self,
        batch: Batch,
        marks: Mapping[str, Mapping[str, Time]] | None = None,
        idle: Mapping[str, Iterable[str]] | None = None,
    ) -> dict[str, list[Delta]]:
        """Take one batch (and marks set by hand, and origins by stream that are idle from now until they have rows
        again), and give the deltas of every result in order.
        """
        self._check(batch, marks or {})
        silent = [(stream, origin) for stream, origins in (idle or {}).items() for origin in origins]
        self._check_idle(batch, silent)
        arrived = {
            stream: [
                (origin, delta) for origin, rows in by_origin.items() for delta in self._arrive(stream, origin, rows)
            ]
            for stream, by_origin in batch.items()
        }
        for stream, by_origin in (marks or {}).items():
            for origin, mark in by_origin.items():
                state = self._origin(stream, origin)
                state.mark = max(state.mark, mark)
        for stream, origin in silent:
            self._origin(stream, origin).idle = True
        self._follow()
        news: dict[Operator, list[Delta]] = {}
        for node in self._order:
            news[node] = self._advance(node, news, arrived)
        return {name: news[node] for name, node in self.graph.results}

    def end(self) -> dict[str, list[Delta]]:
        """No more rows will come from anywhere: everything becomes final."""
        return self.feed(
            {}, {stream: dict.fromkeys(origins, FOREVER) for stream, origins in self._all_origins().items()}
        )

    def answer(self, name: str) -> Counter[Values]:
        """The rows of a result now, by how many there are of each."""
        return _plain(self._nodes[self.graph[name]].bag)

    def final(self, name: str) -> Counter[Values]:
        """The rows of a result that can be relied on: never taken back, or only if late rows come."""
        return _plain(Bag({row: w for row, w in self._bag(name).items() if self._is_final(name, row)}))

    def tentative(self, name: str) -> Counter[Values]:
        """The rows of a result that rows still on their way may change."""
        return _plain(Bag({row: w for row, w in self._bag(name).items() if not self._is_final(name, row)}))

    def _bag(self, name: str) -> Bag:
        return self._nodes[self.graph[name]].bag

    def _is_final(self, name: str, row: Row) -> bool:
        return self.graph[name].append_only or is_final(row.due, self.mark(name))

    def mark(self, name: str) -> Time:
        """How far a result is settled."""
        return self._nodes[self.graph[name]].mark

    def log(self, node: Operator) -> list[Delta]:
        """Everything an operator has given out, in order."""
        return list(self._nodes[node].log)

    def late(self) -> dict[str, dict[str, tuple[int, int]]]:
        """Per stream and origin: how many rows came late, and how many of them were dropped."""
        return {s: {o: (at.late, at.dropped) for o, at in origins.items()} for s, origins in self._origins.items()}

    def _check(self, batch: Batch, marks: Mapping[str, Mapping[str, Time]]) -> None:
        """Refuse a batch before any of it has been taken, so that a wrong one changes nothing."""
        _require_rows(batch)
        for stream, origin in ((s, o) for given in (batch, marks) for s, origins in given.items() for o in origins):
            self._require_origin(stream, origin)
        for stream, by_origin in batch.items():
            source = self.graph.sources()[stream]
            for given in (row for rows in by_origin.values() for row in rows):
                check_row(source, *(given if isinstance(given, Weighted) else (given, 1)))
        for mark in (mark for by_origin in marks.values() for mark in by_origin.values()):
            if not is_time(mark):
                raise DataError(f"{mark!r:.60} is no mark.", hint="give microseconds since 1970, or FOREVER.")

    def _check_idle(self, batch: Batch, silent: Sequence[tuple[str, str]]) -> None:
        for stream, origin in silent:
            self._require_origin(stream, origin)
            if batch.get(stream, {}).get(origin):
                raise DataError(f"origin {origin!r} of stream {stream!r} has rows here: it is not idle.")

    def _follow(self) -> None:
        """Let idle origins follow the others."""
        known = {
            (stream, name): OriginStatus(state.mark, state.idle)
            for stream, origins in self._origins.items()
            for name, state in origins.items()
        }
        for (stream, name), mark in followed(known, combined(self.graph)).items():
            self._origins[stream][name].mark = mark

    def _require_origin(self, stream: str, origin: str) -> None:
        if stream not in self._origins:
            raise unknown("stream", stream, self._origins)
        if origin not in self._origins[stream] and self._declared.get(stream):
            raise unknown(f"origin of stream {stream!r}", origin, self._origins[stream])

    def _all_origins(self) -> dict[str, list[str]]:
        return {stream: list(origins) or [""] for stream, origins in self._origins.items()}

    def _origin(self, stream: str, origin: str) -> _Origin:
        known = self._origins[stream]
        if origin not in known:
            # What was promised without it stands: its rows below the stream's mark are late.
            known[origin] = _Origin(min((other.mark for other in known.values()), default=NEVER))
        return known[origin]

    def _arrive(self, stream: str, origin: str, rows: Sequence[GivenRow]) -> list[Delta]:
        """The rows of one origin in time, all seen against the mark that stood when their batch came."""
        state = self._origin(stream, origin)
        stood = state.mark
        source = self.graph.sources()[stream]
        due_of = clock(source.schema)
        time = source.schema.index(source.schema.time) if source.schema.time else None
        found = []
        state.idle = state.idle and not rows
        for given in rows:
            values, weight = given if isinstance(given, Weighted) else (given, 1)
            values = canonical(values, source.schema)
            moment = values[time] if time is not None else None
            if moment is not None and moment < stood:
                state.late += 1
                if self.horizon is not None and moment < stood - self.horizon:
                    state.dropped += 1
                    continue
            found.append(Delta(Row(values, due_of(values)), weight))
            if moment is not None:
                state.mark = max(state.mark, moment - source.late_by)
        return found

    def _advance(
        self, node: Operator, news: dict[Operator, list[Delta]], arrived: dict[str, list[tuple[str, Delta]]]
    ) -> list[Delta]:
        state = self._nodes[node]
        if isinstance(node, Source):
            wanted = node.origins or tuple(self._origins[node.stream])
            state.mark = min((self._origins[node.stream][o].mark for o in wanted), default=NEVER)
            found = [delta for origin, delta in arrived.get(node.stream, ()) if origin in wanted]
        else:
            state.mark = min(self._nodes[n].mark for n in (*node.inputs, *_writers(node, self._order)))
            updates = [(u, self._nodes[u.input].bag) for u in self._order if isinstance(u, Update)]
            inputs = [Known(self._nodes[n].log, self._nodes[n].bag, news[n]) for n in node.inputs]
            found = deltas_of(node, inputs, state.bag, state.mark, updates)
        state.log.extend(found)
        for row, weight in found:
            state.bag[row] += weight
        state.bag = tidy(state.bag)
        return found


def answer(graph: Graph, data: Batch, *, strict: bool = True) -> dict[str, Counter[Values]]:
    """The final answer of every result on the given rows.

    Rows of streams that the graph does not read, and of origins that a stream does not have, are errors if `strict`.
    """
    _require_rows(data)
    declared = {node.stream for node in graph if isinstance(node, Source) and node.origins}
    known = {s: list(origins) for s, origins in data.items() if not strict or s not in declared}
    run = Run(graph, known)
    run.feed(data if strict else {stream: rows for stream, rows in data.items() if stream in graph.sources()})
    run.end()
    return {name: run.answer(name) for name in graph.names}


def _require_rows(batch: object) -> None:
    fits = isinstance(batch, Mapping) and all(
        isinstance(origins, Mapping) and all(isinstance(rows, list | tuple) for rows in origins.values())
        for origins in batch.values()
    )
    if not fits:
        raise DataError("rows are given by stream and origin.", hint='{"requests": {"ams": [row, row]}}')


def _plain(rows: Bag) -> Counter[Values]:
    total: Counter[Values] = Counter()
    for row, weight in rows.items():
        total[row.values] += weight
    return Counter({values: weight for values, weight in total.items() if weight})


def _writers(node: Operator, nodes: Iterable[Operator]) -> tuple[Operator, ...]:
    """The boxes whose updates a read box can see."""
    if not isinstance(node, Read):
        return ()
    return tuple(n for n in nodes if isinstance(n, Update) and n.table.name == node.table.name)


def _in_order(graph: Graph) -> tuple[Operator, ...]:
    """All operators, inputs first, and the updates of a table before its reads."""
    nodes = list(graph)
    before = {node: (*node.inputs, *_writers(node, nodes)) for node in nodes}
    try:
        return tuple(TopologicalSorter(before).static_order())
    except CycleError:
        raise GraphError(
            "tables are read on the way to updates that these reads depend on: a cycle.",
            hint="let one UPDATE statement compute with the table's columns.",
        ) from None
