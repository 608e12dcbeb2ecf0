"""Parameters that may change while a graph runs: from one micro-batch to the next, what is remembered stays of use."""

from __future__ import annotations

from dataclasses import fields

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Map
from tradewind.algebra.windows import TimeWindow
from tradewind.errors import InputError


def require_sound(old: Graph, new: Graph) -> None:
    """Refuse a graph that cannot take over what another one remembers.

    Predicates, sample rates and computed columns may change: rows that come from then on meet the new ones. So may the
    size and step of windows over time: rows that come from then on fall into the new windows, and the old ones stay
    as they are.
    """
    before, after = list(old), list(new)
    if old.names != new.names or [node.kind for node in before] != [node.kind for node in after]:
        raise InputError("the new queries have another shape.", hint="stop the run and start it with --fresh.")
    twins = dict(zip(before, after, strict=True))
    for one, two in twins.items():
        if tuple(twins[child] for child in one.inputs) != two.inputs:
            raise InputError(f"the {one.kind} reads something else than before.", hint="keep the arrows as they are.")
        if one.schema.columns != two.schema.columns:
            raise InputError(
                f"the {one.kind} would give ({two.schema}) instead of ({one.schema}).", hint="keep names and types."
            )
        _require_sound_node(one, two)


def _require_sound_node(one: Operator, two: Operator) -> None:
    for field in fields(one):
        old, new = getattr(one, field.name), getattr(two, field.name)
        if not field.init or field.name in one.takes or old == new or _may_change(one, field.name, old, new):
            continue
        raise InputError(
            f"{field.name} of the {one.kind} cannot change while it runs.",
            hint="predicates, sample rates, computed columns and windows over time can.",
        )


def _may_change(node: Operator, name: str, old: object, new: object) -> bool:
    if isinstance(node, Filter | Map):
        return True
    windows = isinstance(old, TimeWindow) and isinstance(new, TimeWindow) and old.column == new.column
    return isinstance(node, Aggregate) and name == "window" and windows
