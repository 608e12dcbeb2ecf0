"""The queries of a file as operators, whether they are asked in SQL, by the name of a box, or in boxes of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tradewind.algebra.graph import KINDS, Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Source
from tradewind.algebra.schema import own_names
from tradewind.errors import ExpressionError, InputError, unknown
from tradewind.frontends.catalog import Catalog
from tradewind.frontends.deployment.model import QueryKeys
from tradewind.frontends.flow.declared import MAX_FINDINGS
from tradewind.frontends.flow.findings import Finding, Path, finding, keys_at, likely, meant_by
from tradewind.frontends.flow.read import FlowReader, Scope
from tradewind.frontends.sql.query import names_used, parse_query, refused_words

_WAYS = ("sql", "flow", "from")


@dataclass(slots=True)
class Questions:
    """Reads the queries of one file; `failed` names what is declared but of no use: nothing more is said about it."""

    catalog: Catalog
    shared: Mapping[str, Operator]
    reader: FlowReader
    failed: frozenset[str]

    def read(self, queries: Mapping[str, Any]) -> dict[str, Operator]:
        """The operators of all queries that are right, from the file's raw data: a wrong wish hides no wrong SQL."""
        found: dict[str, Operator] = {}
        for name, data in queries.items():
            if isinstance(data, Mapping) and len(self.reader.findings) < MAX_FINDINGS:
                operator = self._question(("queries", name), data)
                if operator is not None:
                    found[name] = operator
                    self._check_names(("queries", name), operator)
        return found

    def _check_names(self, path: Path, operator: Operator) -> None:
        if fault := misnamed(operator):
            self._note(finding(path, fault))

    def _note(self, one: Finding) -> None:
        self.reader.note(one)

    def _question(self, path: Path, data: Mapping[str, Any]) -> Operator | None:
        given = [way for way in _WAYS if way in data]
        if not given and meant_by(data, keys_at(QueryKeys, ())) & set(_WAYS):
            return None
        if len(given) != 1:
            said = " and ".join(given) if given else "none of them"
            hint = "sql: a SELECT, from: a box of the shared flow, or flow: boxes of its own."
            self._note(
                Finding(path, f"a query has exactly one of sql, from and flow; this has {said}.", hint, at_key=True)
            )
            return None
        if "output" in data and given != ["flow"]:
            self._note(Finding((*path, "output"), "'output' goes only with 'flow'.", at_key=True))
        value = data[given[0]]
        if given == ["flow"]:
            return (
                self._flow((*path, "flow"), value, data.get("output")) if isinstance(value, Mapping) and value else None
            )
        if not isinstance(value, str) or not value:
            return None
        return self._sql((*path, "sql"), value) if given == ["sql"] else self._named((*path, "from"), value)

    def _sql(self, path: Path, text: str) -> Operator | None:
        try:
            return parse_query(text, self.catalog)
        except InputError as error:
            fault = error
        except RecursionError:
            fault = ExpressionError("the query is nested too deeply.", hint="name its parts in WITH, or in `flow:`.")
        declared = {*self.catalog.aggregates, *self.failed}
        if names_used(text, declared) & {name.lower() for name in self.failed}:
            # What it reads is of no use, so its columns and types cannot be judged; what it calls can.
            found = refused_words(text, declared)
            if found is not None:
                self._note(finding(path, found, text))
        else:
            self._note(_found_in(text, fault, path))
        return None

    def _named(self, path: Path, name: str) -> Operator | None:
        found = self.shared.get(name) or self.catalog.stream(name)
        if found is None and not {name, name.partition(".")[0]} & self.failed:
            known = likely(name, [*self.catalog.streams, *self.shared])
            self._note(finding(path, unknown("stream or box", name, list(dict.fromkeys(known)))))
        return found

    def _flow(self, path: Path, boxes: Mapping[str, Any], output: Any) -> Operator | None:
        built = self.reader.read(boxes, Scope({**self.catalog.streams, **self.shared}, path, self.failed))
        result = output if isinstance(output, str) else next(reversed(list(boxes)))
        if result in built:
            return built[result]
        if result.partition(".")[0] not in boxes:
            self._note(finding((*path[:-1], "output"), unknown("box", result, boxes)))
        elif any(name.startswith(f"{result}.") for name in built):
            self._note(
                Finding((*path, result), f"the result {result!r} is a split.", f"output: {result}.ROUTE.", at_key=True)
            )
        return None


def asked_in_sql(text: str, catalog: Catalog) -> Operator:
    """What `sql:` of a query makes of a text; an error says the line and the column of what is wrong."""
    try:
        operator = parse_query(text, catalog)
    except InputError as error:
        one = _found_in(text, error)
        where = None if one.line is None else f"line {one.line}, column {one.column}"
        raise type(error)(one.what, where=where, hint=one.hint, candidates=error.candidates) from None
    if fault := misnamed(operator):
        raise fault
    return operator


def misnamed(operator: Operator) -> InputError | None:
    """What is wrong with a question some of whose columns bear names that are Tradewind's own."""
    made = (node for node in Graph.of(answer=operator) if not isinstance(node, Source))
    return next((fault for node in made if (fault := own_names(node.schema))), None)


def _found_in(text: str, error: InputError, path: Path = ()) -> Finding:
    """What is wrong with a query, with its place in the text; without one, with the part that is concerned."""
    one = finding(path, error, text)
    part = f"{error.where}: " if error.where and one.line is None and error.where not in KINDS else ""
    return replace(one, what=part + one.what)
