"""Tradewind answers continuous queries over streams that live in many places."""

from __future__ import annotations

import importlib
from os import PathLike
from typing import TYPE_CHECKING

from tradewind.algebra.graph import Graph
from tradewind.errors import TradewindError
from tradewind.frontends.bounds import band, session, sliding, tumbling, tuples, values
from tradewind.frontends.fluent import Delivery, Stream
from tradewind.frontends.grouping import aggregate
from tradewind.frontends.superboxes import superbox

if TYPE_CHECKING:
    from tradewind.runtime.deployment import Deployment

__all__ = [
    "Delivery",
    "Graph",
    "Stream",
    "TradewindError",
    "aggregate",
    "band",
    "deployment",
    "session",
    "sliding",
    "superbox",
    "tumbling",
    "tuples",
    "values",
]


def deployment(path: str | PathLike[str]) -> Deployment:
    """The deployment that a YAML file declares; raises `DeploymentError` with everything that is wrong with it."""
    # Loaded on first use: pydantic and the SQL front end take half as long again to import as all the rest.
    found: Deployment = importlib.import_module("tradewind.runtime.deployment").deployment(path)
    return found
