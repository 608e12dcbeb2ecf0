"""How many cores an operator keeps busy: its rows in, times what a row costs it.

Costs are microseconds of one core for a row, turned from rates that were measured on two cores (docs/speed.md): so each
includes reading its rows, and a chain of operators in one fragment is counted somewhat too high. A sliding window costs
half as much again for each window more that a row is in (measured with two). Read and update run a statement for each
row; their cost is not measured but assumed.
"""

from __future__ import annotations

from tradewind.algebra.operators.aggregation import Aggregate, Combine, Finish, Merge, Partial
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import ConnectionPoint, Filter, Join, Map, Source, Top, Union
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.windows import CountedWindow, TimeWindow, ValueWindow

MICROSECONDS: dict[type[Operator], float] = {
    Source: 0.0,  # in the costs of those who read it
    Filter: 2 / 8.0,
    Map: 2 / 8.0,
    Union: 0.0,
    ConnectionPoint: 2 / 5.7,
    Partial: 2 / 2.2,
    Combine: 2 / 2.2,
    Merge: 2 / 1.3,
    Finish: 2 / 8.0,
    Aggregate: 2 / 1.3,
    Top: 2 / 1.3,
    Join: 2 / 0.65,
    Order: 2 / 0.83,
    Resample: 2 / 1.20,
    WaitFor: 2 / 1.24,
    Read: 20.0,
    Update: 20.0,
}
"""Of one core, for a row; 2 / x is x million rows a second on two cores."""
COUNTED_WINDOW = 2 / 0.69
"""A row of a window over neighbours."""
QUANTILE_SKETCH = DISTINCT_SKETCH = (2 / 1.2 - 2 / 2.2) / 2
"""What each sketch adds to a row of a partial: both together were measured."""
FREQUENT_SKETCH = 2 / 1.6 - 2 / 2.2
SLIDING = 0.5
"""What each further window of a row adds to its cost, of the cost of the first."""
_SKETCHES = {
    "approx_count_distinct": DISTINCT_SKETCH,
    "theta_count_distinct": DISTINCT_SKETCH,
    "approx_percentile": QUANTILE_SKETCH,
    "approx_top_k": FREQUENT_SKETCH,
}


def microseconds(node: Operator) -> float:
    """What a row costs an operator, in microseconds of one core."""
    base = MICROSECONDS[type(node)]
    if not isinstance(node, Aggregate | Partial | Combine | Merge):
        return base
    base += sum(_SKETCHES.get(call.function, 0.0) for _, call in node.functions)
    window = None if isinstance(node, Merge) else node.window
    if isinstance(window, CountedWindow):
        return max(base, COUNTED_WINDOW)
    if isinstance(window, TimeWindow | ValueWindow):
        return base * (1 + SLIDING * (window.size / window.step - 1))
    return base
