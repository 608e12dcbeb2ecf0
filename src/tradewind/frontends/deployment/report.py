"""Turns what was found, by path, into problems with the line and column of the file."""

from __future__ import annotations

from collections.abc import Iterable

from tradewind.errors import DeploymentError, Problem
from tradewind.frontends.deployment.yaml import Document, Place
from tradewind.frontends.flow.findings import Finding, Path

MAX_PROBLEMS = 200


class Report:
    """Collects the problems of one file."""

    def __init__(self, name: str, document: Document) -> None:
        self.name = name
        self.document = document
        self.problems: dict[Problem, None] = {}
        for complaint in document.complaints:
            self._put(complaint.line, complaint.column, (), complaint.what, complaint.hint)

    def add(self, findings: Iterable[Finding]) -> None:
        """Note findings at their places; what the text itself was blamed for is not blamed again."""
        for one in findings:
            if not self._blamed(one):
                self._put(*self._position(one), one.path, one.what, one.hint)

    def raise_if_any(self) -> None:
        """Raise one error with all problems, by line; nothing when there are none."""
        if not self.problems:
            return
        found = sorted(self.problems, key=lambda problem: (problem.line, problem.column))
        count = f"{len(found)} problems" if len(found) > 1 else "a problem"
        more = f" The first {MAX_PROBLEMS} are listed." if len(found) > MAX_PROBLEMS else ""
        listed = found[:MAX_PROBLEMS]
        raise DeploymentError(f"{self.name} has {count}.{more}", problems=listed, more=len(found) - len(listed))

    def _put(self, line: int, column: int, path: Path, what: str, hint: str | None) -> None:
        keys = ".".join(str(part) for part in path)
        where = f"{self.name}:{line}:{column}" + (f" {keys}" if keys else "")
        self.problems[Problem(where, what, hint, line, column)] = None

    def _blamed(self, one: Finding) -> bool:
        for length in range(len(one.path) + 1):
            if one.path[:length] in self.document.refused:
                return True
        return one.what.endswith("is missing.") and (*one.path, "<<") in self.document.refused

    def _position(self, one: Finding) -> tuple[int, int]:
        place, exact = self._place(one.path)
        if place is None:
            return 1, 1
        if exact and one.line is not None and one.column is not None:
            return place.inside(one.line, one.column)
        return (place.line, place.column) if one.at_key or not exact else (place.value_line, place.value_column)

    def _place(self, path: Path) -> tuple[Place | None, bool]:
        """The place of a path, or of the nearest one around it that stands in the file."""
        for length in range(len(path), -1, -1):
            found = self.document.places.get(path[:length])
            if found is not None:
                return found, length == len(path)
        return None, False
