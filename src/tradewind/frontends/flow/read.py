"""Reads boxes and arrows into operators, and finds everything that is wrong with them on the way.

A box reads streams and other boxes by name, wherever in the file they stand. A box that cannot be built takes those
that read it along without a word: their fault is not known yet.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.derived import Superbox
from tradewind.errors import DeploymentError, GraphError, InputError, Problem, unknown
from tradewind.frontends.catalog import Catalog
from tradewind.frontends.flow.box import Box, Given
from tradewind.frontends.flow.declared import MAX_FINDINGS, check_superboxes
from tradewind.frontends.flow.findings import Finding, Misplaced, Path, finding, from_validation, shown
from tradewind.frontends.flow.order import inputs_first
from tradewind.frontends.flow.parse import arrows, in_circles, model_of, no_way_out
from tradewind.frontends.flow.superboxes import SuperboxKeys, SuperboxUse, Value, filled

MAX_NESTED = 50
MAX_BODIES = 500
"""So many bodies of superboxes are built for one file; superboxes within superboxes could ask for any number."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The boxes being read: what they may read besides each other, where they stand, and what is known to be broken."""

    nodes: Mapping[str, Operator]
    path: Path
    failed: frozenset[str] = frozenset()
    inside: tuple[str, ...] = ()


@dataclass(slots=True)
class FlowReader:
    """Reads any number of flows of one file; `findings` collects what is wrong."""

    catalog: Catalog
    superboxes: Mapping[str, SuperboxKeys] = field(default_factory=dict)
    failed: frozenset[str] = frozenset()
    """Tables, aggregates and superboxes that are declared but could not be used."""
    found: dict[tuple[Path, str], Finding] = field(default_factory=dict)
    """Each once, in the order in which they were found; the body of a superbox is read for every use of it."""
    bodies: int = 0

    def __post_init__(self) -> None:
        wrong = check_superboxes(self.superboxes, self.catalog.streams, self.failed)
        for findings in wrong.values():
            self.note(*findings)
        self.superboxes = {name: keys for name, keys in self.superboxes.items() if name not in wrong}
        self.failed |= frozenset(wrong)

    def read(self, boxes: Mapping[str, Any], scope: Scope) -> dict[str, Operator]:
        """The operators of all boxes that are right, by name; those of a split by `box.route`."""
        taken = {name.lower() for name in scope.nodes}
        parsed = {
            name: box for name, data in boxes.items() if (box := self._parsed(name, data, scope, taken)) is not None
        }
        reads = {name: self._reads(name, box, boxes, scope) for name, box in parsed.items()}
        known = {name: others for name, others in reads.items() if others is not None}
        self.note(*in_circles(known, scope.path))
        nodes = dict(scope.nodes)
        built: dict[str, Operator] = {}
        done = set(nodes)
        for name in inputs_first(known):
            if len(self.findings) < MAX_FINDINGS and done.issuperset(known[name]):
                made = self._built(name, parsed[name], nodes, scope, boxes)
                nodes |= made
                built |= made
                done |= {name} if made else set()
        return built

    def note(self, *findings: Finding) -> None:
        """Add findings; one that is known already is not added again."""
        for one in findings:
            self.found.setdefault((one.path, one.what), one)

    @property
    def findings(self) -> Collection[Finding]:
        """What is wrong, in the order in which it was found."""
        return self.found.values()

    def _parsed(self, name: str, data: Any, scope: Scope, taken: set[str]) -> Box | None:
        path = (*scope.path, name)
        if len(self.findings) >= MAX_FINDINGS:
            return None
        model = model_of(data, path, taken, self.superboxes, self.failed)
        if isinstance(model, Finding):
            self.note(model)
            return None
        try:
            return model.model_validate(dict(data)) if model is not None else None
        except ValidationError as error:
            self.note(*from_validation(error, model or Box, path))
            return None

    def _reads(self, name: str, box: Box, boxes: Mapping[str, Any], scope: Scope) -> tuple[str, ...] | None:
        """What the box reads; None where something it names is nowhere, or is broken already."""
        if len(self.findings) >= MAX_FINDINGS:
            return None
        found = arrows(box.references(), (*scope.path, name), boxes, scope.nodes, scope.failed)
        if isinstance(found, Finding):
            self.note(found)
            return None
        return found

    def _built(
        self, name: str, box: Box, nodes: Mapping[str, Operator], scope: Scope, boxes: Mapping[str, Any]
    ) -> dict[str, Operator]:
        path = (*scope.path, name)
        for key, reference in box.references():
            if reference not in nodes:
                self.note(finding((*path, key), no_way_out(reference, nodes)))
                return {}
        if self._broken(box):
            return {}
        try:
            if isinstance(box, SuperboxUse):
                made = self._used(box, [nodes[reference] for _, reference in box.references()], scope)
                return {name: made} if made is not None else {}
            result = box.build(Given(name, nodes, self.catalog))
        except Misplaced as misplaced:
            where: Any = boxes[name]
            for part in misplaced.path:
                where = where.get(part) if isinstance(where, Mapping) else None
            text = where if isinstance(where, str) and not scope.inside else None
            self.note(finding((*path, *misplaced.path), misplaced.error, text))
            return {}
        except InputError as error:
            self.note(finding(path, error))
            return {}
        return {name: result} if isinstance(result, Operator) else {f"{name}.{way}": n for way, n in result.items()}

    def _broken(self, box: Box) -> bool:
        """Whether the box uses a table or an aggregate whose own declaration is wrong."""
        texts = [*getattr(box, "functions", {}).values()]
        words = {word for text in texts for word in re.findall(r"\w+", text)}
        return bool(self.failed & (words | {getattr(box, "table", "")}))

    def _used(self, box: SuperboxUse, starts: list[Operator], scope: Scope) -> Operator | None:
        declared = self.superboxes[box.box]
        if box.box in scope.inside:
            way = " -> ".join([*scope.inside, box.box])
            raise GraphError(f"a superbox contains itself: {way}.", hint="a flow goes one way.")
        if len(scope.inside) >= MAX_NESTED:
            raise GraphError(f"superboxes are nested more than {MAX_NESTED} deep.", hint="use fewer within each other.")
        arguments = box.arguments(declared)
        self.bodies += 1
        if self.bodies > MAX_BODIES:
            raise GraphError(f"the superboxes of the file stand for more than {MAX_BODIES} flows.")
        return self._body(box.box, declared, arguments, starts, scope)

    def _body(
        self, name: str, declared: SuperboxKeys, arguments: dict[str, Value], starts: list[Operator], scope: Scope
    ) -> Operator | None:
        path: Path = ("boxes", name, "flow")
        flow: dict[str, Any] = {}
        for box, data in declared.flow.items():
            try:
                flow[box] = filled(data, arguments)
            except InputError as error:
                self.note(finding((*path, box), error))
                return None
        nodes = {**self.catalog.streams, **dict(zip(declared.inputs, starts, strict=True))}
        before = len(self.findings)
        built = self.read(flow, Scope(nodes, path, scope.failed, (*scope.inside, name)))
        self._blame(arguments, before)
        if declared.result in built:
            texts = tuple((parameter, str(value)) for parameter, value in arguments.items())
            return Superbox(built[declared.result], tuple(dict.fromkeys(starts)), name, texts)
        return None

    def _blame(self, arguments: dict[str, Value], before: int) -> None:
        """Say with which values a body went wrong: the fault may be theirs."""
        given = ", ".join(f"{name} = {shown(value)}" for name, value in arguments.items())
        for key, one in list(self.found.items())[before:] if given else ():
            if "used with" not in (one.hint or ""):
                self.found[key] = replace(one, hint=f"{one.hint or ''} It is used with {given}.".strip())


def read_flow(
    boxes: Mapping[str, Any], catalog: Catalog, superboxes: Mapping[str, SuperboxKeys] | None = None
) -> dict[str, Operator]:
    """The operators of all boxes by name; raises one error with all that is wrong."""
    reader = FlowReader(catalog, superboxes or {})
    built = reader.read(boxes, Scope(catalog.streams, ("flow",)))
    if reader.findings:
        problems = [Problem(".".join(map(str, one.path)), one.what, one.hint) for one in reader.findings]
        raise DeploymentError("the flow has problems.", problems=problems)
    return built


def read_graph(data: Mapping[str, Any], catalog: Catalog) -> Graph:
    """The graph that `write_flow` wrote."""
    nodes = {**catalog.streams, **read_flow(data["flow"], catalog)}
    results = []
    for name, query in data["queries"].items():
        if query["from"] not in nodes:
            raise unknown("stream or box", query["from"], nodes)
        results.append((name, nodes[query["from"]]))
    return Graph(tuple(results))
