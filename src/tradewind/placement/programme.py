"""A mixed-integer programme in the making: columns and rows are added one by one, HiGHS solves it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix

from tradewind.network.network import Numbers

Terms = Iterable[tuple[int, float]]

_INFEASIBLE = 2


@dataclass(frozen=True, eq=False, slots=True)
class Solution:
    """The values of all columns, None where none were found; the least that the objective can be; and whether it was
    shown that no values keep all rows.
    """

    values: Numbers | None
    bound: float
    infeasible: bool = False


class Programme:
    """Minimise the costs of the columns, all of which are at least zero, so that every row keeps its bounds."""

    def __init__(self) -> None:
        self.costs: list[float] = []
        self._highest: list[float] = []
        self._whole: list[bool] = []
        self._entries: tuple[list[int], list[int], list[float]] = ([], [], [])
        self._low: list[float] = []
        self._high: list[float] = []

    def column(self, cost: float = 0.0, highest: float = np.inf, whole: bool = False) -> int:
        """A new variable, of whole numbers if so said; returns its number."""
        self.costs.append(cost)
        self._highest.append(highest)
        self._whole.append(whole)
        return len(self.costs) - 1

    def row(self, terms: Terms, low: float = -np.inf, high: float = np.inf) -> None:
        """A new constraint: the sum of the terms, which are columns with factors, lies between low and high."""
        rows, columns, factors = self._entries
        for column, factor in terms:
            rows.append(len(self._low))
            columns.append(column)
            factors.append(factor)
        self._low.append(low)
        self._high.append(high)

    def solve(self, scale: float = 1.0, time_limit: float | None = None) -> Solution:
        """The best values. Costs are multiplied by `scale` first: the solver stops at differences of a millionth."""
        rows, columns, factors = self._entries
        size = len(self.costs)
        matrix = csr_matrix((factors, (rows, columns)), shape=(len(self._low), size))
        options = {"mip_rel_gap": 0.0} | ({} if time_limit is None else {"time_limit": time_limit})
        result = milp(
            np.asarray(self.costs) * scale,
            integrality=np.asarray(self._whole, dtype=int),
            bounds=Bounds(np.zeros(size), np.asarray(self._highest)),
            constraints=LinearConstraint(matrix, np.asarray(self._low), np.asarray(self._high)),
            options=options,
        )
        bound = result.mip_dual_bound if result.mip_dual_bound is not None else result.fun
        return Solution(
            None if result.x is None else np.asarray(result.x),
            -np.inf if bound is None else float(bound) / scale,
            result.status == _INFEASIBLE,
        )
