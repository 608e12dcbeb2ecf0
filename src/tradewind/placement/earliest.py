"""How early each content can be at each site: the tables of the exact planner, with latency in place of cost."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tradewind.placement.choices import Choices
from tradewind.placement.derivations import ARISES
from tradewind.placement.ground import Ground
from tradewind.placement.tables import Table


def earliest(quick: Ground, choices: Choices, wanted: tuple[int, ...]) -> Mapping[int, Table]:
    """For each wanted content, the least milliseconds after which it is at each site.

    `quick` is a ground whose prices are latencies. An operator waits for the slowest of its inputs, so what they need
    is not added up: the greatest counts. What the operators themselves need is not known, and counts as nothing.
    """
    tables: dict[int, Table] = {}
    for number in wanted:
        content = choices.contents[number]
        base = np.full(len(quick.network), np.inf)
        chosen = np.full(len(quick.network), ARISES, dtype=np.int64)
        for way in choices.ways[number]:
            recipe = choices.recipes[way]
            ready = np.max([quick.work(recipe), *(tables[one].swept.cost for one in recipe.inputs)], axis=0)
            chosen[ready < base] = way
            base = np.minimum(base, ready)
        base[list(content.origins)] = 0.0
        chosen[list(content.origins)] = ARISES
        tables[number] = Table(quick.routes(content.within).sweep(base, 1.0), chosen)
    return tables
