"""Superboxes as they are declared: what is wrong with them whatever they read and whatever values they are given."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from tradewind.errors import unknown
from tradewind.frontends.flow.box import Box
from tradewind.frontends.flow.fields import BOX_NAME
from tradewind.frontends.flow.findings import Finding, Misplaced, Path, finding, from_validation, shown
from tradewind.frontends.flow.order import circles, way_of
from tradewind.frontends.flow.parse import NAME_HINT, arrows, in_circles, model_of, no_way_out
from tradewind.frontends.flow.superboxes import SuperboxKeys, SuperboxUse, asked_in

MAX_FINDINGS = 200
"""After so many, nobody reads on, and guessing what was meant takes time."""


def check_superboxes(
    superboxes: Mapping[str, SuperboxKeys], streams: Iterable[str], failed: frozenset[str]
) -> dict[str, list[Finding]]:
    """What is wrong, by superbox; those that contain themselves are there even where others are blamed for it."""
    nodes = dict.fromkeys(streams)
    taken = {name.lower(): None for name in nodes}
    found: dict[str, list[Finding]] = {}
    number = 0
    for name, keys in superboxes.items():
        body = _Body(name, keys, superboxes, failed, ChainMap(dict.fromkeys(keys.inputs), nodes))
        findings = list(body.check(taken)) if number < MAX_FINDINGS else []
        number += len(findings)
        if findings:
            found[name] = findings
    uses = {name: _used_in(keys, superboxes) for name, keys in superboxes.items()}
    for circle in circles({name: tuple(used) for name, used in uses.items()}):
        last = circle[-1]
        what = f"a superbox contains itself: {way_of(circle)}."
        for name in circle:
            found.setdefault(name, [])
        found[last].append(Finding(("boxes", last, "flow", uses[last][circle[0]]), what, "a flow goes one way."))
    return found


def _used_in(keys: SuperboxKeys, superboxes: Collection[str]) -> dict[str, str]:
    """The superboxes that one uses, each with a box that does."""
    kinds = ((box, data.get("box")) for box, data in keys.flow.items() if isinstance(data, Mapping))
    return {kind: box for box, kind in kinds if isinstance(kind, str) and kind in superboxes}


@dataclass(slots=True)
class _Body:
    """One superbox; what it may read are its inputs and the streams."""

    name: str
    keys: SuperboxKeys
    superboxes: Mapping[str, SuperboxKeys]
    failed: frozenset[str]
    nodes: Mapping[str, None]
    models: dict[str, type[Box]] = field(default_factory=dict)
    """The boxes whose kind is known."""

    @property
    def path(self) -> Path:
        return ("boxes", self.name, "flow")

    def check(self, taken: dict[str, None]) -> Iterator[Finding]:
        """All that is wrong; `taken` are the names of streams in lower case."""
        yield from self._names()
        inputs = {name.lower(): None for name in self.keys.inputs}
        for name, data in self.keys.flow.items():
            path = (*self.path, name)
            model = model_of(data, path, ChainMap(inputs, taken), self.superboxes, self.failed)
            if isinstance(model, Finding):
                yield model
            elif model is not None:
                self.models[name] = model
                yield from self._box(model, data, path)
        yield from self._arrows()
        yield from self._result()

    def _names(self) -> Iterator[Finding]:
        base, inputs = self.path[:2], self.keys.inputs
        if not inputs:
            yield Finding((*base, "inputs"), "a superbox reads at least one input.", "inputs: [input].")
        for number, name in enumerate(inputs):
            if not re.fullmatch(BOX_NAME, name):
                what = f"{shown(name)} cannot be the name of an input."
                yield Finding((*base, "inputs", number), what, NAME_HINT)
            elif name in inputs[:number]:
                yield Finding((*base, "inputs", number), f"two inputs are named {name!r}.", "rename one of them.")
        for name in self.keys.parameters:
            if not re.fullmatch(BOX_NAME, name):
                what = f"{shown(name)} cannot be the name of a parameter."
                yield Finding((*base, "parameters", name), what, NAME_HINT, at_key=True)

    def _box(self, model: type[Box], data: Mapping[str, Any], path: Path) -> Iterator[Finding]:
        """What is wrong with the keys of a box; values that wait for parameters are not judged."""
        for where, name in asked_in(data):
            if name not in self.keys.parameters:
                yield finding((*path, *where), unknown("parameter", name, self.keys.parameters))
        try:
            box = model.model_validate(dict(data))
            if isinstance(box, SuperboxUse):
                box.arguments(self.superboxes[box.box])
        except ValidationError as error:
            yield from from_validation(error, model, path, lambda where: _waits(data, where))
        except Misplaced as misplaced:
            yield finding((*path, *misplaced.path), misplaced.error)

    def _arrows(self) -> Iterator[Finding]:
        reads: dict[str, tuple[str, ...]] = {}
        for name, model in self.models.items():
            references = model.references_in(self.keys.flow[name])
            others = arrows(references, (*self.path, name), self.keys.flow, self.nodes, self.failed)
            if isinstance(others, Finding):
                yield others
            elif others is not None:
                reads[name] = others
                for (key, reference), other in zip(references, others, strict=True):
                    ways = self._ways(other)
                    if ways is not None and reference not in ways:
                        yield finding((*self.path, name, key), no_way_out(reference, ways))
        yield from in_circles(reads, self.path)

    def _result(self) -> Iterator[Finding]:
        result = self.keys.result
        owner = result if result in self.keys.flow else result.partition(".")[0]
        path = (*self.path[:2], "output") if self.keys.output is not None else (*self.path, owner)
        ways = self._ways(owner)
        if owner not in self.keys.flow:
            yield finding(path, unknown("box", result, self.keys.flow))
        elif ways is not None and result not in ways:
            split = Finding(path, f"the result {result!r} is a split.", f"output: {result}.ROUTE.")
            yield split if result == owner else finding(path, no_way_out(result, ways))

    def _ways(self, box: str) -> list[str] | None:
        """The names under which a box of the body can be read; None where they cannot be told."""
        if box not in self.models:
            return None
        data = self.keys.flow[box]
        if data["box"] != "split":
            return [box]
        return [f"{box}.{route}" for route in data["routes"]] if isinstance(data.get("routes"), Mapping) else None


def _waits(data: Any, where: Path) -> bool:
    """Whether the value at a path, or the nearest one around it, has a parameter in it."""
    for part in where:
        inside = part in data if isinstance(data, Mapping) else isinstance(data, list) and isinstance(part, int)
        if not inside:
            break
        data = data[part]
    return any(True for _ in asked_in({"": data}))
