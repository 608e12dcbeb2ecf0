"""Kinds of operators that are drawn alike."""

from __future__ import annotations

from dataclasses import dataclass

from tradewind.algebra.operators.base import Operator


@dataclass(frozen=True, slots=True)
class Family:
    """A name for the legend, and light and strong colours."""

    name: str
    fill: str
    line: str
    kinds: tuple[str, ...]


FAMILIES = (
    Family("streams", "#dff3e4", "#2e8b57", ("source", "connectionpoint")),
    Family("row by row", "#e3eefc", "#3b73b9", ("filter", "map", "split", "sample")),
    Family("bring together", "#fdecd8", "#c7761b", ("union", "join", "waitfor")),
    Family("groups", "#efe6fa", "#7a4fb5", ("aggregate", "partial", "combine", "merge", "finish", "distinct", "top")),
    Family("in order of time", "#dcf3f4", "#1f8a94", ("order", "resample")),
    Family("tables", "#fbe4e8", "#b8405e", ("read", "update")),
)
OTHER = Family("other", "#eeeeee", "#777777", ())
RESULT = Family("results", "#fff7cc", "#8a7400", ())


def family(node: Operator) -> Family:
    """The family that an operator belongs to."""
    return next((one for one in FAMILIES if node.kind in one.kinds), OTHER)
