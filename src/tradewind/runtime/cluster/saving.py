"""What a desired state says of savepoints: that one is being taken, or that a deployment is to start from one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tradewind.runtime.savepoints import require_name


@dataclass(frozen=True, slots=True)
class Saving:
    """A savepoint that is being taken. What is saved stands still until all sites have saved their parts of it."""

    name: str
    key: str
    """Tells it from others that had the same name."""
    resumes: bool = True
    """Whether the deployment goes on afterwards: it does unless it was paused before."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.name, "key": self.key, "resumes": self.resumes}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Saving:
        """What was written, checked anew."""
        return Saving(require_name(str(data["name"])), require_name(str(data["key"])), bool(data["resumes"]))


@dataclass(frozen=True, slots=True)
class Restoring:
    """A savepoint that a deployment starts from, where nothing of it is there yet."""

    name: str
    key: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.name, "key": self.key}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Restoring:
        """What was written, checked anew."""
        return Restoring(require_name(str(data["name"])), require_name(str(data["key"])))
