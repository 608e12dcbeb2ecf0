"""Holds the data of a file against the contract, and goes on with all that fits it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from tradewind.frontends.deployment.model import DeploymentFile
from tradewind.frontends.flow.findings import Finding, Path, from_validation

_PASSES = 8


@dataclass(frozen=True, slots=True)
class Shape:
    """The part of a file that fits the contract, the positions its links had in the file, and what does not fit."""

    file: DeploymentFile
    links: tuple[int, ...]
    findings: tuple[Finding, ...]


def fitting(data: Mapping[str, Any]) -> Shape:
    """Take out of the data what does not fit, as little as possible, so that the rest can be checked further."""
    rest: Any = deepcopy(dict(data))
    numbers = list(range(len(rest["links"]))) if isinstance(rest.get("links"), list) else []
    findings: tuple[Finding, ...] = ()
    for number in range(_PASSES):
        try:
            return Shape(DeploymentFile.model_validate(rest), tuple(numbers), findings)
        except ValidationError as error:
            if number == 0:
                findings = tuple(from_validation(error, DeploymentFile))
            found = error.errors(include_url=False, include_context=False)
        wrong = {_within(rest, _faulty(tuple(one["loc"]), one["type"])) for one in found}
        # From the last to the first, so that the positions of a list's earlier items stay as they are.
        for path in sorted(wrong, key=_position, reverse=True):
            _take_out(rest, path)
            if len(path) == 2 and path[0] == "links":
                del numbers[int(path[1])]
    return Shape(DeploymentFile(), (), findings)


def _position(path: Path) -> list[tuple[int, str]]:
    return [(part, "") if isinstance(part, int) else (-1, part) for part in path]


def _faulty(loc: Path, kind: str) -> Path:
    """The part to take out: the value itself, or what holds it when it is missing or stands in an inner list."""
    path = loc[:-1] if loc[-1:] == ("[key]",) or kind == "missing" else loc
    if path[:1] == ("boxes",):
        # Without one of its keys a superbox is another one, and those who use it would be blamed.
        return path[:2]
    inner = next((n for n, part in enumerate(path) if isinstance(part, int) and n > 1), len(path))
    return path[:inner]


def _within(data: Any, path: Path) -> Path:
    """As much of a path as leads to something in the data: a validator may have seen a list as a mapping."""
    for length, part in enumerate(path):
        if not (part in data if isinstance(data, Mapping) else isinstance(data, list) and isinstance(part, int)):
            return path[:length]
        data = data[part]
    return path


def _take_out(whole: Any, path: Path) -> None:
    data = whole
    for part in path[:-1]:
        data = data[part]
    if path:
        del data[path[-1]]
