"""What an experiment gives: figures, a chart for the terminal, and the files that it wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one experiment."""

    title: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    """A table for people."""
    caption: tuple[str, ...] = ()
    """What was published, and what was measured, in sentences."""
    chart: str = ""
    """A drawing in characters."""
    files: tuple[Path, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    """All figures as plain data."""

    def json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "title": self.title,
            "caption": list(self.caption),
            "files": [str(path) for path in self.files],
            **self.data,
        }
