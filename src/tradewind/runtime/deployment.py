"""A deployment that can be run: what `tradewind.deployment` gives."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tradewind.frontends.deployment import deployment as declared
from tradewind.frontends.deployment.file import deployment as opened
from tradewind.frontends.fluent import Delivery

if TYPE_CHECKING:
    from tradewind.runtime.live import Live


@dataclass(frozen=True, slots=True)
class Deployment(declared.Deployment):
    """A checked deployment with a way to run it."""

    def run(
        self, queries: Mapping[str, Delivery] | None = None, *, state: str | PathLike[str] | None = None, **options: Any
    ) -> Live:
        """Run queries here, on Spark: the file's own, or others given by name; use it in a `with` statement.

        `state` is a folder that a later run goes on from; without it nothing is kept. `until_done=False` goes on
        waiting for rows until it is stopped.
        """
        # Loaded on first use: starting to run takes seconds, planning should not.
        live: Live = importlib.import_module("tradewind.runtime.live").Live(
            self, queries, state=None if state is None else Path(state), **options
        )
        return live


def runnable(found: declared.Deployment) -> Deployment:
    """A deployment as one that can be run."""
    return Deployment(**{one.name: getattr(found, one.name) for one in fields(found)})


def deployment(path: str | PathLike[str]) -> Deployment:
    """The deployment that a YAML file declares; raises `DeploymentError` with everything that is wrong with it."""
    return runnable(opened(path))
