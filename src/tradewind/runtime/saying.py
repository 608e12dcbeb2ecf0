"""How those who run for long say things: to people as text, to machines with what it is about."""

from __future__ import annotations

from typing import Literal, Protocol

Level = Literal["info", "warning", "error"]


class Say(Protocol):
    """Says a line, with how grave it is and, for machines, some of what it tells as fields."""

    def __call__(self, text: str, *, level: Level = "info", **fields: object) -> None:
        """Say it, once."""
