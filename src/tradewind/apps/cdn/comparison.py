"""The three answers once more by plain Spark SQL, in batch over all files, and how far delivered ones are from them.

Exact answers must be equal row by row. For sketches the largest error is set beside the promised one: relative for
distinct counts, of the rank for quantiles.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tradewind.algebra.aggregates import AggregateCall
from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.operators.base import walk
from tradewind.algebra.schema import Schema, parse_schema
from tradewind.apps.cdn.deployment import CLIENTS, STREAM, TOP, TRAFFIC
from tradewind.errors import InternalError
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.answers import rows_of
from tradewind.spark.plain import plain_answer

Row = tuple[Any, ...]
Answer = Counter[Row]
"""Rows by how often each is there; times are microseconds since 1970."""

OUTLIER = 4.0
"""Promised errors are standard ones: of hundreds of answers none should be more than so many times as far off."""
_P95 = 0.95
_LATENCIES = "latencies"

PLAIN = {
    TOP: """
        SELECT minute, domain, hits FROM (
            SELECT *, row_number() OVER (PARTITION BY minute ORDER BY hits DESC, domain) AS place FROM (
                SELECT date_trunc('minute', ts) AS minute, domain, count(*) AS hits FROM requests GROUP BY 1, 2))
        WHERE place <= 10""",
    TRAFFIC: """
        SELECT date_trunc('minute', ts) AS minute, region, status, sum(bytes) AS bytes,
               percentile(latency_ms, 0.95) AS p95
        FROM requests GROUP BY 1, 2, 3""",
    CLIENTS: """
        SELECT window(ts, '3 minutes').start AS since, domain, count(DISTINCT client) AS clients
        FROM requests GROUP BY 1, 2""",
    _LATENCIES: """
        SELECT date_trunc('minute', ts) AS minute, region, status, latency_ms, count(*) AS n
        FROM requests GROUP BY 1, 2, 3, 4""",
}
"""The questions as someone would ask them of a table in Spark SQL, without sketches; and how often each latency was."""
_LATENCY_SCHEMA = parse_schema("minute TIMESTAMP, region STRING, status INT, latency_ms INT, n BIGINT")


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a column of a delivered answer compares with plain Spark's: for sketches with errors, as shares of one."""

    query: str
    column: str
    compared: int
    """How many values were compared."""
    holds: bool
    promised: float = 0.0
    largest: float = 0.0
    typical: float = 0.0
    """The root of the mean square of all errors."""
    within: float = 1.0
    """The share of values whose error is not above the promised one."""
    problem: str = ""
    """What is wrong, if the rows themselves differ."""

    def words(self) -> str:
        """The verdict in a sentence."""
        if self.problem:
            return f"{self.query}: {self.problem}"
        if self.promised == 0:
            return f"{self.query}, {self.column}: all {self.compared:,} equal to plain Spark on all data"
        return (
            f"{self.query}, {self.column}: {self.compared:,} usually within {self.typical:.2%} of plain Spark on all "
            f"data, promised {self.promised:.2%}; at most {self.largest:.2%}, bound {OUTLIER * self.promised:.2%}"
        )


@dataclass(frozen=True, slots=True)
class Plain:
    """What plain Spark SQL says to the questions, and the exact distribution of latencies."""

    answers: Mapping[str, Answer]
    latencies: Answer


def plain_answers(session: Any, found: Deployment) -> Plain:
    """Ask a Spark session the questions in batch, over all files of a deployment."""
    base = Path(found.name).parent
    folders = [str(base / str(origin.path)) for origin in found.streams[STREAM].origins.values()]
    schemas = {name: found.queries[name].operator.schema for name in (TOP, TRAFFIC, CLIENTS)}
    schemas[_LATENCIES] = _LATENCY_SCHEMA

    def asked(name: str, schema: Schema) -> Answer:
        return rows_of(plain_answer(session, PLAIN[name], {STREAM: folders}), schema)

    answers = {name: asked(name, schema) for name, schema in schemas.items()}
    return Plain(answers, answers.pop(_LATENCIES))


def compare(found: Deployment, delivered: Mapping[str, Answer], plain: Plain) -> tuple[Verdict, ...]:
    """Verdicts on the delivered answers, rows without `_final`: for each column that was computed."""
    return (
        _equal(TOP, "hits", delivered[TOP], plain.answers[TOP]),
        *_traffic(found, delivered[TRAFFIC], plain),
        *_clients(found, delivered[CLIENTS], plain),
    )


def _traffic(found: Deployment, delivered: Answer, plain: Plain) -> Iterable[Verdict]:
    exact = plain.answers[TRAFFIC]
    yield _equal(TRAFFIC, "bytes", _without_last(delivered), _without_last(exact))
    problem = _keys_differ(delivered, exact, 3)
    errors = [] if problem else _rank_errors(delivered, plain.latencies)
    yield _near(TRAFFIC, "p95", _promised(found, TRAFFIC, "p95"), errors, problem)


def _clients(found: Deployment, delivered: Answer, plain: Plain) -> Iterable[Verdict]:
    exact = plain.answers[CLIENTS]
    problem = _keys_differ(delivered, exact, 2)
    right = {row[:-1]: row[-1] for row in exact}
    errors = [] if problem else [abs(row[-1] - right[row[:-1]]) / right[row[:-1]] for row in delivered]
    yield _near(CLIENTS, "clients", _promised(found, CLIENTS, "clients"), errors, problem)


def _equal(query: str, column: str, delivered: Answer, exact: Answer) -> Verdict:
    missing, extra = exact - delivered, delivered - exact
    problem = f"{missing.total():,} rows are missing and {extra.total():,} are too many" if missing or extra else ""
    return Verdict(query, column, exact.total(), not problem, problem=problem)


def _near(query: str, column: str, promised: float, errors: Sequence[float], problem: str) -> Verdict:
    if problem or not errors:
        return Verdict(query, column, 0, False, promised, problem=problem or "there is no answer")
    largest = max(errors)
    typical = math.sqrt(math.fsum(error**2 for error in errors) / len(errors))
    within = sum(error <= promised for error in errors) / len(errors)
    holds = typical <= promised and largest <= OUTLIER * promised
    return Verdict(query, column, len(errors), holds, promised, largest, typical, within)


def _keys_differ(delivered: Answer, exact: Answer, keys: int) -> str:
    """What is wrong with the groups of an answer; nothing when each is there once."""
    ours, theirs = (Counter(row[:keys] for row in answer.elements()) for answer in (delivered, exact))
    missing, extra = theirs - ours, ours - theirs
    return f"{missing.total():,} groups are missing and {extra.total():,} are too many" if missing or extra else ""


def _without_last(answer: Answer) -> Answer:
    found: Answer = Counter()
    for row, count in answer.items():
        found[row[:-1]] += count
    return found


def _rank_errors(delivered: Answer, latencies: Answer) -> list[float]:
    """How far the rank of each delivered quantile is from the one that was asked for.

    Equal latencies share an interval of ranks; whoever lies inside of it is right.
    """
    by_group: dict[Row, list[tuple[int, int]]] = {}
    for *group, latency, count in latencies:
        by_group.setdefault(tuple(group), []).append((latency, count))
    found = []
    for *group, _, value in delivered:
        values, counts = np.array(sorted(by_group[tuple(group)]), dtype=float).T
        below, upto = (float(counts[chosen].sum() / counts.sum()) for chosen in (values < value, values <= value))
        found.append(max(0.0, below - _P95, _P95 - upto))
    return found


def _promised(found: Deployment, query: str, column: str) -> float:
    """The error that the aggregate behind a column promises."""
    for node in walk(found.queries[query].operator):
        if isinstance(node, Aggregate):
            call: AggregateCall | None = dict(node.functions).get(column)
            if call is not None:
                return call.definition.error(call.parameters)
    raise InternalError(f"{query} has no aggregate {column!r}.")
